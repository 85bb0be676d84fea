"""What keeps a parquet file from being one of problems in verl's schema, found without making a row an object."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pacs.rewards.registry import DEFAULT, VERIFIERS

#: Rows in memory at a time.
BATCH_ROWS = 1000


def schema_problems(file: Path, *, prompt: str = "prompt", graded: bool = True) -> Iterator[str]:
    """What is wrong with a file, a clause each that goes on from its name: "has no rows".

    Args:
        file: of problems.
        prompt: the column of the chat messages (verl's `data.prompt_key`).
        graded: the verifiers of `pacs.rewards` grade the responses: each row needs a right answer and the name of one
            of them (or none, for `math`).
    """
    try:
        parquet = pq.ParquetFile(file)
        wrong = list(column_problems(parquet.schema_arrow, prompt))
        if not wrong and parquet.metadata.num_rows == 0:
            wrong = ["has no rows"]
        yield from wrong or _row_problems(parquet, prompt, graded)
    except (pa.ArrowException, OSError) as error:
        why = " ".join(str(error).split()).rstrip(".")
        yield f"is not a parquet file in verl's schema ({why}); `pacs data prepare` makes one"


def column_problems(schema: pa.Schema, prompt: str) -> Iterator[str]:
    """What is wrong with the columns of a file, a clause each, as of `schema_problems`."""
    if missing := {prompt, "data_source", "reward_model"} - set(schema.names):
        yield f"is not in verl's schema: it lacks the columns {sorted(missing)}, and has {sorted(schema.names)}"
        return
    messages, reward = schema.field(prompt).type, schema.field("reward_model").type
    if not _has(getattr(messages, "value_type", None), "role", "content"):
        yield f"is not in verl's schema: its {prompt} is {messages}, and not a list of messages with role and content"
    if not _has(reward, "ground_truth"):
        yield f"is not in verl's schema: its reward_model is {reward}, and has no ground_truth"


def _has(kind: pa.DataType | None, *names: str) -> bool:
    return kind is not None and pa.types.is_struct(kind) and set(names) <= {field.name for field in kind}


def _row_problems(parquet: pq.ParquetFile, prompt: str, graded: bool) -> Iterator[str]:
    schema = parquet.schema_arrow
    columns = [prompt]
    if graded:
        columns.append("reward_model.ground_truth")
        if "extra_info" in schema.names and _has(schema.field("extra_info").type, "verifier"):
            columns.append("extra_info.verifier")
    empty: dict[str, list[int]] = {"prompt": [], "right answer (reward_model.ground_truth)": []}
    verifiers: dict[str, int] = {}  # each with the first row that names it
    start = 0
    for batch in parquet.iter_batches(BATCH_ROWS, columns=columns):
        found = [_without_prompt(batch.column(prompt))]
        if graded:
            found.append(_blank(pc.struct_field(batch.column("reward_model"), "ground_truth")))
        for rows, blank in zip(empty.values(), found, strict=False):
            rows += (start + np.flatnonzero(blank)).tolist()
        if len(columns) > 2:
            for row, name in enumerate(pc.struct_field(batch.column("extra_info"), "verifier").to_pylist(), start):
                verifiers.setdefault(name or DEFAULT, row)
        start += len(batch)
    for what, rows in empty.items():
        if rows:
            more = f" and {len(rows) - 1:,} more" if len(rows) > 1 else ""
            yield f"has no {what} in row {rows[0]}{more} of {start:,}: leave such rows out of the file"
    for name, row in verifiers.items():
        if name not in VERIFIERS:
            yield f"names the verifier {name} in row {row}; there are {', '.join(VERIFIERS)}"


def _without_prompt(messages: pa.Array) -> npt.NDArray[np.bool_]:
    """(rows,) no message of the row's says anything."""
    said = ~_blank(pc.struct_field(pc.list_flatten(messages), "content"))
    without = np.ones(len(messages), bool)
    without[pc.list_parent_indices(messages).to_numpy()[said]] = False
    return without


def _blank(values: pa.Array) -> npt.NDArray[np.bool_]:
    """(rows,) null, or a text of spaces alone."""
    blank = np.array(values.is_null())
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        blank |= np.array(pc.equal(pc.utf8_trim_whitespace(pc.fill_null(values, "")), ""))
    return blank
