"""What a person wants to know of prepared problems."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pacs.data.errors import DataError
from pacs.data.filters import normalised
from pacs.data.template import Template
from pacs.report.table import Table, format_table

QUANTILES = {"min": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "max": 1.0}
COLUMNS = ("data_source", "prompt", "reward_model", "extra_info")
MOST_COMMON = 5
#: Of a gold answer, printed.
GOLD_CHARS = 60

#: Kind of answer -> what it is the whole of; the first that fits.
KINDS = {
    "integer": r"[+-]?\d{1,3}((,|\{,\})?\d{3})*|[+-]?\d+",
    "decimal": r"[+-]?\d*\.\d+",
    "fraction": r"[+-]?(\d+/\d+|\\[dt]?frac\s*(\{-?\d+\}|\d)\s*(\{-?\d+\}|\d))",
    "text": r"\\(text|textbf|mbox)\{[^{}]*\}|[A-Za-z][A-Za-z' -]*[a-z' -][A-Za-z' -]*",
}


def find_files(path: Path) -> list[Path]:
    """The parquet files that a path means: itself, or those in its folder.

    Raises:
        DataError: If there is none.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise DataError(f"{path}: no such file, or no .parquet in this folder; `pacs data prepare` makes them")
    return files


def read_rows(path: Path, limit: int | None = None) -> list[dict[str, Any]]:
    """The rows of a parquet file in verl's schema, or of all in a folder.

    Args:
        path: the file or the folder.
        limit: the first rows only.

    Raises:
        DataError: If there is no such file, or it is not in verl's schema.
    """
    rows: list[dict[str, Any]] = []
    for file in find_files(path):
        try:
            for batch in pq.ParquetFile(file).iter_batches(columns=list(COLUMNS)):
                rows += batch.to_pylist()
                if limit is not None and len(rows) >= limit:
                    return rows[:limit]
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{file} is not a parquet file: {error}") from error
        if rows and any(name not in rows[-1] for name in COLUMNS):
            missing = [name for name in COLUMNS if name not in rows[-1]]
            raise DataError(f"{file} is not in verl's schema: it has no column {', '.join(missing)}")
    return rows


def kind_of(gold: str, verifier: str | None) -> str:
    """`choice`, `tests`, `integer`, `decimal`, `fraction`, `text`, or else `expression`."""
    if verifier in ("multiple_choice", "code"):
        return "choice" if verifier == "multiple_choice" else "tests"
    return next((kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, gold)), "expression")


def statistics(rows: Sequence[dict[str, Any]], template: Template | None) -> str:
    """Tables: by data source, of lengths and difficulty, of kinds of answers; and the most common answers."""
    by_source: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_source.setdefault(row["data_source"], []).append(row)
    sources: Table = {
        name: {"problems": len(group), "duplicates": _duplicates(group), **_kinds(group)}
        for name, group in by_source.items()
    }
    spread: dict[str, dict[str, float]] = {}
    for name, group in by_source.items():
        prompts = [row["prompt"] for row in group]
        spread[f"{name}: prompt, characters"] = _quantiles(
            sum(len(message["content"]) for message in messages) for messages in prompts
        )
        if template is not None:
            spread[f"{name}: prompt, tokens"] = _quantiles(template.lengths(prompts))
        difficulty = [row["extra_info"].get("difficulty") for row in group]
        spread[f"{name}: difficulty"] = _quantiles(value for value in difficulty if isinstance(value, int | float))
    common = Counter(row["reward_model"]["ground_truth"] for row in rows).most_common(MOST_COMMON)
    golds = [f"  {count:,} x {shorten(gold)}" for gold, count in common]
    return "\n".join(
        [
            format_table(sources, corner="data source"),
            "",
            format_table({name: row for name, row in spread.items() if row}, corner=""),
            "",
            "most common answers:",
            *golds,
        ]
    )


def shorten(text: str) -> str:
    """A long text's beginning, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= GOLD_CHARS else f"{line[:GOLD_CHARS]}… ({len(text):,} characters)"


def _duplicates(rows: Sequence[dict[str, Any]]) -> int:
    return len(rows) - len({normalised(row["prompt"][-1]["content"]) for row in rows})


def _kinds(rows: Sequence[dict[str, Any]]) -> dict[str, int]:
    kinds = Counter(kind_of(row["reward_model"]["ground_truth"], row["extra_info"].get("verifier")) for row in rows)
    return dict(kinds.most_common())


def _quantiles(values: Iterable[float]) -> dict[str, float]:
    known = np.fromiter(values, float)
    if not known.size:
        return {}
    return {name: float(np.quantile(known, share)) for name, share in QUANTILES.items()}
