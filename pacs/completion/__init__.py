"""What a shell offers when Tab is pressed: commands, options, their values, files, and Hydra's groups and keys.

`eval "$(register-python-argcomplete pacs)"` makes bash and zsh ask `pacs` itself, which then ends here. Every Tab press
starts Python anew: what takes long to import is imported where it is asked for, and torch never.

values.py      of each argument what may be its value: `OFFERED`
overrides.py   key=value as Hydra reads them
"""

import argparse
import os
from collections.abc import Callable, Collection, Sequence
from types import ModuleType

import argcomplete
from argcomplete.completers import FilesCompleter

from pacs.completion.choices import OFFERED
from pacs.completion.overrides import offered_overrides

#: By which argcomplete's shell function says that it asks, and hands over the line.
ASKED, LINE = "_ARGCOMPLETE", "COMP_LINE"


def complete(names: Collection[str], module_of: Callable[[str], ModuleType]) -> None:
    """Answer the shell, and end the process.

    Args:
        names: of the commands, of one word or two.
        module_of: imports a command's module by its name.
    """
    words = os.environ[LINE].split()[1:]
    asked = next((name for name in (" ".join(words[:2]), *words[:1]) if name in names), "")
    argcomplete.autocomplete(_parser(asked, names, module_of))


def _parser(asked: str, names: Collection[str], module_of: Callable[[str], ModuleType]) -> argparse.ArgumentParser:
    """The parser of the command that is asked for, below that of `pacs`; of the others the names alone."""
    top = argparse.ArgumentParser("pacs")
    top.add_argument("--version", action="store_true")
    commands = top.add_subparsers()
    for first in dict.fromkeys(name.split()[0] for name in names):
        command = commands.add_parser(first)
        seconds = [words[1] for name in names if (words := name.split())[0] == first and len(words) == 2]
        if asked == first:
            _add_arguments(command, asked, module_of(asked), seconds)
        elif seconds:
            below = command.add_subparsers()
            for second in seconds:
                parser = below.add_parser(second)
                if asked == f"{first} {second}":
                    _add_arguments(parser, asked, module_of(asked), [])
    return top


def _add_arguments(parser: argparse.ArgumentParser, name: str, command: ModuleType, seconds: Sequence[str]) -> None:
    """A command's arguments; the first that is no option may also be one of the words that make another command."""
    if name == "train":
        parser.add_argument(*command.VERBOSE, "--dry-run", action="store_true")
        parser.add_argument("--config-name")
        parser.add_argument("--cfg", choices=("job", "hydra", "all"))
        parser.add_argument("overrides", nargs="*")
    else:
        command.add_arguments(parser)
    offers = {"overrides": offered_overrides, **OFFERED.get(name, {})}
    for action in parser._actions:
        if action.dest in offers:
            action.completer = offers[action.dest]  # type: ignore[attr-defined]
    positional = [action for action in parser._actions if not action.option_strings]
    if positional and seconds:
        others = getattr(positional[0], "completer", FilesCompleter())
        positional[0].completer = lambda prefix, **given: [  # type: ignore[attr-defined]
            *seconds, *others(prefix=prefix, **given)
        ]  # fmt: skip
