"""`pacs evaluate grade OUT`: the verifier's word on all samples, once more."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pacs.evaluation.errors import EvaluationError
from pacs.evaluation.grading import OPTION, parse_given
from pacs.terminal import print

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Grade all samples of an evaluation again, from its folder alone: no GPU, no vLLM, no data. The verifiers have the
settings that the folder was graded with, unless others are given, which are then the folder's. The grades are replaced
once all samples are graded; settings.json, results.json and results.md are written again.
"""


def add_parser(subparsers: "Subparsers") -> None:
    """Add `evaluate grade`; the parsed arguments carry `main` as `handler`."""
    parser = subparsers.add_parser(
        "evaluate grade", help="grade an evaluation's samples again", description=DESCRIPTION
    )
    parser.add_argument("out", type=Path, metavar="DIR", help="--out of `pacs evaluate`")
    parser.add_argument(
        OPTION,
        action="append",
        default=[],
        metavar="VERIFIER.SETTING=VALUE",
        help="as of `pacs evaluate`; those not given stay as they are",
    )
    parser.set_defaults(handler=main)


def main(args: argparse.Namespace) -> int:
    """Grade and print the results; 2 and one line on stderr where that is impossible."""
    from pacs.evaluation.lock import locked, nothing_left
    from pacs.evaluation.regrade import regrade
    from pacs.evaluation.report import report
    from pacs.evaluation.settings import read_settings

    try:
        given = parse_given(args.reward_kwargs)
        read_settings(args.out)  # before a lock is made in a folder that is no evaluation
        with locked(args.out), nothing_left():
            for task, said in regrade(args.out, given).items():
                print(f"{task}: {said}", flush=True)
            print(report(args.out))
    except (EvaluationError, OSError) as error:
        print(f"pacs evaluate grade: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("pacs evaluate grade: interrupted; the old grades are kept", file=sys.stderr)
        return 130
    return 0
