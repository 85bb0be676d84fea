"""`pacs report RUN [RUN ...] --out DIR`."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pacs.report import RunError, write_report

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Draw one run, or several laid over each other: pass rate, validation, entropy, response length, scores by
verdict, the implicit critic, distance from the reference, what the update has to work with, the gap between
vLLM and the trainer, gradient norm and time by phase. A quantity that no run has logged is left out, so runs
of PACS, PPO and GRPO go into one picture.

Writes DIR/index.html, which holds everything it shows and can be sent as it is, and DIR/overview.png.
"""

EXAMPLES = """\
examples:
  pacs report outputs/pacs-qwen3-8b --out report
  pacs report outputs/pacs outputs/grpo --out comparison
"""


def add_parser(subparsers: "Subparsers") -> argparse.ArgumentParser:
    """Add `report` to the subcommands of `pacs`; the parsed arguments carry `main` as `handler`."""
    parser = subparsers.add_parser(
        "report",
        help="plots and one HTML page from one or several runs",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a training run")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write to")
    parser.set_defaults(handler=main)
    return parser


def main(args: argparse.Namespace) -> int:
    """Write the report and say where it is; 2 and one line on stderr where that is impossible."""
    try:
        page = write_report(args.runs, args.out)
    except (RunError, OSError) as error:
        print(f"pacs report: {error}", file=sys.stderr)
        return 2
    print(f"{page}\n{page.with_name('overview.png')}")
    return 0
