"""The ranks read the large files of a checkpoint, each its own: after a save and before a load."""

from pathlib import Path
from typing import Any

import pytest
import torch

from pacs.checkpoints.folder import MARKER, BrokenCheckpoint, newest_checkpoint, read_checkpoint
from pacs.checkpoints.integrity import SMALL_BYTES
from pacs.checkpoints.marker import DAMAGED
from pacs.integration.checkpoints.shard_checks import check_checkpoint, check_files, seal_checked, share_of
from tests.checkpoints.test_integrity import zeros

MODEL = "actor/model_world_size_2_rank_{}.pt"
HF = "actor/huggingface/model.safetensors"


class Ranks:
    """What Ray's worker group does with `ProbedWorker.check_files`: every rank is asked."""

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size
        self.read: list[list[str]] = []

    def check_files(self, folder: str, names: list[str], written: bool) -> list[Any]:
        own = [share_of(names, rank, self.world_size) for rank in range(self.world_size)]
        self.read += own
        return [check_files(Path(folder), names, written=written) for names in own]


def write(folder: Path, reference: bool = False) -> Path:
    (folder / "actor" / "huggingface").mkdir(parents=True)
    count = SMALL_BYTES // 4 + 2**18
    for rank in range(2):
        torch.save({"weight": torch.randn(count)}, folder / MODEL.format(rank))
        torch.save({"rng": torch.randn(9)}, folder / f"actor/extra_state_world_size_2_rank_{rank}.pt")
    (folder / HF).write_bytes(torch.randn(count).numpy().tobytes())
    return folder


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    folder = write(tmp_path / "global_step_5")
    ranks = Ranks(2)
    seal_checked(folder, ranks, step=5)
    assert ranks.read == [[HF, MODEL.format(0)], [MODEL.format(1)]]
    return folder


def test_each_rank_reads_its_own_and_together_all_once() -> None:
    names = [f"{kind}_world_size_4_rank_{rank}.pt" for kind in ("model", "optim") for rank in range(4)]
    names += ["huggingface/a.safetensors", "huggingface/b.safetensors", "tokenizer.json"]
    assert [name for name in share_of(names, 2, 4) if name.endswith(".pt")] == [
        "model_world_size_4_rank_2.pt",
        "optim_world_size_4_rank_2.pt",
    ]
    for ranks in (1, 2, 3, 4, 8):
        shares = [share_of(names, rank, ranks) for rank in range(ranks)]
        assert sorted(name for share in shares for name in share) == sorted(names)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize(
    ("name", "said"),
    [(MODEL.format(1), "its record model_world_size_2_rank_1/data/0"), (HF, "its SHA-256 differs")],
    ids=["shard", "hf"],
)
def test_damage_is_found_before_a_load_and_passed_over_from_then_on(
    checkpoint: Path, tmp_path: Path, ranks: int, name: str, said: str
) -> None:
    found = read_checkpoint(checkpoint)
    check_checkpoint(found, Ranks(ranks), tmp_path)
    zeros(checkpoint / name, at=0.3, count=4096)
    found = read_checkpoint(checkpoint)
    with pytest.raises(BrokenCheckpoint) as refused:
        check_checkpoint(found, Ranks(ranks), tmp_path)
    assert f"{checkpoint}: {name} is damaged" in str(refused.value)
    assert said in str(refused.value)
    assert "copy it again, or start the run anew" in str(refused.value)
    newest, problems = newest_checkpoint(tmp_path)
    assert newest is None
    assert said in problems[0]


def test_the_mend_names_the_step_that_the_next_start_takes(checkpoint: Path, tmp_path: Path) -> None:
    newer = write(tmp_path / "global_step_9")
    seal_checked(newer, Ranks(2), step=9)
    zeros(newer / MODEL.format(0), at=0.3)
    with pytest.raises(BrokenCheckpoint, match="the same command passes it over and goes on from step 5"):
        check_checkpoint(read_checkpoint(newer), Ranks(2), tmp_path)
    newest, _ = newest_checkpoint(tmp_path)
    assert newest is not None
    assert newest.folder == checkpoint


def test_nothing_is_written_into_another_runs_checkpoint(checkpoint: Path, tmp_path: Path) -> None:
    zeros(checkpoint / MODEL.format(0), at=0.3)
    with pytest.raises(BrokenCheckpoint, match=r"copy it again, or set trainer\.resume_from_path"):
        check_checkpoint(read_checkpoint(checkpoint), Ranks(2), tmp_path / "mine")
    assert not (checkpoint / DAMAGED).exists()


def test_a_damaged_reference_is_found(checkpoint: Path, tmp_path: Path) -> None:
    reference = tmp_path / "references" / "step_0-aa"
    reference.mkdir(parents=True)
    torch.save({"weight": torch.randn(SMALL_BYTES // 4 + 2**18)}, reference / "reference_world_size_1_rank_0.pt")
    seal_checked(reference, Ranks(1), step=0)
    seal_checked(checkpoint, Ranks(2), step=5, reference="step_0-aa")
    check_checkpoint(read_checkpoint(checkpoint), Ranks(2), tmp_path)
    zeros(reference / "reference_world_size_1_rank_0.pt")
    with pytest.raises(BrokenCheckpoint, match=f"{reference}: reference_world_size_1_rank_0.pt is damaged"):
        check_checkpoint(read_checkpoint(checkpoint), Ranks(2), tmp_path)
    assert newest_checkpoint(tmp_path)[0] is None


@pytest.mark.parametrize("name", [MODEL.format(1), "actor/extra_state_world_size_2_rank_1.pt"])
def test_what_was_not_written_as_it_was_meant_is_not_sealed(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "global_step_5")
    zeros(folder / name, at=0.4, count=16)
    with pytest.raises(BrokenCheckpoint, match=f"just written, is not what was written: {name} is damaged"):
        seal_checked(folder, Ranks(2), step=5)
    assert not (folder / MARKER).exists()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (checked,) = check_files(tmp_path, ["gone.pt"], written=False)
    assert "cannot be read" in str(checked.damage)
