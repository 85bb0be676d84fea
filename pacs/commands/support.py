"""Which problems a trained model solves within k samples that its base model does not, and the other way round, from
the samples of `pacs evaluate`: kept, gained, lost and neither, with the metrics of "The Invisible Leash" (arXiv
2507.14843): retention (SRR), discovery (NDR), both (SDS), net change (NSCR).

Of a run: each checkpoint against the policy that the run began with, as curves over the steps with intervals. With
--tasks the initial policy and the checkpoints are evaluated first, each into a folder of its own (DIR/initial,
DIR/step_N), as `pacs evaluate` does it and graded as in the run; the same command goes on where it stopped, and after
more training evaluates what is new. Without --tasks nothing is sampled: the evaluations that are there are read.
Engines want the GPUs that a run trains on: evaluate after the run, or elsewhere.

Of two evaluations, BASE and MODEL: the one against the other, and the entropy of answers beside that of tokens.

It is empirical support: a problem that is not solved within k samples may be solved within more. Give many.

Writes DIR/support.json, DIR/support.md and DIR/support.png. Exit status: 0 done, 1 an engine failed, 2 refused, 75
stopped on request.

examples:
  pacs support outputs/pacs/qwen3_8b-pacs --tasks math500,aime24 --samples 64 --out outputs/support
  pacs support outputs/pacs/qwen3_8b-pacs --tasks math500,aime24 --samples 64 --steps 100 200 300 --out outputs/support
  pacs support outputs/pacs/qwen3_8b-pacs --k 8 64 --out outputs/support
  pacs support evaluations/base evaluations/pacs --out support
  pacs support evaluations/base evaluations/pacs --k 8 64 --task aime24 --out support
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pacs.base.arguments import name, positive
from pacs.base.errors import UserError
from pacs.base.files import check_folder, told_apart, write_atomically
from pacs.base.terminal import print
from pacs.commands import evaluate
from pacs.diversity.folders import notes, read_tasks
from pacs.diversity.support import TaskSupport, compare
from pacs.diversity.support_document import support_table, to_json, to_markdown
from pacs.evaluation.sample import GradedTask

JSON, PAGE, PICTURE = "support.json", "support.md", "support.png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("base", type=Path, metavar="RUN|BASE", help="a run's folder, or the evaluation of the base model")
    add("model", nargs="?", type=Path, metavar="MODEL", help="with BASE: evaluation of the trained model")
    add("--out", required=True, type=Path, metavar="DIR", help="folder to write to")
    add("--task", nargs="+", metavar="T", help="of the evaluated tasks, those to compare (default: all in common)")
    about = "samples of a problem that count (default: all)"
    add("--k", nargs="+", type=positive, metavar="K", help=about)
    about = "how many of them must be right for the problem to be solved (default: 1)"
    add("--right", type=positive, default=1, metavar="N", help=about)
    _add_of_run(parser)
    _add_of_evaluation(parser)


def _add_of_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("of a run").add_argument
    about = "steps of the checkpoints (default: all that are complete, or were evaluated)"
    add("--steps", nargs="+", type=positive, metavar="N", help=about)
    about = "where the evaluations are, or go; RUN/evaluation has those of a sweep (default: DIR of --out)"
    add("--evaluations", type=Path, metavar="DIR", help=about)
    about = (
        "the policy that the run began with: a model, or its finished evaluation (default: as the run's config says)"
    )
    add("--initial", type=name, metavar="M", help=about)


def _add_of_evaluation(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("evaluation of a run's policies, as of `pacs evaluate`")
    evaluate.add_tasks(group.add_argument)
    about = "keep the models that checkpoints are merged into (default: remove each once it is evaluated)"
    group.add_argument("--keep-models", action="store_true", help=about)
    evaluate.add_sampling(group)
    evaluate.add_engines(group)


def main(args: argparse.Namespace) -> int:
    """Count, draw, write and say where it is."""
    check_folder(args.out)
    if args.model is None:
        return evaluate.status_of("pacs support", lambda: along_run(args))
    if options := _given(args, _add_of_run, _add_of_evaluation):
        raise UserError(f"{options[0]} is for a run (pacs support RUN): leave it out, or {args.model}")
    compare_two(args)
    return 0


def _given(args: argparse.Namespace, *groups: Callable[[argparse.ArgumentParser], None]) -> list[str]:
    """The options of these groups that have another value than their default."""
    parser = argparse.ArgumentParser(add_help=False)
    for add in groups:
        add(parser)
    return [each.option_strings[0] for each in parser._actions if getattr(args, each.dest) != each.default]


def compare_two(args: argparse.Namespace) -> None:
    """A trained model against its base model."""
    # matplotlib is slow to import.
    from pacs.diversity.support_picture import draw

    names = told_apart([args.base, args.model])
    results: dict[str, TaskSupport] = {}
    for task, (base, model) in read_tasks([args.base, args.model], args.task).items():
        results[task] = compare(base, model, _ks(task, args, names, (base, model)), args.right)
    settings = {"base": str(args.base), "model": str(args.model)} | (said := notes([args.base, args.model], names))
    page = to_markdown(settings, names, results, args.right, PICTURE)
    document = to_json(settings, names, results, args.right)
    _write(args.out, draw(names, results), page, document, [support_table(results, args.right), *said.values()])


def along_run(args: argparse.Namespace) -> None:
    """Each checkpoint of a run against its initial policy."""
    from pacs.diversity import curves, curves_document, curves_picture
    from pacs.diversity.policies import check_evaluations, evaluate_missing, find_policies, finished

    if not args.tasks and (options := _given(args, _add_of_evaluation)):
        raise UserError(f"{options[0]}: nothing is evaluated: give --tasks, too")
    policies = find_policies(args.base, args.evaluations or args.out, args.steps, args.initial)
    if args.tasks:
        asked = evaluate.asked_of(args, "", args.out, [])
        check_evaluations(policies, asked)
        evaluate_missing(policies, asked, args.keep_models)
        args.task = args.task or [task.name for task in asked.tasks]
    else:
        policies = finished(policies, args.steps is not None)
    folders = [policy.evaluation for policy in policies]
    labels = [policy.label for policy in policies]
    results = {}
    for task, (initial, *others) in read_tasks(folders, args.task).items():
        ks = _ks(task, args, labels, [initial, *others])
        steps = [policy.step for policy in policies[1:]]
        results[task] = curves.along(initial, dict(zip(steps, others, strict=True)), ks, args.right)
    together = curves.all_together([*results.values()]) if len(results) > 1 else {}
    said = notes(folders, labels)
    settings = {"run": str(args.base), "right samples that a problem needs": args.right} | said
    page = curves_document.to_markdown(settings, policies, results, together, args.right, PICTURE)
    document = curves_document.to_json(settings, policies, results, together, args.right)
    figure = curves_picture.draw(args.base.resolve().name, results, together)
    _write(args.out, figure, page, document, [curves_document.summary(results, together, args.right), *said.values()])


def _write(out: Path, figure: Any, page: str, document: Mapping[str, Any], printed: Sequence[str]) -> None:
    """Write the three files, print what is to be read at once, and where they are."""
    from pacs.report.figures import render_png

    png, text = render_png(figure), json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    for file, content in ((PICTURE, png), (PAGE, page), (JSON, text)):
        write_atomically(out / file, content)
    print("\n\n".join(printed) + "\n")
    for file in (JSON, PAGE, PICTURE):
        print(out / file)


def _ks(task: str, args: argparse.Namespace, names: Sequence[str], models: Sequence[GradedTask]) -> list[int]:
    """The values of k, ascending: those asked for, or all samples if all models have equally many."""
    counts = [len(next(iter(model.samples.values()))) for model in models]
    have = " and ".join(f"{name} has {count}" for name, count in zip(names, counts, strict=True))
    if args.k is None:
        if len(set(counts)) > 1:
            raise UserError(
                f"{task}: {have} samples a problem; more samples solve more: give --k {min(counts)} or less"
            )
        ks = [counts[0]]
    elif max(args.k) > min(counts):
        raise UserError(f"--k {max(args.k)}: {task} of {have} samples a problem; give {min(counts)} or less")
    else:
        ks = sorted(set(args.k))
    if args.right > ks[0]:
        raise UserError(f"--right {args.right}: more than the k = {ks[0]} samples of {task} that count: give fewer")
    return ks
