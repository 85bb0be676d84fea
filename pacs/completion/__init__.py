"""What a shell offers when Tab is pressed: commands, options, their values, files, and Hydra's groups and keys.

`eval "$(register-python-argcomplete pacs)"` makes bash and zsh ask `pacs` itself, which then ends here. Every Tab press
starts Python anew: what takes long to import is imported where it is asked for, and torch never.

`choices.py` has of each argument what may be its value; here are commands and overrides, key=value as Hydra reads them.
"""

import argparse
import os
from collections.abc import Callable, Collection, Sequence
from types import ModuleType
from typing import Any

import argcomplete
from argcomplete.completers import FilesCompleter

from pacs.base.paths import config_dir
from pacs.completion.choices import OFFERED, arms

#: In which argcomplete's shell function hands over the line.
LINE = "COMP_LINE"


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
        parser.add_argument("--resolve", action="store_true")
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


#: Of Hydra, before a key: to add it, and to delete it.
SIGNS = "+~"


def offered_overrides(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Overrides that go on from what is typed: the options of a group, or the keys of one more level.

    Args:
        prefix: what is typed of this word.
        parsed_args: of the words before it, the primary config's name, or the sweep's, among them.
    """
    if getattr(parsed_args, "name", "") is None:  # the sweep's stands here
        return []
    group, equals, value = prefix.partition("=")
    if equals:
        folder = group.lstrip(SIGNS)
        before = value[: value.rfind(",") + 1] if "name" in parsed_args else ""  # a sweep has several of a group
        files = sorted((config_dir() / folder).glob("*.yaml")) if folder else []
        return [f"{group}={before}{file.stem}" for file in files if file.stem not in before.split(",")]
    from pacs.composing import groups

    sign = prefix[: len(prefix) - len(prefix.lstrip(SIGNS))]
    config = _config(parsed_args)
    typed = prefix.removeprefix(sign)
    offered = [] if "." in typed else [f"{name}=" for name in groups()]
    offered = [key for key in (*_keys_below(config, typed.rpartition(".")[0]), *offered) if key.startswith(typed)]
    while len(offered) == 1 and offered[0].endswith("."):  # a shell would end the word behind it
        offered = _keys_below(config, offered[0][:-1])
    return [f"{sign}{key}" for key in offered]


def _config(parsed_args: argparse.Namespace) -> Any:
    """What overrides change: the composed config; None if there is none of that name."""
    from hydra import compose, initialize_config_dir
    from hydra.errors import HydraException

    name = getattr(parsed_args, "config_name", None) or "pacs"
    if "name" in parsed_args:
        name = next(iter(arms(parsed_args)), name)
    try:
        with initialize_config_dir(str(config_dir()), version_base=None):
            return compose(name)
    except HydraException:
        return None


def _keys_below(config: Any, parent: str) -> list[str]:
    """Keys of a section of the config, with "." where it is a section in turn, else with "="."""
    from omegaconf import DictConfig, OmegaConf

    section = OmegaConf.select(config, parent) if config is not None and parent else config
    if not isinstance(section, DictConfig):
        return []
    above = f"{parent}." if parent else ""
    return [f"{above}{key!s}{'.' if OmegaConf.is_dict(section._get_node(key)) else '='}" for key in section]
