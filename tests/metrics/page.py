"""The keys that docs/metrics.md has a row for, ours and verl's."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
#: What is before the tables of the metrics, and their lines, which name keys in the first cell; a glob is a family.
BEFORE, _, TABLES = PAGE.read_text(encoding="utf-8").partition("### The loss\n")
ROWS = [line for line in TABLES.splitlines() if line.startswith("`")]
KEYS = [key for row in ROWS for key in re.findall("`([^`]+)`", row.split(" | ")[0])]


def find(key: str) -> str | None:
    """The name under which a key is documented: its own, else the first glob that matches it."""
    return next((name for name in (key, *KEYS) if name in KEYS and fnmatchcase(key, name)), None)
