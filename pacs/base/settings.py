"""Settings by their full names, as one writes them on the command line."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pacs.base.redaction import redacted


def flatten(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of nested settings by their dotted keys. A list is a leaf, an empty section is none."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        flat |= flatten(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat


def shown(config: Mapping[str, Any]) -> dict[str, str]:
    """Nested settings as text by their dotted keys, without what is secret."""
    return {
        key: value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
        for key, value in flatten(redacted(config)).items()
    }


def short_names(keys: Iterable[str]) -> dict[str, str]:
    """Each key -> its last part, where that is no other's."""
    last = {key: key.lstrip("+").rsplit(".", 1)[-1] for key in keys}
    count = Counter(last.values())
    return {key: name if count[name] == 1 else key for key, name in last.items()}


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
