"""Compare evaluations: pass@k with its interval, and the differences to the first one, by the paired bootstrap over
problems. Only the tasks that all of them have are compared; their problems must be the same. `--reported` adds numbers
of the paper, without intervals and differences.

examples:
  pacs evaluate compare eval/base eval/pacs
  pacs evaluate compare eval/base eval/grpo eval/pacs --k 1,8,64 --out comparison.md
  pacs evaluate compare eval/pacs --reported "Qwen3-8B Base" --reported "Qwen3-8B PACS"
  pacs evaluate compare --reported list
"""

import argparse
import json
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.files import write_atomically
from pacs.base.terminal import print
from pacs.evaluation.compare import compare, notes
from pacs.evaluation.comparison_page import comparison_json, comparison_page
from pacs.evaluation.reported import reported, reported_names
from pacs.evaluation.results import read_evaluations

LIST = "list"
FORMATS = (".md", ".json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="folder of an evaluation")
    about = "column of the paper to add; `list` prints the names"
    parser.add_argument("--reported", action="append", default=[], metavar="NAME", help=about)
    parser.add_argument("--k", metavar="K,K,...", help="k of pass@k, as 1,8,64 (default: those of the evaluations)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to this .md or .json file (default: print)")


def main(args: argparse.Namespace) -> int:
    """Print or write the comparison."""
    if LIST in args.reported:
        print("\n".join(reported_names()))
        return 0
    if len(args.folders) + len(args.reported) < 2 or not args.folders:
        raise UserError("give the folders of two evaluations or more, or one and --reported NAME")
    if args.out and args.out.suffix not in FORMATS:
        raise UserError(f"--out {args.out}: give a name that ends in {' or '.join(FORMATS)}")
    if args.out and args.out.exists():
        raise UserError(f"--out {args.out} exists: choose another name")
    ks = None if args.k is None else _parse_ks(args.k)
    columns = [reported(name) for name in dict.fromkeys(args.reported)]
    evaluations = read_evaluations(args.folders)
    tasks = compare(evaluations, ks)
    said = notes(evaluations, [task.task for task in tasks])
    if args.out and args.out.suffix == ".json":
        text = json.dumps(comparison_json(evaluations, tasks, columns, said), indent=1, ensure_ascii=False) + "\n"
    else:
        text = comparison_page(evaluations, tasks, columns, said)
    if args.out:
        try:
            write_atomically(args.out, text)
        except OSError as error:
            raise UserError(f"--out {args.out} cannot be written ({error.strerror}): choose another") from error
        print(args.out)
    else:
        print(text, end="")
    return 0


def _parse_ks(text: str) -> list[int]:
    try:
        ks = sorted({int(part) for part in text.split(",")})
    except ValueError:
        ks = []
    if not ks or ks[0] < 1:
        raise UserError(f"--k {text}: give whole numbers of at least 1 with commas between them, as in 1,8,64")
    return ks
