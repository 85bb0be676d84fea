"""Data files as a run finds them: several, too few, none of them what they are taken for; models without a network."""

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import DictConfig

from pacs.composing import compose_run
from pacs.integration.checks.machine import expected_data, surroundings_problems


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two, of 40 rows each."""
    prompt, gold = [{"role": "user", "content": "1+1"}], {"style": "rule", "ground_truth": "2"}
    row = {"prompt": prompt, "data_source": "sums", "reward_model": gold}
    made = [tmp_path / f"{i}.parquet" for i in range(2)]
    for file in made:
        pq.write_table(pa.Table.from_pylist([row] * 40), file)
    return made


def composed(train: list[Path], *overrides: str) -> DictConfig:
    named = ",".join(map(str, train))
    return compose_run("pacs", ["recipe=arithmetic", f"data.train_files=[{named}]", *overrides])[0]


def problems(config: DictConfig) -> list[str]:
    """Those of the training data."""
    return [problem for problem in surroundings_problems(config, print) if problem.startswith("data.train")]


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
    assert f"data.train_files={file} is not a parquet file" in problem
    assert "`pacs data prepare`" in problem


WITHOUT_A_NETWORK = """
import sys
from pacs.composing import compose_run
from pacs.integration.checks.machine import surroundings_problems
for name in sys.argv[1:]:
    config, _ = compose_run("pacs", ["recipe=arithmetic", f"actor_rollout_ref.model.path={name}"])
    print(*[problem for problem in surroundings_problems(config, print) if name in problem], sep="\\n")
"""


def test_a_model_is_looked_for_in_the_cache_and_then_asked_for_once(tmp_path: Path) -> None:
    """The Hub is a port at which nothing answers."""
    commit = "0" * 40
    cached = tmp_path / "hub" / "models--org--cached"
    (cached / "snapshots" / commit).mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    (cached / "snapshots" / commit / "config.json").write_text('{"model_type": "qwen3", "max_position_embeddings": 32}')
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_A_NETWORK, "org/cached", "org/unknown"],
        env=os.environ | {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    of_cached, of_unknown = done.stdout.strip().splitlines()[-2:]
    assert "the model at actor_rollout_ref.model.path=org/cached has 32 positions" in of_cached
    assert "actor_rollout_ref.model.path=org/unknown is neither a folder here nor a model that" in of_unknown
    assert "Retry" not in done.stderr
