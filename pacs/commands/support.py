"""Count the problems that a trained model solves within k samples and its base model does not, and the reverse, from
the samples of `pacs evaluate`: kept, gained, lost and neither, with the metrics of "The Invisible Leash" (arXiv
2507.14843): retention (SRR), discovery (NDR), both (SDS), net change (NSCR).

For a run, each checkpoint is compared with the run's initial policy, as curves over the steps with intervals. With
--tasks the initial policy and the checkpoints are evaluated first, each in a folder of its own (DIR/initial,
DIR/step_N), as by `pacs evaluate` with the run's grading; repeating the command resumes, and evaluates what more
training has added. Without --tasks nothing is sampled: existing evaluations are read.
A run keeps its last two checkpoints; for a curve, train with trainer.max_actor_ckpt_to_keep=null. Engines need GPUs
that no run trains on: evaluate after the run, or elsewhere.

For two evaluations, BASE and MODEL, the one is compared with the other, and the entropy of answers with that of tokens.

This is empirical support: a problem that is not solved within k samples may be solved within more. Draw many.

The command writes DIR/support.json, DIR/support.md and DIR/support.png. Exit status: 0 done, 1 an engine failed, 2
refused, 75 stopped on request.

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
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pacs.base.arguments import add_out, name, positive
from pacs.base.errors import UserError
from pacs.base.files import check_folder, told_apart, write_atomically, write_json
from pacs.base.terminal import print
from pacs.commands import evaluate
from pacs.diversity.curves import Along, Key, all_together, along
from pacs.diversity.folders import Marks, marks_of, notes, read_marks, read_tasks
from pacs.diversity.support import Entropy, entropies_of
from pacs.diversity.support_document import Comparison, summary, to_json, to_markdown
from pacs.evaluation.grading import OPTION, parse_given
from pacs.evaluation.tasks import parse_tasks, prepare_missing

if TYPE_CHECKING:
    from pacs.diversity.evaluating import Asked

KEEP = "--keep-models"
JSON, PAGE, PICTURE = "support.json", "support.md", "support.png"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("base", type=Path, metavar="RUN|BASE", help="a run's folder, or the evaluation of the base model")
    add("model", nargs="?", type=Path, metavar="MODEL", help="with BASE: evaluation of the trained model")
    add_out(add)
    add("--task", nargs="+", metavar="T", help="evaluated tasks to compare (default: all in common)")
    about = "number of samples of each problem to use (default: all)"
    add("--k", nargs="+", type=positive, metavar="K", help=about)
    about = "how many of the K samples must be right for a problem to count as solved (default: 1)"
    add("--right", type=positive, default=1, metavar="N", help=about)
    _add_of_run(parser)
    _add_of_evaluation(parser)


def _add_of_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("for a run").add_argument
    about = "steps of the checkpoints (default: all that are complete or evaluated)"
    add("--steps", nargs="+", type=positive, metavar="N", help=about)
    about = "folder of the evaluations, existing or new; a sweep's are in RUN/evaluation (default: DIR of --out)"
    add("--evaluations", type=Path, metavar="DIR", help=about)
    about = "the run's initial policy: a model, or an evaluation of it (default: the model of the run's config)"
    add("--initial", type=name, metavar="M", help=about)


def _add_of_evaluation(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("evaluation of a run's policies, as for `pacs evaluate`")
    evaluate.add_tasks(group.add_argument)
    about = "keep the merged models of checkpoints (default: remove each once it is evaluated)"
    group.add_argument(KEEP, action="store_true", help=about)
    evaluate.add_sampling(group)
    evaluate.add_engines(group)


def main(args: argparse.Namespace) -> int:
    """Count, draw, write and say where it is."""
    check_folder(args.out)
    if args.model is None:
        return along_run(args)
    for option, *_ in _given(args, _add_of_run, _add_of_evaluation):
        raise UserError(f"{option} is for a run (pacs support RUN): leave it out, or {args.model}")
    compare_two(args)
    return 0


def _given(args: argparse.Namespace, *groups: Callable[[argparse.ArgumentParser], None]) -> list[list[str]]:
    """The options of these groups that have another value than their default, each as words of a command."""
    parser = argparse.ArgumentParser(add_help=False)
    for add in groups:
        add(parser)
    found: list[list[str]] = []
    for action in parser._actions:
        option, value = action.option_strings[0], getattr(args, action.dest)
        if value == action.default:
            continue
        if action.nargs == 0:
            found.append([option])
        elif option in ("--samples", OPTION):  # again and again
            found += [[option, each] for each in value]
        else:
            found.append([option, str(value) if isinstance(value, str | Path) else json.dumps(value)])
    return found


def compare_two(args: argparse.Namespace) -> None:
    """A trained model against its base model."""
    folders = [args.base, args.model]
    names = told_apart(folders)
    tasks = read_tasks(folders, args.task)
    results = _along({task: [*map(marks_of, both)] for task, both in tasks.items()}, args, names, names[1:])
    policies = [{"name": name, "evaluation": str(folder)} for name, folder in zip(names, folders, strict=True)]
    entropies = {task: entropies_of(base, model, results[task].k) for task, (base, model) in tasks.items()}
    _write(args, f"Support: {names[1]} against {names[0]}", names, policies, notes(folders, names), results, entropies)


def along_run(args: argparse.Namespace) -> int:
    """Each checkpoint of a run against its initial policy; the exit status."""
    from pacs.diversity.evaluating import check_evaluations, evaluate_missing
    from pacs.diversity.policies import find_policies, finished

    asked = _asked(args)
    policies = find_policies(args.base, args.evaluations or args.out, args.steps, args.initial)
    if asked:
        policies = check_evaluations(policies, asked, args.steps is not None)
        prepare_missing(asked.tasks, args.data)
        if status := evaluate_missing(policies, asked, args.keep_models):
            return status
        args.task = args.task or [task.name for task in asked.tasks]
    else:
        policies = finished(policies, args.steps is not None)
    folders, labels = ([getattr(policy, name) for policy in policies] for name in ("evaluation", "label"))
    results = _along(read_marks(folders, args.task), args, labels, [policy.step for policy in policies[1:]])
    about = [{"step": each.step, "model": each.model, "evaluation": str(each.evaluation)} for each in policies]
    settings = {"run": str(args.base)} | notes(folders, labels)
    _write(args, f"Support along {args.base}", labels, about, settings, results, {})
    return 0


def _along(
    tasks: Mapping[str, Sequence[Marks]], args: argparse.Namespace, names: Sequence[str], keys: Sequence[Key]
) -> dict[str, Along]:
    """Each task of the policies of these names; the first one has no key, since the others are compared with it."""
    results = {}
    for task, (initial, *others) in tasks.items():
        ks = _ks(task, args, names, [initial, *others])
        results[task] = along(task, initial, dict(zip(keys, others, strict=True)), ks, args.right)
    return results


def _asked(args: argparse.Namespace) -> "Asked | None":
    """What is to be evaluated; None without --tasks.

    Raises:
        UserError: There are options of an evaluation without --tasks, or they are wrong.
    """
    from pacs.diversity.evaluating import Asked

    given = _given(args, _add_of_evaluation)
    if args.tasks is None:
        for option, *_ in given:
            raise UserError(f"{option}: nothing is evaluated: give --tasks, too")
        return None
    tasks = [replace(task, ks=()) for task in parse_tasks(args.tasks, args.data, args.samples, [])]
    words = [word for option in given if option[0] != KEEP for word in option]
    return Asked(tasks, evaluate.sampling_of(args), parse_given(args.reward_kwargs), words)


def _write(
    args: argparse.Namespace,
    title: str,
    names: Sequence[str],
    policies: Sequence[Mapping[str, Any]],
    settings: Mapping[str, str],
    results: Mapping[str, Along],
    entropies: Mapping[str, Mapping[str, Entropy]],
) -> None:
    """Write the three files, print what is to be read at once, and where they are."""
    # matplotlib is slow to import.
    from pacs.diversity.support_picture import draw
    from pacs.report.figures import render_png

    together = all_together([*results.values()]) if len(results) > 1 else {}
    found = Comparison(title, names[0], policies, settings, results, together, args.right, entropies)
    png, page = render_png(draw(found)), to_markdown(found, PICTURE)
    args.out.mkdir(parents=True, exist_ok=True)
    write_atomically(args.out / PICTURE, png)
    write_atomically(args.out / PAGE, page)
    write_json(args.out / JSON, to_json(found))
    note = [settings["note"]] if "note" in settings else []
    print("\n\n".join([summary(found), *note]) + "\n")
    for file in (JSON, PAGE, PICTURE):
        print(args.out / file)


def _ks(task: str, args: argparse.Namespace, names: Sequence[str], models: Sequence[Marks]) -> list[int]:
    """The values of k, ascending: those asked for, or all samples if all models have equally many."""
    counts = [len(next(iter(model.values()))) for model in models]
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
