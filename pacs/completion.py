"""What a shell offers when Tab is pressed: commands, options, files, and Hydra's groups and keys.

`eval "$(register-python-argcomplete pacs)"` makes bash and zsh ask `pacs` itself, which then ends here.
"""

import argparse
import os
from collections.abc import Callable, Collection, Sequence
from types import ModuleType
from typing import Any

import argcomplete
from argcomplete.completers import FilesCompleter
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from pacs.base.paths import config_dir
from pacs.commands import train
from pacs.composing import algorithms

#: By which argcomplete's shell function says that it asks, and hands over the line.
ASKED, LINE = "_ARGCOMPLETE", "COMP_LINE"
#: Of Hydra, before a key: to add it, and to delete it.
SIGNS = "+~"


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
            _add_arguments(command, module_of(asked), seconds)
        elif seconds:
            below = command.add_subparsers()
            for second in seconds:
                parser = below.add_parser(second)
                if asked == f"{first} {second}":
                    _add_arguments(parser, module_of(asked), [])
    return top


def _add_arguments(parser: argparse.ArgumentParser, command: ModuleType, seconds: Sequence[str]) -> None:
    """A command's arguments; the first that is no option may also be one of the words that make another command."""
    if command is train:
        parser.add_argument(*train.VERBOSE, "--dry-run", action="store_true")
        parser.add_argument("--config-name", choices=algorithms())
        parser.add_argument("--cfg", choices=("job", "hydra", "all"))
        parser.add_argument("overrides", nargs="*")
    else:
        command.add_arguments(parser)
    positional = [action for action in parser._actions if not action.option_strings]
    for action in positional:
        if action.dest == "overrides":
            action.completer = offered_overrides  # type: ignore[attr-defined]
    if positional and seconds:
        positional[0].completer = lambda prefix, **_: [  # type: ignore[attr-defined]
            *(second for second in seconds if second.startswith(prefix)), *FilesCompleter()(prefix)
        ]  # fmt: skip


def offered_overrides(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Overrides that go on from what is typed: the options of a group, or the keys of one more level.

    Args:
        prefix: what is typed of this word.
        parsed_args: of the words before it, the primary config's name among them.
    """
    group, equals, _value = prefix.partition("=")
    if equals:
        folder = group.lstrip(SIGNS)
        return [f"{group}={file.stem}" for file in (config_dir() / folder).glob("*.yaml")] if folder else []
    sign = prefix[: len(prefix) - len(prefix.lstrip(SIGNS))]
    parent, dot, _key = prefix.removeprefix(sign).rpartition(".")
    keys = [f"{sign}{parent}{dot}{key}" for key in _keys_below(parent, parsed_args)]
    folders = {path.name for path in config_dir().iterdir() if path.is_dir()} - train.NOT_GROUPS
    return keys if dot else [*keys, *(f"{sign}{name}=" for name in sorted(folders))]


def _keys_below(parent: str, parsed_args: argparse.Namespace) -> list[str]:
    """Keys of a section of the composed config, with "." where it is a section in turn, else with "="."""
    try:
        with initialize_config_dir(str(config_dir()), version_base=None):
            config = compose(getattr(parsed_args, "config_name", None) or "pacs")
    except HydraException:  # no such primary config
        return []
    section = OmegaConf.select(config, parent) if parent else config
    if not isinstance(section, DictConfig):
        return []
    return [f"{key!s}{'.' if OmegaConf.is_dict(section._get_node(key)) else '='}" for key in section]
