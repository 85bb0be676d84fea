"""Plot one run, or several in one picture: pass rate, validation, entropy, response length, scores and lengths by
verdict, the implicit critic, effective advantage, groups, distance from the reference, the gap
between vLLM and the trainer, mixed groups and saturated rows, gradient norm, verdicts and time by phase. The title of
each figure says what its data show. Figures without data in any run are left out, so runs of PACS, PPO and GRPO can
share a report; the overview also leaves out figures that say nothing about the run.

Runs that differ only in seeds, names and folders are drawn as one: their mean, with a band from the lowest to the
highest.

The command writes DIR/index.html, which needs no other file and can be sent as it is, DIR/overview.png, and a PNG for
each figure.

For the results.json of a sweep (`pacs sweep`) it writes DIR/index.html, DIR/results.md and DIR/results.png, from that
file alone.

examples:
  pacs report outputs/pacs/qwen3_8b-pacs --out report
  pacs report outputs/pacs/qwen3_8b-pacs outputs/pacs/qwen3_8b-grpo --out comparison
  pacs report outputs/sweeps/baselines-qwen3_8b/*-seed_* --out comparison
  pacs report outputs/sweeps/baselines-qwen3_8b/*-seed_* --over tokens --out equal_tokens
  pacs report outputs/pacs/qwen3_8b-pacs --budgets outputs/evaluation/budgets --out report
  pacs report outputs/sweeps/ablation_beta-qwen3_4b/results.json --out report
"""

import argparse
from pathlib import Path

from pacs.base.arguments import add_out
from pacs.base.errors import UserError
from pacs.base.files import check_folder
from pacs.base.tables import Table
from pacs.base.terminal import print
from pacs.report import write_report
from pacs.report.page import Picture
from pacs.report.run_groups import AXES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    about = "folder of a training run, or results.json of a sweep"
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help=about)
    add_out(parser.add_argument)
    about = "horizontal axis: steps (default), generated tokens so far, or seconds of training so far"
    parser.add_argument("--over", choices=AXES, default="steps", help=about)
    about = "folder of `pacs evaluate budgets`, whose curves and tables are shown, too"
    parser.add_argument("--budgets", type=Path, metavar="DIR", help=about)
    parser.add_argument("--each", action="store_true", help="draw every run by itself, without means and bands")


def main(args: argparse.Namespace) -> int:
    """Write the report and say where it is."""
    check_folder(args.out)
    if len(args.runs) == 1 and args.runs[0].is_file():
        if args.each or args.over != "steps" or args.budgets:
            raise UserError(
                f"--over, --each and --budgets are for runs, and {args.runs[0]} is a sweep's table: give its runs' "
                "folders"
            )
        from pacs.sweeps.render import write_rendered  # matplotlib is slow to import

        files = write_rendered(args.runs[0], args.out)
    else:
        budgets, tables = _budgets(args.budgets) if args.budgets else (None, {})
        files = write_report(args.runs, args.out, tables=tables, budgets=budgets, each=args.each, over=args.over)
    print(*files, sep="\n")
    return 0


def _budgets(folder: Path) -> tuple[Picture, dict[str, Table]]:
    from pacs.evaluation.budgets import read
    from pacs.evaluation.budgets_page import of_report  # matplotlib is slow to import

    return of_report(read(folder))
