"""Problems held out for a critic's first traces."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pacs.base.errors import UserError
from recipes.genac_qwen3_8b.held_out import divide


def test_every_problem_is_in_one_of_the_two_files(tmp_path: Path) -> None:
    source = tmp_path / "train.parquet"
    pq.write_table(pa.table({"id": range(50)}), source)
    drawn = []
    for seed in (0, 0, 1):
        divide(source, 8, tmp_path / "out", seed)
        train, held = (pq.read_table(tmp_path / f"out/{name}.parquet")["id"].to_pylist() for name in ("train", "held"))
        assert len(held) == 8
        assert sorted(train + held) == list(range(50))
        assert (train, held) == (sorted(train), sorted(held))
        drawn.append(held)
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_set_itself_is_not_written_over(tmp_path: Path) -> None:
    source = tmp_path / "train.parquet"
    pq.write_table(pa.table({"id": range(50)}), source)
    with pytest.raises(UserError, match=r"train\.parquet would be written over: give another folder"):
        divide(source, 8, tmp_path / "new" / "..", 0)
    assert pq.read_table(source).num_rows == 50


def test_a_set_that_is_too_small_or_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no such file: prepare it first"):
        divide(tmp_path / "train.parquet", 1, tmp_path / "out", 0)
    pq.write_table(pa.table({"id": range(3)}), tmp_path / "train.parquet")
    with pytest.raises(UserError, match=r"--problems 3: .* has 3"):
        divide(tmp_path / "train.parquet", 3, tmp_path / "out", 0)
    assert not (tmp_path / "out").exists()
