"""Measure the runs of `pacs sweep methods` as the laboratory measures its own, and write the page that compares both.

    python -m recipes.methods outputs/sweeps/methods-arithmetic_mixed
    python -m recipes.methods

The first evaluates the last checkpoint of each finished run of a sweep, on a core, in seconds a run; its records go to
recipes/methods/measured.jsonl, and what is there already is not measured again (remove its line, and it is). Then, and
without a sweep, it writes recipes/methods/measured.md from the records alone.
"""

import argparse
import sys
from pathlib import Path

from transformers.utils.logging import disable_progress_bar

from pacs.base.errors import UserError
from pacs.base.files import Appender, write_atomically
from pacs.base.terminal import piped, print, say
from pacs.sweeps.results import read as read_results
from recipes.laboratory import questions
from recipes.laboratory.records import Records
from recipes.laboratory.statistics import measures
from recipes.methods import page
from recipes.methods.measure import key, measure


def main() -> int:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        prog="python -m recipes.methods", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    about = "a folder that `pacs sweep methods` wrote, with its results.json"
    disable_progress_bar()
    parser.add_argument("sweeps", nargs="*", type=Path, metavar="SWEEP", help=about)
    arguments = parser.parse_args()
    try:
        complete = set(map(add, arguments.sweeps)) <= {True}
        write_atomically(page.PAGE, page.page(page.read(), Records()))
    except UserError as error:
        parser.error(str(error))
    print(page.PAGE)
    return 0 if complete else 1


def add(sweep: Path, file: Path = page.RECORDS) -> bool:
    """Measure the finished runs of a sweep that have no record yet; returns whether each could be.

    Args:
        sweep: its folder, with results.json and the runs' folders.
        file: of the records.

    Raises:
        UserError: the folder has no results, or those of a sweep that varies something else, too.
    """
    results = read_results(sweep / "results.json")
    asked = questions.read(page.QUESTION)
    evaluation, steps = asked.evaluation, asked.settings["steps"]
    there = [{name: one[name] for name in ("task", "method", "seed")} for one in page.read(file)]
    runs = [run for run in results["runs"] if run["state"] == "finished"]
    missing = [run for run in runs if key(run, results["recipe"]) not in there]
    print(f"{sweep}: {len(runs)} of {len(results['runs'])} runs are finished, {len(missing)} to be measured")
    records, complete = Appender(file), True
    for run in missing:
        try:
            if run["total_steps"] != steps:
                raise UserError(f"it has {run['total_steps']} steps, and the laboratory's runs {steps}")
            found = measure(sweep / run["name"], run["step"], evaluation, run["seed"])
        except UserError as error:
            say(f"{run['name']} cannot be measured: {error}", error=True)
            complete = False
            continue
        records.write(key(run, results["recipe"]) | {"commit": run["git_commit"]} | found)
        print(f"{run['name']}: pass@1 {measures(found['evaluation'])['pass@1']:.3f}", flush=True)
    records.close()
    return complete


if __name__ == "__main__":
    sys.exit(piped(main))
