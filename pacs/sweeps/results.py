"""results.json of a sweep, as a file: written, read, and what a run of it was trained with."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.moved_keys import new_key, with_new_names

FORMAT = "pacs sweep results, version 1"
#: What a run of a results.json has, at least.
NEEDED = {
    "name": str,
    "state": str,
    "command": list,
    "settings": dict,
    "total_steps": int,
    "measures": dict,
    "evaluation": dict,
    "curves": dict,
}
#: What one has of some versions alone.
LATER = {"inputs": dict}


def read(file: Path) -> dict[str, Any]:
    """The results in a file.

    Raises:
        UserError: it holds none.
    """
    try:
        results = json.loads(file.read_bytes(), object_pairs_hook=_with_new_names)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UserError(f"{file} is not JSON ({error}): give the results.json of a sweep") from error
    if not isinstance(results, dict) or results.get("format") != FORMAT or not _runs_are_whole(results.get("runs")):
        raise UserError(f"{file} has no results of a sweep: give the results.json that `pacs sweep` wrote")
    return results


def _with_new_names(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose settings, and those of a command, have today's names."""
    found = {new_key(key): value for key, value in pairs}
    if isinstance(command := found.get("command"), list) and all(isinstance(word, str) for word in command):
        found["command"], _ = with_new_names(command)
    return found


def _runs_are_whole(runs: Any) -> bool:
    return isinstance(runs, list) and all(
        isinstance(run, dict)
        and NEEDED.keys() <= run.keys()
        and all(isinstance(run[key], kind) for key, kind in (NEEDED | LATER).items() if key in run)
        for run in runs
    )


def as_text(results: Mapping[str, Any]) -> str:
    """The results as they are in their file."""
    return json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def share_config(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What the configs of all runs have alike, which is taken out of each."""
    first, *others = [run["config"] for run in found]
    common = {key: value for key, value in first.items() if all(key in each and each[key] == value for each in others)}
    for run in found:
        run["config"] = {key: value for key, value in run["config"].items() if key not in common}
    return common


def config_of(results: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any] | None:
    """What decides a run of some results (`algorithm_settings`); None: they are of a version that did not keep it."""
    parts = results.get("config"), run.get("config")
    return {**parts[0], **parts[1]} if isinstance(parts[0], dict) and isinstance(parts[1], dict) else None
