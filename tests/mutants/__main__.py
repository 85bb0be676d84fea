"""Plant each bug of tests/mutants/*.toml in a temporary copy of the checkout and run the tests nearest to it.

A result is kept as soon as it is there, in tests/mutants/results.json, and holds until the bug, its file or its tests
change: a run that is cut off goes on where it was. At its end tests/mutants/README.md is written. Exit status 1: a bug
survived for which no reason is given, or one for which a reason is given was caught.
"""

import argparse
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from importlib import import_module
from pathlib import Path

import pytest

from tests.mutants.page import PAGE, page
from tests.mutants.planted import CAUGHT, MARKERS, ROOT, SURVIVED, Mutant, read_mutants

RESULTS = Path(__file__).with_name("results.json")
TIMEOUT_SECONDS = 900
#: pytest's exit statuses: a test failed; a file of tests could not be imported.
FAILED = (1, 2)
#: What takes long to import and is not ours. (Not verl: it loads pacs.)
SLOW_TO_IMPORT = ("datasets", "hydra", "hypothesis", "ray", "scipy.stats", "tensordict", "torch", "transformers")


def copy_checkout(folder: Path) -> None:
    """The files that git knows or would take up."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)


def run_tests(folder: Path, tests: tuple[str, ...]) -> tuple[str, str]:
    """Whether a copy's tests catch its bug, and which one does: in a fork, which need not import torch again.

    Raises:
        RuntimeError: pytest could not run them, or there are none.
    """
    output = folder / "pytest.log"
    child = multiprocessing.get_context("fork").Process(target=_pytest, args=(folder, tests, output))
    child.start()
    child.join(TIMEOUT_SECONDS)
    if child.exitcode is None:
        child.kill()
        child.join()
        return CAUGHT, f"no end within {TIMEOUT_SECONDS} s"
    printed = output.read_text(encoding="utf-8")
    if child.exitcode == 0:
        return SURVIVED, ""
    if child.exitcode not in FAILED:
        raise RuntimeError(f"pytest ended with {child.exitcode} on {' '.join(tests)}:\n{printed[-3000:]}")
    failed = re.search(r"^(?:FAILED|ERROR) ([^\s\[]+)", printed, flags=re.MULTILINE)
    return CAUGHT, failed[1] if failed else "collection"


def _pytest(folder: Path, tests: tuple[str, ...], output: Path) -> None:
    """In the fork: everything of this checkout makes way for the copy's."""
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    sys.dont_write_bytecode = True
    sys.path[:] = [str(folder), *(path for path in sys.path if path and Path(path).resolve() != ROOT)]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pacs", "recipes", "tests")]:
        del sys.modules[name]
    options = ["-x", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-m", MARKERS]
    status = pytest.main([*options, *tests])
    sys.stdout.flush()
    os._exit(int(status))


def read_results() -> dict[str, dict[str, str]]:
    """Name of a bug -> what became of it."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}


def keep(results: dict[str, dict[str, str]]) -> None:
    """Write the results as a whole, or not at all."""
    aside = RESULTS.with_suffix(".tmp")
    aside.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    aside.replace(RESULTS)


def run(mutants: list[Mutant], again: bool) -> dict[str, dict[str, str]]:
    """All results there are, those of `mutants` among them."""
    results = read_results()
    todo = [m for m in mutants if again or results.get(m.name, {}).get("digest") != m.digest()]
    print(f"{len(mutants)} planted bugs, {len(mutants) - len(todo)} with a result that still holds", flush=True)
    sound: set[tuple[str, ...]] = set()
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        folder = Path(name)
        if todo:
            copy_checkout(folder)
            for module in SLOW_TO_IMPORT:
                import_module(module)
        for mutant in todo:
            if mutant.tests not in sound:
                # Tests that fail without a bug would "catch" any.
                verdict, by = run_tests(folder, mutant.tests)
                if verdict == CAUGHT:
                    raise RuntimeError(f"{by} fails on the code as it is: mend that first")
                sound.add(mutant.tests)
            start = time.monotonic()
            (folder / mutant.file).write_text(mutant.planted(), encoding="utf-8")
            verdict, by = run_tests(folder, mutant.tests)
            (folder / mutant.file).write_text(mutant.text(), encoding="utf-8")
            today = date.today().isoformat()
            results[mutant.name] = {"digest": mutant.digest(), "verdict": verdict, "by": by, "date": today}
            keep(results)
            print(f"{verdict:9}{time.monotonic() - start:5.0f} s  {mutant.name}  {by}", flush=True)
    return results


def main() -> int:
    parser = argparse.ArgumentParser(prog="bash scripts/mutants.sh", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these bugs alone")
    parser.add_argument("--again", action="store_true", help="run them even where a result still holds")
    parser.add_argument("--list", action="store_true", help="print their names and what they would do; run nothing")
    given = parser.parse_args()
    mutants = read_mutants()
    if unknown := set(given.only or ()) - {mutant.name for mutant in mutants}:
        parser.error(f"no planted bug is named {', '.join(sorted(unknown))}; --list has the names")
    chosen = [mutant for mutant in mutants if not given.only or mutant.name in given.only]
    if given.list:
        for mutant in chosen:
            print(f"{mutant.name}\n    {mutant.file}: {mutant.why}")
        return 0
    results = run(chosen, given.again)
    survivors = [mutant for mutant in chosen if results[mutant.name]["verdict"] == SURVIVED]
    for mutant in chosen:
        print(f"| {mutant.name} | {results[mutant.name]['verdict']} | {results[mutant.name]['by']} |")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} caught")
    if results.keys() >= {mutant.name for mutant in mutants}:
        keep({mutant.name: results[mutant.name] for mutant in mutants})
        PAGE.write_text(page(mutants, results), encoding="utf-8")
    wrong = [mutant.name for mutant in survivors if not mutant.survives]
    wrong += [f"{mutant.name} (caught after all)" for mutant in chosen if mutant.survives and mutant not in survivors]
    if wrong:
        print(f"to be mended: {', '.join(wrong)}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
