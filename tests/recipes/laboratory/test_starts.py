"""Starts: a digest of what they are, and one process at a time that makes one."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import save_file

from pacs.base.errors import UserError
from pacs.base.locks import locked
from recipes.laboratory.starts import start_digest, start_of

ROWS = [{"prompt": [{"role": "user", "content": f"{i}+1"}], "answer": i + 1} for i in range(5)]


def write(folder: Path, weight: float = 1.0, rows: list[dict[str, object]] = ROWS, how: str = "snappy") -> Path:
    (folder / "model").mkdir(parents=True)
    weights = {"b": torch.full((2,), weight), "a": torch.arange(3.0)}
    save_file(weights if how == "snappy" else dict(reversed(weights.items())), folder / "model" / "model.safetensors")
    pq.write_table(pa.Table.from_pylist(rows), folder / "train.parquet", compression=how)
    return folder


def test_the_digest_is_of_weights_and_problems_and_not_of_how_they_are_held(tmp_path: Path) -> None:
    one = start_digest(write(tmp_path / "one"))
    assert start_digest(write(tmp_path / "gzip", how="gzip")) == one
    assert start_digest(write(tmp_path / "weight", weight=1.0001)) != one
    assert start_digest(write(tmp_path / "rows", rows=ROWS[:4])) != one
    assert start_digest(write(tmp_path / "order", rows=ROWS[::-1])) != one


def test_a_task_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="there is no task chess: a task is a folder recipes/chess"):
        start_of("chess", 0, tmp_path)


def test_a_start_that_is_being_made_is_left_alone(tmp_path: Path) -> None:
    with (
        locked(tmp_path / ".countdown-0"),
        pytest.raises(
            UserError, match=r"countdown-0: another that makes the same start .*: stop it, or try again when"
        ),
    ):
        start_of("countdown", 0, tmp_path)
