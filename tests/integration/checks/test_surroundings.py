"""Data files as a run finds them: several, too few, none of them what they are taken for."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import DictConfig

from pacs.composing import compose_run
from pacs.integration.checks.surroundings import expected_data, surroundings_problems


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two, of 40 rows each."""
    row = {"prompt": [{"role": "user", "content": "1+1"}], "data_source": "sums", "reward_model": {"style": "rule"}}
    made = [tmp_path / f"{i}.parquet" for i in range(2)]
    for file in made:
        pq.write_table(pa.Table.from_pylist([row] * 40), file)
    return made


def composed(train: list[Path], *overrides: str) -> DictConfig:
    named = ",".join(map(str, train))
    return compose_run("pacs", ["recipe=arithmetic", f"data.train_files=[{named}]", *overrides])[0]


def problems(config: DictConfig) -> list[str]:
    """Those of the training data."""
    return [problem for problem in surroundings_problems(config) if problem.startswith("data.train")]


def test_files_fill_a_batch_together(files: list[Path]) -> None:
    enough = f"data.val_files={files[0]}"
    assert problems(composed(files, enough)) == []
    assert "has 40 rows, fewer than data.train_batch_size=64" in problems(composed(files[:1], enough))[0]
    (few,) = problems(composed(files, enough, "data.train_max_samples=50"))
    assert few.startswith("data.train_max_samples=50, fewer than data.train_batch_size=64")


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    file = tmp_path / "data.jsonl"
    file.write_text('{"question": "1+1"}\n')
    config = composed([file])
    assert "not a parquet file" in expected_data(config)[1]
    (problem,) = problems(config)
    assert f"data.train_files={file}: not a parquet file" in problem
    assert "`pacs data prepare`" in problem
