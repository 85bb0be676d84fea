"""Shards that are damaged, or that would run code: refused by name, and nothing is written."""

from pathlib import Path

import pytest

from pacs.evaluation.model import find_model, merge_checkpoint
from pacs.export.errors import ExportError
from pacs.export.merge import open_shards
from pacs.runs.checkpoints import seal
from tests.export.conftest import STEP, checkpoint_of
from tests.export.exporting import assert_refused, run_command
from tests.integration.test_strangers_files import poison
from tests.runs.test_integrity import zeros

SHARD = "model_world_size_1_rank_0.pt"


def test_a_pickle_that_would_touch_a_file(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, evil = checkpoint_of(run), tmp_path / "run" / "evil"
    poison(folder / "actor" / SHARD, evil)
    seal(folder, step=STEP, ranks=1)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, f"{SHARD} is refused: to read it would run code (it names posix.system)")
    with pytest.raises(ExportError, match=rf"{SHARD} is refused.* posix\.system"):  # `pacs evaluate`
        merge_checkpoint(find_model(str(run)), tmp_path / "out")
    assert not evil.exists()


def test_zeros_in_a_small_shard(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zeros(checkpoint_of(run) / "actor" / SHARD, at=0.5, count=4096)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, f"actor/{SHARD} is damaged: its record {SHARD.removesuffix('.pt')}/data/")


def test_zeros_in_a_shard_of_which_a_start_reads_the_end_alone(run: Path) -> None:
    zeros(checkpoint_of(run) / "actor" / SHARD, at=0.5, count=4096)
    with pytest.raises(ExportError, match=f"{SHARD} is damaged: its record .*: export another checkpoint, or copy"):
        open_shards(checkpoint_of(run) / "actor", 1)
