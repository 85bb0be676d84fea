"""Records of stages, one JSON object a line: what was run, and what came out."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pacs.base.commit import git_commit
from pacs.base.files import read_lines
from recipes.genac_arithmetic import start, teaching
from recipes.genac_arithmetic.sizes import Sizes
from recipes.laboratory.digests import digest
from recipes.laboratory.records import append, machine

FILE = Path(__file__).with_name("results.jsonl")
#: Weights of critics, by the key of the stage that made them.
WEIGHTS = Path("outputs/genac_arithmetic")
NEEDED = ("stage", "seed", "sizes", "start", "result", "date")


def start_digest() -> str:
    """16 hexadecimal digits of the kept weights that are there: the actor's, and the critic's after SFT."""
    files = [file for file in (start.KEPT, teaching.KEPT) if file.exists()]
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def key_of(stage: str, seed: int, sizes: Sizes) -> str:
    """The digest of all that decides a stage but the code."""
    return digest({"run": {"stage": stage, "seed": seed + 1, "sizes": sizes.asked(stage)}, "start": start_digest()})


def read(file: Path = FILE) -> dict[str, dict[str, Any]]:
    """Key -> record; of two with one key the last.

    Raises:
        UserError: a line is no record.
    """
    lines = read_lines(file, _checked, "remove it, and the same command makes up for it") if file.exists() else ()
    return {record["key"]: record for record in lines}


def keep(file: Path, stage: str, seed: int, sizes: Sizes, result: Mapping[str, Any]) -> dict[str, Any]:
    """Add a stage's record to the file, and return it."""
    record = {
        "key": key_of(stage, seed, sizes),
        "stage": stage,
        "seed": seed,
        "sizes": sizes.asked(stage),
        "start": start_digest(),
        "result": rounded(result),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "commit": git_commit(),
    }
    append(file, record)
    return record


def rounded(value: Any) -> Any:
    """With five significant digits."""
    if isinstance(value, Mapping):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def _checked(record: dict[str, Any]) -> dict[str, Any]:
    if missing := [name for name in ("key", *NEEDED) if name not in record]:
        raise ValueError(f"it has no {missing[0]}")
    return record
