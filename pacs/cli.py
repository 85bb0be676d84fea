"""The `pacs` command."""

import argparse
import os
import select
import sys
from collections.abc import Sequence

from pacs import training
from pacs.data import command as data
from pacs.diversity import command as diversity
from pacs.doctor import command as doctor
from pacs.evaluation import command as evaluation
from pacs.export import command as export
from pacs.planning import command as plan
from pacs.report import command as report
from pacs.report import inspect_command as inspect
from pacs.runs import command as runs
from pacs.sweeps import command as sweep

#: What a shell reports of a program that SIGPIPE has ended.
BROKEN_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; return the exit status. Ends quietly if what it prints is no longer read (`| head`)."""
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        stdout = select.poll()
        stdout.register(sys.stdout.fileno(), 0)
        if not stdout.poll(0):  # it was another pipe
            raise
        # Else the interpreter would try again at its end, and say so.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE


def _run(arguments: Sequence[str] | None) -> int:
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments[:1] == ["train"]:
        # Everything after `train` is Hydra's, except what pacs.training documents.
        return training.main(arguments[1:])
    parsed = parse(arguments)
    status: int = parsed.handler(parsed)
    return status


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments of a subcommand other than `train`, with what does it as `handler`; ends the process if wrong."""
    arguments = list(arguments)
    if arguments[:1] == ["evaluate"] and arguments[1:2] and arguments[1] in evaluation.SUBCOMMANDS:
        # What follows `evaluate` is a model else.
        arguments[:2] = [" ".join(arguments[:2])]
    parser = build_parser()
    parsed, rest = parser.parse_known_args(arguments)
    # argparse takes overrides only up to the first option.
    overrides = getattr(parsed, "overrides", None)
    if rest and (overrides is None or any(word.startswith("-") for word in rest)):
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if overrides is not None:
        overrides += rest
    return parsed


def build_parser() -> argparse.ArgumentParser:
    """The parser of all subcommands; `train` has only its name here."""
    parser = argparse.ArgumentParser(
        prog="pacs",
        description="PACS: reinforcement learning with verifiable rewards as supervised learning, over verl.",
        epilog="`pacs train --help` shows how runs are configured; the README shows where to start.",
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    subparsers.add_parser("train", help="train a policy (PACS by default)", add_help=False)
    for command in (data, plan, doctor, sweep, runs, evaluation, diversity, report, export, inspect):
        command.add_parser(subparsers)
    return parser
