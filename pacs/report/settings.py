"""A run's settings as one writes them on the command line, without its secrets: a report is made to be shown."""

import json
from collections.abc import Mapping
from typing import Any

from pacs.base.redaction import redacted


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A nested configuration as dotted keys, without what is secret."""
    flat: dict[str, str] = {}
    for name, value in redacted(config, prefix.rstrip(".")).items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and value:
            flat |= flatten(value, f"{key}.")
        else:
            flat[key] = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return flat


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
