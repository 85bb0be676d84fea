"""Sentences of the checks, in which settings are named in short and spelled out here.

`@rollout.n` stands for the setting's full name, `@rollout.n=` for its name and value as one writes them.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec

from omegaconf import DictConfig, OmegaConf

from pacs.verl_keys.algorithm_changes import plain

#: Sections by their short names; other names begin as they are.
SECTIONS = {name: f"actor_rollout_ref.{name}" for name in ("actor", "rollout", "ref", "model")}
# An equals sign with a value behind it is the sentence's own: `set @rollout.n=8`.
_NAMED = re.compile(r"(?<![\w.])@([a-z]\w*(?:\.\w+)+)(=(?![\w$\[{(\-+]|\.\d))?")

P = ParamSpec("P")


def spelled(check: Callable[P, Iterator[str]]) -> Callable[P, Iterator[str]]:
    """A check, whose first argument is the config, with the settings in its sentences spelled out."""

    @wraps(check)
    def problems(*args: P.args, **options: P.kwargs) -> Iterator[str]:
        config = args[0]
        assert isinstance(config, DictConfig)
        return (spell(sentence, config) for sentence in check(*args, **options))

    return problems


def spell(sentence: str, config: DictConfig) -> str:
    """A sentence with full names, and the values that a config has."""

    def full(found: re.Match[str]) -> str:
        key = full_name(found[1])
        return f"{key}={written(OmegaConf.select(config, key))}" if found[2] else key

    return _NAMED.sub(full, sentence)


def full_name(name: str) -> str:
    """`actor_rollout_ref.rollout.n` of `rollout.n`."""
    section, _, setting = name.partition(".")
    return f"{SECTIONS.get(section, section)}.{setting}"


def written(value: Any) -> str:
    """A value as one writes it on the command line."""
    if OmegaConf.is_config(value):
        value = OmegaConf.to_container(value, resolve=True)
    return json.dumps(value, default=str) if value is None or isinstance(value, bool) else str(value)


def resolved(config: DictConfig) -> DictConfig:
    """The same with its references filled in: each is parsed once, and not by each check that reads it.

    A text that would be read as a reference then (`\\${...}`, escaped) leaves the config as it is.
    """
    values = plain(config)
    if "${" in str(values):
        return config
    filled: DictConfig = OmegaConf.create(dict(values))
    OmegaConf.set_struct(filled, True)
    return filled
