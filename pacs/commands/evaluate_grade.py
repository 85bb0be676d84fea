"""Grade all samples of an evaluation again, from its folder alone: without GPU, vLLM or data. The verifiers keep the
settings of the folder, except for those given, which the folder then keeps. The grades are replaced once all samples
are graded; settings.json, results.json and results.md are written again. If the command is interrupted before,
the old grades stay.

examples:
  pacs evaluate grade outputs/trained
  pacs evaluate grade outputs/trained --reward-kwargs math.accept_unevaluated=true
"""

import argparse
from pathlib import Path

from pacs.base.terminal import print
from pacs.evaluation.grading import OPTION, parse_given


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("out", type=Path, metavar="DIR", help="--out of `pacs evaluate`")
    about = "a setting of a verifier, such as math.accept_unevaluated=true; may be repeated (others stay as they are)"
    parser.add_argument(OPTION, action="append", default=[], metavar="VERIFIER.SETTING=VALUE", help=about)


def main(args: argparse.Namespace) -> int:
    """Grade and print the results."""
    from pacs.evaluation.grade import regrade
    from pacs.evaluation.process import locked, nothing_left
    from pacs.evaluation.results import report
    from pacs.evaluation.settings import read_settings

    given = parse_given(args.reward_kwargs)
    read_settings(args.out)  # before a lock is made in a folder that is no evaluation
    with locked(args.out), nothing_left():
        for task, said in regrade(args.out, given).items():
            print(f"{task}: {said}", flush=True)
        try:
            print(report(args.out))
        except KeyboardInterrupt:
            raise KeyboardInterrupt("the new grades are kept; the same command writes their results") from None
    return 0
