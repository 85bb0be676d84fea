"""Digests of what decides a run: of its settings as JSON, and of the code that it is made of."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
#: Files of this folder that run and report; the others are the loop.
AROUND = (
    *("__init__.py", "__main__.py", "child.py", "compared.py", "critic.py", "described.py", "differences.py"),
    *(
        "figures.py",
        "frontiers.py",
        "plan.py",
        "progress.py",
        "question_file.py",
        "questions.py",
        "records.py",
        "report.py",
        "runner.py",
        "statistics.py",
        "summary.py",
        "tables.py",
    ),
)


def digest(value: Mapping[str, Any]) -> str:
    """16 hexadecimal digits of the SHA-256 of a JSON object, whatever the order of its keys.

    What is off (null, false, 0) counts as not there: a new setting that is off leaves the digests as they were.
    """
    return hashlib.sha256(json.dumps(_on(value), sort_keys=True, allow_nan=False).encode()).hexdigest()[:16]


def _on(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _on(each) for name, each in value.items() if each is not None and each != 0}
    return value


def code_digest() -> str:
    """12 hexadecimal digits of the code that decides a result beside the settings."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in code_files())).hexdigest()[:12]


def code_files() -> list[Path]:
    """The loop, the methods, the verifiers, and the tasks with their limits of a response."""
    outside = [file for folder in ("algorithm", "rewards") for file in sorted((ROOT / "pacs" / folder).rglob("*.py"))]
    recipes = ROOT / "recipes"
    tasks = [*sorted(recipes.glob("*/problems.py")), recipes / "arithmetic" / "measure.py"]
    tasks += [recipes / "code_repair" / name for name in ("calculated.py", "programs.py")]
    return [*loop_files(), *outside, *tasks, recipes / "starts" / "read.py"]


def loop_files() -> list[Path]:
    """The files of this folder that decide a result beside the settings."""
    return [file for file in sorted(Path(__file__).parent.glob("*.py")) if file.name not in AROUND]
