"""Measure how different a model's responses to one problem are, from the samples of `pacs evaluate`: the mean pairwise
cosine distance of their embeddings, for right responses only (the paper's Eq. 15); the entropy of the final answers and
of the tokens; distinct n-grams. For two evaluations it also gives the differences, with paired intervals, and draws
both in one picture.

The command writes DIR/diversity.json, DIR/diversity.md and a picture for each task. It keeps embeddings in
DIR/embeddings.sqlite, and resumes if it was killed.

examples:
  pacs diversity evaluations/pacs --out diversity
  pacs diversity evaluations/base evaluations/pacs --task aime24 aime25 --out diversity
  pacs diversity evaluations/base evaluations/pacs --embedding-model models/minilm --out diversity
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pacs.base.arguments import add_count, add_out, name, positive
from pacs.base.errors import UserError, nearest
from pacs.base.files import check_folder, told_apart, write_atomically, write_json
from pacs.base.terminal import print
from pacs.diversity.cache import Cache
from pacs.diversity.document import results_table, to_json, to_markdown
from pacs.diversity.folders import notes, read_tasks
from pacs.diversity.measures import COSINE, Array, Measured, difference, measure, select, unit_vectors
from pacs.evaluation.sample import GradedTask

if TYPE_CHECKING:
    from pacs.diversity.embed import Embedder

EMBEDDING_MODEL = "Qwen/Qwen3-Embedding-0.6B"
BATCH_SIZE = 8
CACHE = "embeddings.sqlite"

#: Problem -> the unit vectors of its selected responses.
Units = dict[str, Array]


#: Of a task: the title, the file and the PNG.
Picture = tuple[str, str, bytes]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "folders", nargs="+", type=Path, metavar="EVALUATION", help="one or two folders of `pacs evaluate`"
    )
    add_out(parser.add_argument)
    parser.add_argument("--task", nargs="+", metavar="T", help="tasks (default: all that the evaluations share)")
    about = "responses between which distances are taken (default: %(default)s)"
    parser.add_argument("--responses", choices=("correct", "all"), default="correct", help=about)
    parser.add_argument("--problem", metavar="ID", help="draw only the responses to this problem (default: to all)")
    add = parser.add_argument_group("embedding").add_argument
    about = "embedding model, a Hub name or a folder (default: %(default)s)"
    add("--embedding-model", type=name, default=EMBEDDING_MODEL, metavar="M", help=about)
    add("--max-tokens", type=positive, metavar="N", help="most tokens of a response (default: the model's limit)")
    add_count(add, "--batch-size", BATCH_SIZE, "responses that are embedded at a time")
    about = "precision of the model (default: %(default)s; the others are faster on a GPU and add noise)"
    add("--dtype", choices=("float32", "bfloat16", "float16"), default="float32", help=about)
    add("--cache", type=Path, metavar="FILE", help=f"file that keeps the embeddings (default: DIR/{CACHE})")


def main(args: argparse.Namespace) -> int:
    """Measure, draw, write and say where it is."""
    # torch and transformers take seconds to import.
    from pacs.diversity.embed import Embedder
    from pacs.diversity.measures import find_tokenizer

    args.cache = args.cache or args.out / CACHE
    if len(args.folders) > 2:
        raise UserError(f"{len(args.folders)} evaluations: give one, or two to compare")
    names = told_apart(args.folders)
    tasks = read_tasks(args.folders, args.task)
    if args.problem is not None:
        _check_problem(args.problem, tasks)
    unit, tokenize = find_tokenizer(args.folders)
    check_folder(args.out)
    if args.cache.exists():
        Cache(args.cache).close()  # refused before the model is loaded, if it is none
    embedder = Embedder(args.embedding_model, batch_size=args.batch_size, dtype=args.dtype, max_tokens=args.max_tokens)
    for folder in (args.out, args.cache.parent):
        folder.mkdir(parents=True, exist_ok=True)
    measured: dict[str, list[Measured]] = {task: [] for task in tasks}
    units: dict[str, list[Units]] = {task: [] for task in tasks}
    with Cache(args.cache) as cache:
        for task, models in tasks.items():
            for name, model in zip(names, models, strict=True):
                vectors, cut = embed(embedder, cache, model, args.responses == "correct", f"{task} of {name}")
                measured[task].append(measure(model, vectors, cut, tokenize))
                units[task].append(vectors)
    settings = {
        **{f"evaluation_{name}": str(folder) for name, folder in zip(names, args.folders, strict=True)},
        "responses_embedded": args.responses,
        "embedding_model": embedder.name,
        "embedding_sha256": embedder.identity,
        "embedding_dtype": args.dtype,
        "embedding_max_tokens": embedder.max_tokens,
        "distinct_n_over": unit,
        **(said := notes(args.folders, names)),
    }
    pictures = draw_all(names, {task: (measured[task], units[task]) for task in tasks}, args.problem)
    places = {task: (title, file) for task, (title, file, _) in pictures.items()}
    for _, file, png in pictures.values():
        write_atomically(args.out / file, png)
    page = to_markdown(settings, names, measured, places)
    write_atomically(args.out / "diversity.md", page)
    write_json(args.out / "diversity.json", to_json(settings, names, measured))
    print("\n\n".join([f"{task}\n{results_table(names, measured[task])}" for task in tasks] + [*said.values()]) + "\n")
    for file in ("diversity.json", "diversity.md", *(file for _, file in places.values())):
        print(args.out / file)
    return 0


def embed(embedder: "Embedder", cache: Cache, task: GradedTask, only_correct: bool, what: str) -> tuple[Units, int]:
    """The unit vectors of a task's selected responses, by problem; and how many of these were cut."""
    selected = select(task, only_correct)
    texts = [graded.sample.response for samples in selected.values() for graded in samples]
    vectors, cut = embedder.embed(cache, texts, what) if texts else (np.zeros((0, 1), np.float32), 0)
    ends = np.cumsum([len(samples) for samples in selected.values()])
    parts = np.split(unit_vectors(vectors), ends[:-1])
    return dict(zip(selected, parts, strict=True)), cut


def draw_all(
    names: Sequence[str], results: Mapping[str, tuple[list[Measured], list[Units]]], problem: str | None
) -> dict[str, Picture]:
    """The picture of each task that has one.

    Args:
        names: the models'.
        results: of each task, what was measured of each model, and their embeddings.
        problem: draw this one alone; tasks without it get no picture.
    """
    # matplotlib is slow to import.
    from pacs.diversity.picture import draw, title_of
    from pacs.report.figures import render_png

    pictures = {}
    for task, (measured, units) in results.items():
        if problem is None:
            gap = difference(measured[0], measured[1], COSINE) if len(measured) == 2 else None
            title = title_of(task, names, [one.mean(COSINE) for one in measured], gap and gap[0])
            file = f"diversity-{task}.png"
        elif problem in units[0]:
            units = [{problem: one[problem]} for one in units]
            distances = [one.values[COSINE].get(problem, np.nan) for one in measured]
            spread = ", ".join(f"{distance:.4f} of {name}" for name, distance in zip(names, distances, strict=True))
            title = f"{task}, problem {problem}: mean cosine distance {spread}"
            file = f"diversity-{task}-one-problem.png"
        else:
            continue
        figure = draw(names, units, title)
        if figure is not None:
            pictures[task] = title, file, render_png(figure)
    return pictures


def _check_problem(problem: str, tasks: Mapping[str, Sequence[GradedTask]]) -> None:
    known = [name for models in tasks.values() for name in models[0].samples]
    if problem not in known:
        near = nearest(problem, known, count=3, cutoff=0.3) or known[:3]
        raise UserError(f"--problem {problem}: not in {', '.join(tasks)}; there is {', '.join(near)}")
