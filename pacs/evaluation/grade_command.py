"""`pacs evaluate grade OUT`: the verifier's word on all samples, once more."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pacs.evaluation.errors import EvaluationError

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Grade all samples of an evaluation again, from its folder alone: no GPU, no vLLM, no data. The grades of a task are
replaced once all of it is graded; results.json and results.md are written again.
"""


def add_parser(subparsers: "Subparsers") -> None:
    """Add `evaluate grade`; the parsed arguments carry `main` as `handler`."""
    parser = subparsers.add_parser(
        "evaluate grade", help="grade an evaluation's samples again", description=DESCRIPTION
    )
    parser.add_argument("out", type=Path, metavar="DIR", help="--out of `pacs evaluate`")
    parser.set_defaults(handler=main)


def main(args: argparse.Namespace) -> int:
    """Grade and print the results; 2 and one line on stderr where that is impossible."""
    from pacs.evaluation.lock import locked, nothing_left
    from pacs.evaluation.regrade import regrade
    from pacs.evaluation.report import report
    from pacs.evaluation.settings import read_settings

    try:
        tasks = read_settings(args.out).tasks
        with locked(args.out), nothing_left():
            for task in tasks:
                print(f"{task}: {regrade(args.out, task)}", flush=True)
            print(report(args.out))
    except (EvaluationError, OSError) as error:
        print(f"pacs evaluate grade: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("pacs evaluate grade: interrupted; the task it was at has its old grades", file=sys.stderr)
        return 130
    return 0
