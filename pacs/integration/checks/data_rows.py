"""One look at rows of the data, before anything is started: can what they ask for, and hold as right, be graded?

What is wrong with most rows of a file is refused; what is wrong with some is said, with their number. Files that verl
cannot read as one data set, with columns of other types in one than in another, are refused.
"""

import random
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from omegaconf import DictConfig

from pacs.data.schema import BATCH_ROWS
from pacs.integration.checks.grading import Asked, Grading, unreadable_golds
from pacs.integration.checks.prompts import turn_problems
from pacs.rewards.registry import DEFAULT, PATH
from pacs.verl_keys.algorithm_changes import plain


def unite_problems(key: str, files: Sequence[Path]) -> Iterator[str]:
    """Columns that `datasets`, by which verl reads several files, does not unite; a sentence each with the mend.

    It is asked itself, of the first row of each file.

    Args:
        key: the setting that names the files.
        files: in verl's schema, each with a row.
    """
    rows = [pa.Table.from_batches([next(pq.ParquetFile(file).iter_batches(1))]) for file in files]
    for i, file in enumerate(files):
        apart = ((files[j], each) for j in range(i) for each in _differences(rows[j], rows[i]))
        for other, (column, there, here) in apart:
            yield (
                f"{key}={file} has {column} of the type {here}, and {other} of {there}: verl reads all files as one, "
                "for which they must agree. Write one of them anew with the type of the other."
            )
            break


def _differences(one: pa.Table, other: pa.Table) -> Iterator[tuple[str, pa.DataType, pa.DataType]]:
    """The columns that do not unite, in this order, with fields of structs by their paths, and the two types."""
    if _unites(one, other):
        return
    for name in sorted(set(one.column_names) & set(other.column_names)):
        parts = one.select([name]), other.select([name])
        if _unites(*parts):
            continue
        kinds = one.schema.field(name).type, other.schema.field(name).type
        inner = []
        if all(map(pa.types.is_struct, kinds)):
            inner = list(_differences(*(part.flatten() for part in parts)))
        yield from inner or [(name, *kinds)]


def _unites(one: pa.Table, other: pa.Table) -> bool:
    import datasets
    from datasets.table import InMemoryTable, table_cast

    read = []
    with suppress(Exception):  # of several kinds, AttributeError among them: verl would end with it
        for table in (one, other):
            schema = datasets.Features.from_arrow_schema(table.schema).arrow_schema
            read.append(datasets.Dataset(InMemoryTable(table_cast(table, schema))))
        datasets.concatenate_datasets(read)
        return True
    return False


#: Rows of a file that are looked at, and their bytes, uncompressed.
MOST_ROWS: Final = 5000
MOST_BYTES: Final = 2**27
#: Of a text in an error.
SHOWN_CHARS: Final = 60

Note = Callable[[str], object]


class Row(NamedTuple):
    """What is looked at of a row.

    Attributes:
        number: in the file, from 0.
        messages: the prompt's.
        verifier: that grades it.
        gold: its right answer.
        extra_info: what of it verifiers read.
    """

    number: int
    messages: list[dict[str, Any]]
    verifier: str
    gold: Any
    extra_info: dict[str, Any]

    @property
    def asked(self) -> str:
        """All that is said to the model."""
        return "\n".join(str(each["content"]) for each in self.messages if each["role"] != "assistant")


def row_problems(config: DictConfig, files: Sequence[tuple[str, Path]], note: Note) -> Iterator[str]:
    """What is wrong with most rows of a file, a sentence each with the setting and the mend; the rest goes to `note`.

    Args:
        config: of the run.
        files: its data, in verl's schema, each with the setting that names it.
        note: takes a sentence.
    """
    if (config.data.get("custom_cls") or {}).get("path") is not None:
        return  # a data set of its own makes the prompts
    reward = config.reward.custom_reward_function
    grading = Grading(plain(reward.get("reward_kwargs") or {})) if reward.path == PATH else None
    for key, file in files:
        yield from _Look(f"{key}={file}", file, config.data.prompt_key, note).problems(config, grading, key)


class _Look:
    """At one file."""

    def __init__(self, name: str, file: Path, prompt: str, note: Note) -> None:
        self.name, self.note = name, note
        self.rows, self.total = read_rows(file, prompt)

    def problems(self, config: DictConfig, grading: Grading | None, key: str) -> Iterator[str]:
        for what, mend, numbers in turn_problems(config, [(row.number, row.messages) for row in self.rows]):
            yield from self._said(numbers, what, mend)
        if key == "data.train_files":
            self._note_copies()
        if grading is None:
            return
        if not self.rows or isinstance(self.rows[0].gold, list | dict):
            yield from self._nested_golds()
            return
        for verifier in dict.fromkeys(row.verifier for row in self.rows):
            rows = [row for row in self.rows if row.verifier == verifier]
            bad = unreadable_golds(grading, verifier, [(row.gold, row.extra_info) for row in rows])
            golds = [(row, why) for row, why in zip(rows, bad, strict=True) if why is not None]
            examples = "; ".join(f'"{shorten(row.gold)}" (row {row.number}): {why}' for row, why in golds[:3])
            yield from self._said(
                [row.number for row, _ in golds],
                f"has right answers that {verifier} cannot grade by",
                f"{examples}. Mend them, or leave such rows out, as `pacs data prepare` does",
            )
            yield from self._forms(grading, verifier, rows, {row.number for row, _ in golds})

    def _forms(self, grading: Grading, verifier: str, rows: Sequence[Row], bad: Container[int]) -> Iterator[str]:
        unread: dict[tuple[str, str], list[tuple[Row, Asked]]] = {}
        silent = []
        for row in rows:
            gold = ("A" if verifier == "multiple_choice" else "7") if row.number in bad else row.gold
            found = grading.ask(verifier, row.asked, gold, row.extra_info)
            if found is None:
                silent.append(row.number)
            elif not found.read:
                unread.setdefault((found.form, found.mend), []).append((row, found))
        share = sum(map(len, unread.values()))
        for (form, mend), cases in unread.items():
            said = {f'"{shorten(found.response)}" is graded {found.status}': row.number for row, found in cases[::-1]}
            examples = "; ".join(f"{what} (row {number})" for what, number in list(said.items())[:-4:-1])
            yield from self._said(
                [row.number for row, _ in cases],
                f"asks for a form of answer that {verifier} does not read",
                f"`{form}`; {examples}. {mend}",
                share,
            )
        if silent:
            reads = f"{verifier} reads {grading.reads(verifier)} alone"
            mend = "`pacs data prepare` ends each question with the asking; leave it if the model answers so by itself"
            self.note(f"{self.name} asks for no form of answer in {self._of(silent)}: {reads}. {mend}.")

    def _nested_golds(self) -> Iterator[str]:
        examples = "; ".join(f"{shorten(row.gold)} (row {row.number})" for row in self.rows[:3])
        yield from self._said(
            [row.number for row in self.rows],
            f"has a {'list' if isinstance(self.rows[0].gold, list) else 'struct'} for a right answer",
            f"{examples}: our verifiers compare with one text (reward_model.ground_truth). Write it as text, JSON for "
            "countdown and code, or grade by a function of your own (reward.custom_reward_function.path)",
        )

    def _note_copies(self) -> None:
        asked: dict[str, list[int]] = {}
        for row in self.rows:
            asked.setdefault(repr(row.messages), []).append(row.number)
        if copies := [number for numbers in asked.values() for number in numbers[1:]]:
            most = max(asked.values(), key=len)
            self.note(
                f"{self.name} asks again what another row asks in {self._of(copies)}: the prompt of row {most[0]} "
                f"stands there {len(most)} times. An epoch has each of them; `pacs data prepare` drops copies."
            )

    def _said(self, numbers: Sequence[int], what: str, mend: str, share: int | None = None) -> Iterator[str]:
        """A sentence about rows, if there are any: a problem if they, or those that `share` counts, are most."""
        if not numbers:
            return
        sentence = f"{self.name} {what} in {self._of(numbers)}: {mend}."
        if 2 * (share or len(numbers)) >= len(self.rows):
            yield sentence
        else:
            self.note(sentence)

    def _of(self, numbers: Sequence[int]) -> str:
        looked = f"{len(numbers):,} of {len(self.rows):,} rows"
        return looked if len(self.rows) == self.total else f"{looked} looked at, of {self.total:,}"


def read_rows(file: Path, prompt: str) -> tuple[list[Row], int]:
    """Rows at random places of a file, the same ones each time, as many as `MOST_ROWS` and `MOST_BYTES` allow; and how
    many there are."""
    parquet = pq.ParquetFile(file)
    schema, total = parquet.schema_arrow, parquet.metadata.num_rows
    size = sum(parquet.metadata.row_group(i).total_byte_size for i in range(parquet.num_row_groups))
    count = min(total, MOST_ROWS, max(100, MOST_BYTES * total // max(size, 1)))
    wanted = np.array(sorted(random.Random(0).sample(range(total), count)))
    columns = [prompt, "reward_model.ground_truth"]
    extra = schema.field("extra_info").type if "extra_info" in schema.names else None
    if extra is not None and pa.types.is_struct(extra):
        columns += [f"extra_info.{name}" for name in ("verifier", "choices") if extra.get_field_index(name) >= 0]
    rows: list[Row] = []
    start = 0
    for batch in parquet.iter_batches(BATCH_ROWS, columns=columns):
        here = wanted[(wanted >= start) & (wanted < start + len(batch))]
        for number, row in zip(here.tolist(), batch.take(pa.array(here - start)).to_pylist(), strict=True):
            extra_info = row.get("extra_info") or {}
            verifier = extra_info.get("verifier") or DEFAULT
            rows.append(Row(number, row[prompt], verifier, row["reward_model"]["ground_truth"], extra_info))
        start += len(batch)
    return rows, total


def shorten(text: object) -> str:
    """The beginning of a text, on one line."""
    line = str(text).replace("\n", "\\n")
    return line if len(line) <= SHOWN_CHARS else f"{line[:SHOWN_CHARS]}..."
