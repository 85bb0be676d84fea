"""`pacs support`: what it does."""

import argparse
import json
import sys
from collections.abc import Sequence

from pacs.diversity.folders import labels, notes, read_tasks
from pacs.diversity.support_document import support_table, to_json, to_markdown
from pacs.diversity.support_picture import draw
from pacs.diversity.support_task import TaskSupport, compare
from pacs.evaluation.errors import EvaluationError
from pacs.evaluation.sample import GradedTask
from pacs.report.figures import render_png
from pacs.runs.files import write_atomically
from pacs.terminal import print

JSON, PAGE, PICTURE = "support.json", "support.md", "support.png"


def main(args: argparse.Namespace) -> int:
    """Count, draw, write and say where it is; 2 and one line on stderr where that is impossible."""
    try:
        _run(args)
    except (EvaluationError, OSError) as error:
        print(f"pacs support: {error}", file=sys.stderr)
        return 2
    return 0


def _run(args: argparse.Namespace) -> None:
    names = labels([args.base, args.model])
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


def _ks(
    task: str, asked: Sequence[int] | None, names: Sequence[str], models: tuple[GradedTask, GradedTask]
) -> list[int]:
    """The values of k, ascending: those asked for, or all samples if both models have equally many."""
    counts = [len(next(iter(model.samples.values()))) for model in models]
    have = " and ".join(f"{name} has {count}" for name, count in zip(names, counts, strict=True))
    if asked is None:
        if counts[0] != counts[1]:
            raise EvaluationError(
                f"{task}: {have} samples a problem; more samples solve more: give --k {min(counts)} or less"
            )
        return [counts[0]]
    if max(asked) > min(counts):
        raise EvaluationError(f"--k {max(asked)}: {task} of {have} samples a problem; give {min(counts)} or less")
    return sorted(set(asked))
