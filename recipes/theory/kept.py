"""Results that take minutes, as JSON that is committed: what was run, and a line a run."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.files import write_atomically


def read_runs(file: Path, settings: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """What was run: `settings`, and `runs`, of each of `names` a dict of runs, empty where there is none.

    Raises:
        UserError: it was run with other settings.
    """
    if not file.exists():
        return {"settings": settings, "runs": {name: {} for name in names}}
    kept: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if kept["settings"] != settings:
        raise UserError(f"{file} was run with other settings ({kept['settings']}): remove it to run anew")
    return kept | {"runs": {name: {} for name in names} | kept["runs"]}


def write_runs(file: Path, kept: dict[str, Any]) -> None:
    """Write it whole."""
    worlds = []
    for world, runs in kept["runs"].items():
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(run)}" for name, run in runs.items())
        worlds.append(f"{json.dumps(world)}: {{\n{lines}\n}}")
    text = f'{{"settings": {json.dumps(kept["settings"])},\n"runs": {{{", ".join(worlds)}}}}}\n'
    write_atomically(file, text)
