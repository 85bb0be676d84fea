"""What runs took to a validation pass@1 of 0.9: steps, generated tokens and seconds of training, as a table.

python -m recipes.arithmetic.speedrun outputs/pacs/speedrun-*
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.markdown import ABSENT, table
from pacs.base.terminal import print
from pacs.report.run_groups import AXES, Group
from pacs.runs.read import Run, read_runs

PASS_AT_1 = "pacs/validation/arithmetic/pass@1"


def line(run: Run, target: float) -> list[str]:
    """What a run took to the first validation that reached the target, without its validations."""
    steps, values = run.series(PASS_AT_1)
    reached = next((step for step, value in zip(steps, values, strict=True) if value >= target), None)
    if reached is None:
        return [run.name, f"not in {max(run.steps)}", *[ABSENT] * (len(AXES) - 1)]
    return [run.name, *(f"{Group(run.name, (run,), axis).places[reached]:,.0f}" for axis in AXES.values())]


def speedrun(folders: Sequence[Path], target: float) -> str:
    """The table in Markdown, a line a run.

    Raises:
        UserError: a folder is no run's, or a run has not logged its tokens.
    """
    return table(["run", *AXES], [line(run, target) for run in read_runs(folders)])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m recipes.arithmetic.speedrun", description=__doc__)
    parser.add_argument("runs", type=Path, nargs="+", help="folders of runs of the recipe")
    parser.add_argument("--target", type=float, default=0.9, help="the pass@1 to reach (default: 0.9)")
    arguments = parser.parse_args()
    try:
        print(speedrun(arguments.runs, arguments.target))
    except UserError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
