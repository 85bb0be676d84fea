"""Hydra's overrides: the options of a group, or the keys of one more level of the composed config."""

import argparse
from typing import Any

from pacs.base.paths import config_dir
from pacs.completion.choices import arms

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
