"""Run what a question asks, or write its pages.

    python -m recipes.laboratory                          the questions, and what is there of each
    python -m recipes.laboratory methods --minutes 60     runs what is missing, for about an hour
    python -m recipes.laboratory report                   writes all pages, and the tables of the documents

A question is a file of recipes/laboratory/questions/: arms to be compared, tasks, seeds. Each run is a process on one
core; its record goes to recipes/laboratory/results/. What is there already is not run again, also where another
question asked for it: stop with Ctrl-C at any time, and the same command goes on. Learning rates are chosen first, on
problems and seeds of their own.
"""

import argparse
import math
import signal
import sys
import time

from pacs.base.arguments import positive
from pacs.base.errors import UserError
from pacs.base.tables import Cell, format_table
from pacs.base.terminal import columns, piped, print, say
from pacs.base.units import duration
from recipes.laboratory import questions, report, summary
from recipes.laboratory.plan import jobs
from recipes.laboratory.progress import missing, named
from recipes.laboratory.records import Records
from recipes.laboratory.runner import Runner

WORKERS = 2


def main() -> int:
    """Do what the command line says; returns the status to end with."""
    parser = _parser()
    arguments = parser.parse_args()
    try:
        _refuse_useless(arguments)
        if arguments.what == "report":
            for file in [*report.write(arguments.question or ""), *summary.rewrite(Records())]:
                print(file)
            return 0
        if arguments.what is None:
            _list(arguments.workers)
            return 0
        return _run(arguments)
    except UserError as error:
        parser.error(str(error))
    except KeyboardInterrupt:  # while there are runs, the runner takes note of it itself
        say("interrupted", error=True)
        return 128 + signal.SIGINT


def _refuse_useless(arguments: argparse.Namespace) -> None:
    """Raises UserError where an argument would do nothing."""
    if arguments.what != "report" and arguments.question:
        raise UserError(f"{arguments.question}: a second word is for `report` alone: leave it out")
    of_runs = {
        "--task": arguments.task is not None,
        "--minutes": arguments.minutes != math.inf,
        "--workers": arguments.workers != WORKERS and arguments.what is not None,
        "--retry": arguments.retry,
        "--dry-run": arguments.dry_run,
    }
    if arguments.what in (None, "report") and (given := [name for name, there in of_runs.items() if there]):
        otherwise = "leave it out" if arguments.what else f"name it first, or leave {given[0]} out"
        raise UserError(f"{given[0]} is for a question that is to be run: {otherwise}")
    if arguments.dry_run and of_runs["--minutes"]:
        raise UserError("--minutes is for runs, and --dry-run makes none: leave one of them out")


def _run(arguments: argparse.Namespace) -> int:
    question = questions.read(arguments.what)
    if arguments.task not in (None, *question.tasks):
        raise UserError(
            f"--task {arguments.task} is none of {question.name}: choose one of {', '.join(question.tasks)}, "
            f"or add it to questions/{question.name}.yaml"
        )
    tasks = [arguments.task] if arguments.task else question.tasks
    if arguments.dry_run:
        for task in tasks:
            _say_missing(question, task, arguments)
        return 0
    began = time.monotonic()
    for task in tasks:
        left = arguments.minutes - (time.monotonic() - began) / 60
        runner = Runner(question, task, minutes=left, workers=arguments.workers, retry=arguments.retry)
        if number := runner.run():
            return 128 + number
        _say_left(question, task, arguments)
    return 0


def _say_missing(question: questions.Question, task: str, arguments: argparse.Namespace) -> None:
    records = Records()
    wanted = ("missing", "failed") if arguments.retry else ("missing",)
    for job in jobs(question, task, records.of):
        record = records.of(job.run) if job.ready else None
        if (record["state"] if record else "missing") in wanted:
            seconds = records.expected_seconds(job.run)
            print(f"{task}: {named(job)}" + (f", about {duration(seconds)}" if seconds else ""))
    _say_left(question, task, arguments)


def _say_left(question: questions.Question, task: str, arguments: argparse.Namespace) -> None:
    left = missing(question, task, Records(), retry=arguments.retry)
    eta = "" if left.seconds is None else f", about {duration(left.seconds / arguments.workers)}"
    failed = f", {left.failed} failed (--retry runs them again)" if left.failed else ""
    print(f"{question.name} {task}: {left.of - left.runs} of {left.of} runs are there, {left.runs} left{eta}{failed}")


def _list(workers: int) -> None:
    records, rows = Records(), {}
    for question in map(questions.read, questions.names()):
        for task in question.tasks:
            left = missing(question, task, records)
            eta = None if left.seconds is None else duration(left.seconds / workers)
            row: dict[str, Cell] = {"asks": question.title, "runs": f"{left.of - left.runs}/{left.of}"}
            row |= {"failed": left.failed, f"left, with {workers} workers": eta}
            rows[f"{question.name} {task}"] = row
    print(format_table(rows, corner="question, task", width=columns()))
    print("\npython -m recipes.laboratory QUESTION runs what is missing; --help says more")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m recipes.laboratory", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", nargs="?", metavar="QUESTION|report", help=f"one of {', '.join(questions.names())}")
    parser.add_argument(
        "question",
        nargs="?",
        metavar="QUESTION",
        help="of report: the pages of this one alone, and the tables of the documents",
    )
    parser.add_argument("--task", help="one of the question's tasks (default: all, one after the other)")
    about = "start no run that is expected to end later than so many minutes from now (default: no limit)"
    parser.add_argument("--minutes", type=positive, default=math.inf, help=about)
    about = f"runs at a time, each on one core (default: {WORKERS})"
    parser.add_argument("--workers", type=positive, default=WORKERS, help=about)
    parser.add_argument("--retry", action="store_true", help="also run what has failed once more")
    parser.add_argument("--dry-run", action="store_true", help="say what would be run, in its order, and run nothing")
    return parser


if __name__ == "__main__":
    sys.exit(piped(main))
