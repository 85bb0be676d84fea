"""Where runs begin: the start of a task, made where it is not there yet, and the digest of what is in it."""

import hashlib
import importlib
import json
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
from safetensors.torch import load_file

from pacs.base.errors import UserError
from pacs.base.locks import held

FOLDER = Path("outputs/laboratory/starts")
RECIPES = Path(__file__).parents[1]


@cache
def start_of(task: str, seed: int, folder: Path = FOLDER) -> Path:
    """The folder of a task's start, made if it is not there; looked at once in a process.

    Raises:
        UserError: there is no such task, or another process is making the start.
    """
    out = folder / f"{task}-{seed}"
    beside = folder / f".{task}-{seed}"
    with held(beside, str(beside), "another that makes the same start", "try again when it is made"):
        _make(task, out, seed)
    return out


def _make(task: str, out: Path, seed: int) -> None:
    if not (RECIPES / task / "make.py").exists():
        raise UserError(f"there is no task {task}: a task is a folder recipes/{task} with make.py and problems.py")
    problems = importlib.import_module(f"recipes.{task}.problems")
    if hasattr(problems, "TASK"):
        from recipes.starts.make import make

        make(problems.TASK, out, seed)
    else:  # the quickstart's, which has a warm start of its own kind
        importlib.import_module(f"recipes.{task}.make").make(out, seed)


@cache
def start_digest(start: Path) -> str:
    """16 hexadecimal digits of a start's weights and problems: of what they are, not of how the files hold them."""
    known = hashlib.sha256()
    for name, weights in sorted(load_file(start / "model" / "model.safetensors").items()):
        known.update(f"{name} {tuple(weights.shape)} ".encode() + weights.float().numpy().tobytes())
    for file in sorted(start.glob("*.parquet")):
        rows = pq.read_table(file).to_pylist()
        known.update(f"{file.name} {json.dumps(rows, sort_keys=True)}".encode())
    return known.hexdigest()[:16]
