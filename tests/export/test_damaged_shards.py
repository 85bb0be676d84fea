"""Shards that are damaged, or that would run code: refused by name, and nothing is written."""

import subprocess
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pacs.base.errors import UserError
from pacs.checkpoints.folder import seal
from pacs.checkpoints.merge import open_shards
from pacs.checkpoints.sums import damaged_files
from pacs.evaluation.model import find_model, merge_checkpoint, model_sha256
from pacs.integration.checks.run import ConfigError
from pacs.integration.launch import launcher
from tests.checkpoints.test_integrity import zeros
from tests.export.conftest import STEP, checkpoint_of
from tests.export.exporting import assert_refused, run_command
from tests.integration.checkpoints.test_strangers_files import poison

SHARD = "model_world_size_1_rank_0.pt"


def test_a_pickle_that_would_touch_a_file(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, evil = checkpoint_of(run), tmp_path / "run" / "evil"
    poison(folder / "actor" / SHARD, evil)
    seal(folder, step=STEP, ranks=1)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, f"{SHARD} is refused: to read it would run code (it names posix.system)")
    with pytest.raises(UserError, match=rf"{SHARD} is refused.* posix\.system"):  # `pacs evaluate`
        merge_checkpoint(find_model(str(run)), tmp_path / "out")
    assert not evil.exists()


def test_zeros_in_a_small_shard(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    zeros(checkpoint_of(run) / "actor" / SHARD, at=0.5, count=4096)
    assert run_command(run, "--out", tmp_path / "out") == 2
    assert_refused(capsys, tmp_path, f"actor/{SHARD} is damaged: its record {SHARD.removesuffix('.pt')}/data/")


def test_zeros_in_a_shard_of_which_a_start_reads_the_end_alone(run: Path) -> None:
    zeros(checkpoint_of(run) / "actor" / SHARD, at=0.5, count=4096)
    with pytest.raises(UserError, match=f"{SHARD} is damaged: its record .*: export another checkpoint, or copy"):
        open_shards(checkpoint_of(run) / "actor", 1)


def test_an_exported_model_says_what_its_files_are(run: Path, tmp_path: Path) -> None:
    """`sha256sum` checks it; `pacs evaluate` and `pacs train` do, and name what is not so."""
    out = tmp_path / "out"
    assert run_command(run, "--out", out, "--dtype", "float32") == 0
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=out, check=True)
    listed = {line.split()[1] for line in (out / "SHA256SUMS").read_text().splitlines()}
    assert listed == {str(file.relative_to(out)) for file in out.rglob("*") if file.is_file()} - {"SHA256SUMS"}
    model_sha256(out)
    assert damaged_files(out) == []

    trainer = {"default_local_dir": str(tmp_path / "new" / "checkpoints"), "resume_mode": "disable"}
    new = {"run": {"dir": str(tmp_path / "new")}, "trainer": trainer | {"resume_from_path": None}}
    config = OmegaConf.create(new | {"actor_rollout_ref": {"model": {"path": str(out)}}})
    launcher.check_folder(config)
    zeros(out / "model.safetensors", count=4096)
    with pytest.raises(UserError, match=r"model\.safetensors: not what its SHA256SUMS says"):
        model_sha256(out)
    with pytest.raises(ConfigError, match=r"model\.path=.*: model\.safetensors: not what its SHA256SUMS says"):
        launcher.check_folder(config)
    (out / "tokenizer.json").unlink()
    assert damaged_files(out) == ["model.safetensors", "tokenizer.json"]
    with pytest.raises(UserError, match=r"tokenizer\.json: not what its SHA256SUMS says"):
        model_sha256(out)
