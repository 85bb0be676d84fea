"""Print samples of an evaluation: the prompt, the right answer, the answer that the verifier found, the response. The
evaluation may still be running, or may have been stopped.

examples:
  pacs evaluate show outputs/trained --wrong
  pacs evaluate show outputs/trained --task math500 --status no_answer -n 10
  pacs evaluate show outputs/trained --task aime24 --problem 60 -n 128 | less
"""

import argparse
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from pacs.base.arguments import positive
from pacs.base.errors import UserError
from pacs.base.terminal import print
from pacs.evaluation.folder import read_grades, read_problems, read_samples
from pacs.evaluation.sample import Grade, Problem, Sample
from pacs.evaluation.settings import read_settings
from pacs.rewards.verdict import CLASSES


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("out", type=Path, metavar="DIR", help="--out of `pacs evaluate`")
    add("--task", metavar="TASK", help="only samples of this task (default: all)")
    add("--problem", metavar="ID", help="only samples of this problem, by its id (default: all)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--right", action="store_true", help="only right samples")
    which.add_argument("--wrong", action="store_true", help="only samples that are not right, for whatever reason")
    which.add_argument("--status", choices=CLASSES, help="only samples with this status")
    add("-n", type=positive, default=3, metavar="N", help="print at most N samples (default: 3)")


def main(args: argparse.Namespace) -> int:
    """Print the samples."""
    found = _matching(args)
    print(next(found, "no such samples"))
    for text in islice(found, args.n - 1):
        print(text)
    return 0


def _matching(args: argparse.Namespace) -> Iterator[str]:
    settings = read_settings(args.out)
    if args.task is not None and args.task not in settings.tasks:
        raise UserError(f"--task {args.task}: {args.out} has {', '.join(settings.tasks)}")
    tasks = list(settings.tasks) if args.task is None else [args.task]
    problems = {
        task: {problem.id: problem for problem in read_problems(args.out, task, settings.tasks[task].problems)}
        for task in tasks
    }
    if args.problem is not None and not any(args.problem in some for some in problems.values()):
        some = ", ".join(islice((name for each in problems.values() for name in each), 5))
        raise UserError(f"--problem {args.problem}: no such problem; the first ones are {some}")
    for task in tasks:
        grades = read_grades(args.out, task)
        for sample in read_samples(args.out, task, settings.model.prefix):
            grade = grades.get((sample.problem, sample.index))
            if args.problem in (None, sample.problem) and _is_asked_for(args, grade):
                yield _text(task, problems[task][sample.problem], sample, grade)


def _is_asked_for(args: argparse.Namespace, grade: Grade | None) -> bool:
    """Whether a sample has a status that is asked for; one that is not graded has none."""
    if args.right:
        return grade is not None and grade.status == "correct"
    if args.wrong:
        return grade is not None and grade.status != "correct"
    return args.status is None or (grade is not None and grade.status == args.status)


def _text(task: str, problem: Problem, sample: Sample, grade: Grade | None) -> str:
    about = [f"{task} {problem.id}, sample {sample.index}", grade.status if grade else "not graded yet"]
    about.append(f"{sample.tokens} tokens{', truncated' if sample.truncated else ''}")
    prompt = "\n".join(f"[{message['role']}]\n{message['content']}" for message in problem.prompt)
    answers = f"gold: {_shortened(problem.ground_truth)}\npredicted: {grade.predicted if grade else ''}"
    return f"--- {', '.join(about)}\n{prompt}\n--- response\n{sample.response}\n--- {answers}\n"


def _shortened(gold: str) -> str:
    """The tests of a program may be long."""
    return gold if len(gold) <= 200 else f"{gold[:200]}... ({len(gold):,} characters)"
