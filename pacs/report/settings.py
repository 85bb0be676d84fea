"""A run's settings as one writes them on the command line, without its secrets: a report is made to be shown."""

import json
import re
from collections.abc import Mapping
from typing import Any

SECRET = re.compile(r"(?i)(api_?key|secret|passw(or)?d|credential|(^|[._])(hf|hub|wandb|auth|access)_?token$)")
BLANK = "(not shown)"


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A nested configuration as dotted keys; secrets blanked."""
    flat: dict[str, str] = {}
    for name, value in config.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{key}.")
        elif SECRET.search(key) and value not in (None, ""):
            flat[key] = BLANK
        else:
            flat[key] = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return flat


def blank_secret(word: str) -> str:
    """A word of a command line, its value blanked if its key is that of a secret."""
    key, equals, _ = word.partition("=")
    return f"{key}={BLANK}" if equals and SECRET.search(key) else word


def differing(settings: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str | None]]:
    """The settings that are not the same for all.

    Args:
        settings: who -> setting -> value.

    Returns:
        Setting -> who -> value, None where one lacks it.
    """
    keys = dict.fromkeys(key for own in settings.values() for key in own)
    table = {key: {who: own.get(key) for who, own in settings.items()} for key in keys}
    return {key: row for key, row in table.items() if len(set(row.values())) > 1}
