"""results.json of a sweep, as a file: written, read, and what a run of it was trained with."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pacs.base.errors import UserError
from pacs.base.moved_keys import new_key, with_new_names

FORMAT = "pacs sweep results, version 1"
_TEXT_OR_NULL: Final = (str, type(None))
#: What a results.json has, at least, and what each of its settings and runs.
NEEDED: Final = {
    "sweep": str,
    "description": str,
    "command": list,
    "recipe": str,
    "model": _TEXT_OR_NULL,
    "data": dict,
    "intervals": dict,
    "settings": list,
    "runs": list,
}
OF_A_SETTING: Final = {"label": str, "runs": list, "finished": list, "measures": dict}
OF_A_RUN: Final = {
    "name": str,
    "label": str,
    "folder": str,
    "state": str,
    "command": list,
    "settings": dict,
    "step": int,
    "total_steps": int,
    "versions": dict,
    "measures": dict,
    "evaluation": dict,
    "curves": dict,
} | dict.fromkeys(("cause", "evaluation_problem", "started", "host", "git_commit", "python"), _TEXT_OR_NULL)
_NUMBER: Final = (int, float)
_NUMBER_OR_NULL: Final = (int, float, type(None))
#: What a measure of a setting has, and one of a run.
OF_A_RUNS_MEASURE: Final = {"mean": _NUMBER, "low": _NUMBER_OR_NULL, "high": _NUMBER_OR_NULL}
OF_A_MEASURE: Final = OF_A_RUNS_MEASURE | {"n": int, "interval": _TEXT_OR_NULL}
#: What a run has of some versions alone.
LATER: Final = {"inputs": dict}


def read(file: Path) -> dict[str, Any]:
    """The results in a file.

    Raises:
        UserError: it holds none.
    """
    try:
        results: dict[str, Any] = json.loads(file.read_bytes(), object_pairs_hook=_with_new_names)
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{file} is not JSON ({error}): give the results.json of a sweep") from error
    if not _has(results, NEEDED) or results.get("format") != FORMAT or not _is_whole(results):
        raise UserError(f"{file} has no results of a sweep: give the results.json that `pacs sweep` wrote")
    return results


def _with_new_names(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose settings, and those of a command, have today's names."""
    found = {new_key(key): value for key, value in pairs}
    if isinstance(command := found.get("command"), list) and all(isinstance(word, str) for word in command):
        found["command"], _ = with_new_names(command)
    return found


def _is_whole(results: Mapping[str, Any]) -> bool:
    return all(map(_is_setting, results["settings"])) and all(map(_is_run, results["runs"]))


def _is_setting(setting: Any) -> bool:
    return _has(setting, OF_A_SETTING) and all(_has(each, OF_A_MEASURE) for each in setting["measures"].values())


def _is_run(run: Any) -> bool:
    return (
        isinstance(run, dict)
        and _has(run, OF_A_RUN | {key: kind for key, kind in LATER.items() if key in run})
        and all(_has(measure, OF_A_RUNS_MEASURE) for measure in run["measures"].values())
        and all(isinstance(curve, list) and all(map(_is_point, curve)) for curve in run["curves"].values())
    )


def _is_point(point: Any) -> bool:
    return isinstance(point, list) and len(point) == 2 and all(isinstance(each, _NUMBER) for each in point)


def _has(value: Any, needed: Mapping[str, Any]) -> bool:
    return isinstance(value, dict) and all(key in value and isinstance(value[key], needed[key]) for key in needed)


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
