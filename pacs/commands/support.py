"""Which problems a trained model solves within k samples that its base model does not, and the other way round, from
the samples of `pacs evaluate`: kept, gained, lost and neither, with the metrics of "The Invisible Leash" (arXiv
2507.14843), and the entropy of answers beside that of tokens.

Writes DIR/support.json, DIR/support.md and DIR/support.png.

examples:
  pacs support evaluations/base evaluations/pacs --out support
  pacs support evaluations/base evaluations/pacs --k 8 64 --task aime24 --out support
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from pacs.base.arguments import positive
from pacs.base.errors import UserError
from pacs.base.files import check_folder, told_apart, write_atomically
from pacs.base.terminal import print
from pacs.diversity.folders import notes, read_tasks
from pacs.diversity.support import TaskSupport, compare
from pacs.diversity.support_document import support_table, to_json, to_markdown
from pacs.evaluation.sample import GradedTask

JSON, PAGE, PICTURE = "support.json", "support.md", "support.png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("base", type=Path, metavar="BASE", help="evaluation of the base model")
    parser.add_argument("model", type=Path, metavar="MODEL", help="evaluation of the trained model")
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write to")
    parser.add_argument("--task", nargs="+", metavar="T", help="tasks (default: all that the evaluations share)")
    about = "samples of a problem that count (default: all)"
    parser.add_argument("--k", nargs="+", type=positive, metavar="K", help=about)


def main(args: argparse.Namespace) -> int:
    """Count, draw, write and say where it is."""
    # matplotlib is slow to import.
    from pacs.diversity.support_picture import draw
    from pacs.report.figures import render_png

    check_folder(args.out)
    names = told_apart([args.base, args.model])
    results: dict[str, TaskSupport] = {}
    for task, (base, model) in read_tasks([args.base, args.model], args.task).items():
        results[task] = compare(base, model, _ks(task, args.k, names, (base, model)))
    settings = {"base": str(args.base), "model": str(args.model)} | (said := notes([args.base, args.model], names))
    png = render_png(draw(names, results))
    page = to_markdown(settings, names, results, PICTURE)
    whole = json.dumps(to_json(settings, names, results), indent=1, ensure_ascii=False) + "\n"
    args.out.mkdir(parents=True, exist_ok=True)
    for file, content in ((PICTURE, png), (PAGE, page), (JSON, whole)):
        write_atomically(args.out / file, content)
    print("\n\n".join([support_table(results), *said.values()]) + "\n")
    for file in (JSON, PAGE, PICTURE):
        print(args.out / file)
    return 0


def _ks(
    task: str, asked: Sequence[int] | None, names: Sequence[str], models: tuple[GradedTask, GradedTask]
) -> list[int]:
    """The values of k, ascending: those asked for, or all samples if both models have equally many."""
    counts = [len(next(iter(model.samples.values()))) for model in models]
    have = " and ".join(f"{name} has {count}" for name, count in zip(names, counts, strict=True))
    if asked is None:
        if counts[0] != counts[1]:
            raise UserError(
                f"{task}: {have} samples a problem; more samples solve more: give --k {min(counts)} or less"
            )
        return [counts[0]]
    if max(asked) > min(counts):
        raise UserError(f"--k {max(asked)}: {task} of {have} samples a problem; give {min(counts)} or less")
    return sorted(set(asked))
