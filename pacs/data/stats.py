"""What a person wants to know of prepared problems."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pacs.base.errors import UserError
from pacs.base.tables import Table, format_table
from pacs.base.terminal import columns
from pacs.data.chat_template import Template
from pacs.data.filters import normalised
from pacs.data.schema import column_problems

QUANTILES = {"min": 0.0, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95, "max": 1.0}
#: Of verl's schema; `extra_info` may be missing.
COLUMNS = ("data_source", "prompt", "reward_model")
MOST_COMMON = 5
#: Of a gold answer, printed.
GOLD_CHARS = 60
#: Read at a time: a row may have megabytes of tests.
BATCH_ROWS = 100

#: Kind of answer -> what it is the whole of; the first that fits.
KINDS = {
    "integer": r"[+-]?(\d+|\d{1,3}((,|\{,\}|,\\!)\d{3})+)",
    "decimal": r"[+-]?\d*\.\d+",
    "fraction": r"[+-]?(\d+/\d+|\\[dt]?frac\s*(\{-?\d+\}|\d)\s*(\{-?\d+\}|\d))",
    "text": r"\\(text|textbf|mbox)\{[^{}]*\}|[A-Za-z](?=[A-Z]*[a-z' -])[A-Za-z' -]*",
}

#: Of verifiers whose ground truth is no answer: what it is.
OTHER_KINDS = {"multiple_choice": "choice", "code": "tests", "countdown": "target"}


def read_rows(path: Path, batch_rows: int = BATCH_ROWS) -> Iterator[dict[str, Any]]:
    """The rows of a parquet file in verl's schema, or of all in a folder.

    Args:
        path: the file or the folder.
        batch_rows: how many are in memory.

    Raises:
        UserError: If there is no such file, or it is not in verl's schema.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not files[0].is_file():
        raise UserError(f"{path}: no such file, or no .parquet in this folder; `pacs data prepare` makes them")
    for file in files:
        try:
            parquet = pq.ParquetFile(file)
            for problem in column_problems(parquet.schema_arrow, "prompt"):
                raise UserError(f"{file} {problem}")
            batches = parquet.iter_batches(batch_rows, columns=[*COLUMNS, "extra_info"])
            for number, row in enumerate(row for batch in batches for row in batch.to_pylist()):
                if not row["prompt"] or any(message["content"] is None for message in row["prompt"]):
                    raise UserError(f"{file} has no prompt in row {number}: leave such rows out of the file")
                if not all(isinstance(message["content"], str) for message in row["prompt"]):
                    raise UserError(f"{file} has a message that is no text in row {number}, and is not shown")
                if row["reward_model"] is None:
                    raise UserError(f"{file} has no reward_model in row {number}: leave such rows out of the file")
                yield row
        except (pa.ArrowException, OSError) as error:
            why = " ".join(str(error).split())
            raise UserError(
                f"{file} cannot be read as parquet ({why}); `pacs data prepare` makes such files"
            ) from error


def kind_of(gold: str, verifier: str | None) -> str:
    """`choice`, `tests`, `target`, `integer`, `decimal`, `fraction`, `text`, or else `expression`."""
    if verifier in OTHER_KINDS:
        return OTHER_KINDS[verifier]
    return next((kind for kind, pattern in KINDS.items() if re.fullmatch(pattern, gold)), "expression")


@dataclass
class _Facts:
    """What is remembered of the problems of one data source."""

    questions: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    characters: list[int] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    difficulty: list[float] = field(default_factory=list)


def statistics(rows: Iterable[dict[str, Any]], template: Template | None) -> str:
    """Tables of the problems by data source, of lengths and difficulty; and the most common answers.

    Raises:
        UserError: If there are no rows.
    """
    sources: dict[str, _Facts] = {}
    golds: Counter[str] = Counter()
    for row in rows:
        facts = sources.setdefault(row["data_source"], _Facts())
        info, gold = row.get("extra_info") or {}, str(row["reward_model"]["ground_truth"])
        facts.questions[hash(normalised(row["prompt"][-1]["content"]))] += 1
        facts.kinds[kind_of(gold, info.get("verifier"))] += 1
        facts.characters.append(sum(len(message["content"]) for message in row["prompt"]))
        facts.tokens += template.lengths([row["prompt"]]) if template else []
        facts.difficulty += [info["difficulty"]] if isinstance(info.get("difficulty"), int | float) else []
        golds[shorten(gold)] += 1
    if not sources:
        raise UserError("there are no rows")
    counts: Table = {
        name: {
            "problems": facts.questions.total(),
            "duplicates": facts.questions.total() - len(facts.questions),
            **dict(facts.kinds.most_common()),
        }
        for name, facts in sources.items()
    }
    spread: Table = {
        f"{name}: {what}": dict(zip(QUANTILES, np.quantile(values, list(QUANTILES.values())).tolist(), strict=True))
        for name, facts in sources.items()
        for what, values in (
            ("prompt, characters", facts.characters),
            ("prompt, tokens", facts.tokens),
            ("difficulty", facts.difficulty),
        )
        if values
    }
    common = [f"  {count:,} x {gold}" for gold, count in golds.most_common(MOST_COMMON)]
    tables = [format_table(counts, corner="data source", width=columns()), "", format_table(spread, width=columns())]
    return "\n".join([*tables, "", "most common answers:", *common])


def shorten(text: str) -> str:
    """A long text's beginning, on one line."""
    line = " ".join(text[: 2 * GOLD_CHARS].split())
    return line if len(text) <= GOLD_CHARS else f"{line[:GOLD_CHARS]}… ({len(text):,} characters)"
