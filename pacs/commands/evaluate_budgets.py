"""Show what a model would have scored with fewer tokens, from existing samples of `pacs evaluate`: each is cut at
several budgets and graded again. This tells a gain in ability from shorter responses. It needs no GPU and no vLLM:
sample once, with the largest budget as --max-tokens. With several evaluations, differences to the first one are by the
paired bootstrap over problems.

The command writes DIR/budgets.md, DIR/budgets.json and DIR/budgets.png, and prints the first. `pacs report RUN
--budgets DIR` shows them in the report of a run.

examples:
  pacs evaluate budgets eval/pacs --out budgets
  pacs evaluate budgets eval/base eval/pacs --budgets 2048 4096 8192 --out budgets
"""

import argparse
from pathlib import Path

from pacs.base.arguments import add_out, positive
from pacs.base.files import check_folder, told_apart, write_atomically
from pacs.base.terminal import print

PAGE, PICTURE = "budgets.md", "budgets.png"
#: Of the largest `--max-tokens` that all evaluations have, the defaults are this and its halves.
HALVES = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("folders", nargs="+", type=Path, metavar="FOLDER", help="folder of an evaluation")
    add_out(add)
    about = "most tokens of a response (default: the evaluations' --max-tokens, halved up to four times)"
    add("--budgets", nargs="+", type=positive, metavar="N", help=about)
    about = "folder of the model whose tokenizer cuts the samples (default: the evaluation's own model)"
    add("--tokenizer", type=Path, metavar="DIR", help=about)


def main(args: argparse.Namespace) -> int:
    """Cut, grade, write and print."""
    from pacs.evaluation.budgets import JSON, budget_curves, write
    from pacs.evaluation.budgets_page import draw, page
    from pacs.evaluation.process import nothing_left
    from pacs.evaluation.settings import read_settings
    from pacs.report.figures import render_png

    folders = dict(zip(told_apart(args.folders), args.folders, strict=True))
    settings = [read_settings(folder) for folder in args.folders]
    check_folder(args.out)
    most = min(each.sampling.max_tokens for each in settings)
    budgets = sorted(set(args.budgets or (max(1, most >> i) for i in range(HALVES))))
    with nothing_left():
        found = budget_curves(folders, budgets, args.tokenizer)
    png, text = render_png(draw(found)), page(found)
    args.out.mkdir(parents=True, exist_ok=True)
    write_atomically(args.out / PICTURE, png)
    write_atomically(args.out / PAGE, text)
    write(args.out / JSON, found)
    print(text, end="")
    print(f"in {args.out}")
    return 0
