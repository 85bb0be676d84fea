"""Sentences of the checks, in which settings are named in short and spelled out here.

`@rollout.n` stands for the setting's full name, `@rollout.n=` for its name and value as one writes them.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from omegaconf import DictConfig, OmegaConf

#: Sections by their short names; other names begin as they are.
SECTIONS = {name: f"actor_rollout_ref.{name}" for name in ("actor", "rollout", "ref", "model")}
# An equals sign with a value behind it is the sentence's own: `set @rollout.n=8`.
_NAMED = re.compile(r"(?<![\w.])@([a-z]\w*(?:\.\w+)+)(=(?![\w$\[{(.\-+]))?")

Check = Callable[[DictConfig], Iterator[str]]


def spelled(check: Check) -> Check:
    """A check with the settings in its sentences spelled out."""

    @wraps(check)
    def problems(config: DictConfig) -> Iterator[str]:
        return (spell(sentence, config) for sentence in check(config))

    return problems


def spell(sentence: str, config: DictConfig) -> str:
    """A sentence with full names, and the values that a config has."""

    def full(found: re.Match[str]) -> str:
        key = full_name(found[1])
        return f"{key}={written(OmegaConf.select(config, key))}" if found[2] else key

    return _NAMED.sub(full, sentence)


def full_name(name: str) -> str:
    """`actor_rollout_ref.rollout.n` of `rollout.n`."""
    section, _, rest = name.partition(".")
    return f"{SECTIONS.get(section, section)}.{rest}"


def written(value: Any) -> str:
    """A value as one writes it on the command line."""
    if OmegaConf.is_config(value):
        value = OmegaConf.to_container(value, resolve=True)
    return json.dumps(value, default=str) if value is None or isinstance(value, bool) else str(value)


def in_a_line(error: BaseException, most: int | None = None) -> str:
    """What an error says, on one line."""
    return " ".join(str(error).split())[:most]
