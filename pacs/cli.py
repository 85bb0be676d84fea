"""The `pacs` command: finds the subcommand, reads its arguments, and says what its user can mend."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import pacs
from pacs.base.arguments import path
from pacs.base.collecting import collect_rarely
from pacs.base.errors import UserError, did_you_mean
from pacs.base.redaction import redact
from pacs.base.terminal import named, piped, say

#: Of one word or two -> its module in `pacs.commands`, which is imported when it is asked for, and what it does. The
#: module has its help for a docstring (examples behind the line "examples:"), `add_arguments(parser)` and `main(parsed
#: arguments)`, which returns the exit status; `train` has Hydra read its arguments and gets them as they are.
COMMANDS = {
    "train": ("train", "train a policy (PACS by default)"),
    "data prepare": ("data_prepare", "write a problem set as parquet in verl's schema"),
    "data stats": ("data_stats", "count lengths, kinds of answers, duplicates and difficulties of a problem set"),
    "data show": ("data_show", "print prompts as the model gets them, and their gold answers"),
    "data baseline": (
        "data_baseline",
        "measure how probable right answers are without reasoning, for reference_probability",
    ),
    "data rate": ("data_rate", "measure a model's pass rate on each problem, for training by difficulty"),
    "data list": ("data_list", "list the known problem sets"),
    "plan": ("plan", "estimate memory and time of a training step, without running it"),
    "doctor": ("doctor", "check this machine, and a run's config and data, with a fix for each problem"),
    "sweep": ("sweep", "train a set of runs one after the other, ending in a table and a plot"),
    "runs": ("runs", "list training runs: state, step, last metrics, where each resumes"),
    "evaluate": ("evaluate", "sample a model, grade the samples, report pass@k"),
    "evaluate show": ("evaluate_show", "print samples of an evaluation"),
    "evaluate grade": ("evaluate_grade", "grade an evaluation's samples again"),
    "evaluate compare": ("evaluate_compare", "compare evaluations, with their differences"),
    "evaluate budgets": ("evaluate_budgets", "pass@1 at smaller token limits, from existing samples"),
    "genac value-bench": (
        "genac_value_bench",
        "compare critics' values with the outcomes of continuations of the same states",
    ),
    "genac sft-data": (
        "genac_sft_data",
        "write a teacher's traces on partial responses, to fine-tune a generative critic on",
    ),
    "diversity": ("diversity", "measure how different a model's responses to a problem are"),
    "support": ("support", "count problems that training gained and lost, for one model or along a run"),
    "report": ("report", "plot one or several runs, with an HTML page"),
    "export": ("export", "export a checkpoint as a Hugging Face folder, for transformers and vLLM"),
    "inspect": ("inspect", "show what a run saved when it stopped because of updates that were not finite"),
}

DESCRIPTION = """\
PACS: reinforcement learning with verifiable rewards as supervised learning, over verl.

commands
{commands}

`pacs COMMAND --help` says more. `pacs train --help` shows how runs are configured; README.md shows where to start.
With eval "$(register-python-argcomplete pacs)" in ~/.bashrc or ~/.zshrc, Tab completes commands and their arguments.
"""

#: How help is laid out: as it is written.
AS_IT_IS = argparse.RawDescriptionHelpFormatter
#: Exit statuses: of a refusal, of Ctrl-C, and what a shell reports of a program that SIGPIPE has ended.
REFUSED, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand; return the exit status. Ends quietly if what it prints is no longer read (`| head`)."""
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what may follow
        from pacs.completion import complete

        complete(COMMANDS, module_of)
    return piped(lambda: _run(list(sys.argv[1:] if arguments is None else arguments)))


def _run(arguments: list[str]) -> int:
    name, words = find(arguments)
    collect_rarely()
    try:
        command = module_of(name)
        status: int = command.main(words if name == "train" else parse(name, words))
    except BrokenPipeError:
        raise
    except (UserError, OSError) as error:
        if name == "train" and not isinstance(error, UserError):  # not refused: it may have begun
            raise
        say(redact(f"pacs {name}: {error}"), error=True)
        return REFUSED
    except KeyboardInterrupt as error:
        say("; ".join([f"pacs {name}: interrupted", *map(str, error.args)]), error=True)
        return INTERRUPTED
    return status


def find(arguments: Sequence[str]) -> tuple[str, list[str]]:
    """The command that the first words name, and the words after it; ends the process if there is none."""
    for words in (2, 1):
        name = " ".join(arguments[:words])
        if len(arguments) >= words and name in COMMANDS:
            return name, list(arguments[words:])
    asked = arguments[0] if arguments else ""
    below = {name: about for name, about in COMMANDS.items() if name.split()[0] == asked}  # as of `pacs data`
    shown = below or COMMANDS
    width = max(map(len, shown))
    parser = argparse.ArgumentParser(
        prog=f"pacs {asked}" if below else "pacs",
        usage="%(prog)s COMMAND ...",
        description=DESCRIPTION.format(commands="\n".join(f"  {name:{width}}  {shown[name][1]}" for name in shown)),
        formatter_class=AS_IT_IS,
    )
    parser.add_argument("--version", action="version", version=f"pacs {pacs.__version__}")
    _, unknown = parser.parse_known_args(arguments[1:] if below else arguments)
    word = " ".join([asked, *unknown[:1]]) if below else " ".join(unknown[:1])
    hint = f"there is no command {word}.{did_you_mean(word, COMMANDS)}" if unknown else "give a command."
    return parser.error(named(f"{hint} --help lists them."))


def module_of(name: str) -> ModuleType:
    """The module of a command."""
    return importlib.import_module(f"pacs.commands.{COMMANDS[name][0]}")


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a command other than `train`."""
    command = module_of(name)
    about, heading, examples = str(command.__doc__).partition("examples:\n")
    parser = argparse.ArgumentParser(
        prog=f"pacs {name}", description=about, epilog=heading + examples, formatter_class=AS_IT_IS
    )
    command.add_arguments(parser)
    for action in parser._actions:
        if action.type is Path:
            action.type = path
    return parser


def parse(name: str, arguments: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command other than `train`; ends the process if they are wrong."""
    parser = parser_of(name)
    parsed, unknown = parser.parse_known_args(arguments)  # this one names all that is missing
    if unknown:  # folders and overrides may stand behind an option, too
        parsed, unknown = parser.parse_known_intermixed_args(arguments)
    if unknown:
        known = [option for action in parser._actions for option in action.option_strings]
        options = [word for word in unknown if word.startswith("--")]
        hints = "".join(did_you_mean(word.partition("=")[0], known) for word in options)
        if hasattr(parsed, "overrides") and not hints:
            from pacs.composing import without_dashes  # Hydra is slow to import

            hints = "".join(map(without_dashes, options))
        parser.error(named(f"unrecognized arguments: {' '.join(unknown)}.{hints}"))
    return parsed
