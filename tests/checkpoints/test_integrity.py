"""Damage that leaves a file's size as it was: seen before a run is built on it, and named."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from pacs.checkpoints.folder import MARKER, BrokenCheckpoint, newest_checkpoint, read_checkpoint, seal
from pacs.checkpoints.integrity import SMALL_BYTES, damage_of, digest_of
from pacs.checkpoints.marker import DAMAGED, note_damage
from tests.checkpoints.signing import change_marker

LARGE = SMALL_BYTES + 2**20


def zeros(file: Path, at: float = 0.5, count: int = 64) -> None:
    """Zeros somewhere in a file, whose size stays."""
    size = file.stat().st_size
    with file.open("r+b") as stream:
        stream.seek(min(int(at * size), size - count))
        stream.write(bytes(min(count, size)))
    assert file.stat().st_size == size


def flip(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert text.count(old) == 1
    assert len(old) == len(new)
    file.write_text(text.replace(old, new))


def save_torch(file: Path, megabytes: float, seed: int = 0) -> None:
    """Two tensors; the seed changes their values alone."""
    torch.manual_seed(seed)
    count = int(megabytes * 2**20 / 8)
    torch.save({"first": torch.randn(count), "second": torch.randn(count)}, file)


def save(checkpoints: Path, step: int) -> Path:
    folder = checkpoints / f"global_step_{step}"
    (folder / "actor" / "huggingface").mkdir(parents=True)
    for kind in ("model", "optim", "extra_state"):
        save_torch(folder / f"actor/{kind}_world_size_1_rank_0.pt", 0.1)
    save_torch(folder / "data.pt", 0.01)
    save_torch(folder / "trainer.pt", 0.01)
    (folder / "actor/huggingface/config.json").write_text(json.dumps({"hidden_size": list(range(40))}))
    (folder / "reference.json").write_text(json.dumps({"events": list(range(40))}))
    (folder / "config.yaml").write_text("data:\n" + "  dataloader_num_workers: 0  # of torchdata\n" * 1)
    seal(folder, step=step, ranks=1)
    return folder


SMALL_FILES = [
    "actor/model_world_size_1_rank_0.pt",
    "actor/optim_world_size_1_rank_0.pt",
    "actor/extra_state_world_size_1_rank_0.pt",
    "actor/huggingface/config.json",
    "data.pt",
    "trainer.pt",
    "reference.json",
    "config.yaml",
]


@pytest.mark.parametrize("name", SMALL_FILES)
def test_zeros_in_a_small_file_are_seen_and_the_checkpoint_passed_over(tmp_path: Path, name: str) -> None:
    before, folder = save(tmp_path, 3), save(tmp_path, 5)
    newest, problems = newest_checkpoint(tmp_path)
    assert newest is not None
    assert (newest.folder, problems) == (folder, [])
    zeros(folder / name, count=16)
    newest, problems = newest_checkpoint(tmp_path)
    assert newest is not None
    assert newest.folder == before
    (problem,) = problems
    assert f"{folder}: {name} is damaged" in problem


@pytest.mark.parametrize(
    "damage",
    [
        lambda marker: zeros(marker),
        lambda marker: flip(marker, '"ranks": 1', '"ranks": 2'),
        lambda marker: flip(marker, '"reference": null', '"reference": "ab"'),
        lambda marker: marker.write_bytes(bytes(marker.stat().st_size)),
        lambda marker: marker.write_text("[" * 100_000),
    ],
)
def test_a_damaged_marker_is_passed_over(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    before, folder = save(tmp_path, 3), save(tmp_path, 5)
    damage(folder / MARKER)
    newest, problems = newest_checkpoint(tmp_path)
    assert newest is not None
    assert newest.folder == before
    assert len(problems) == 1
    assert f"{folder / MARKER}: not readable" in problems[0]


@pytest.mark.parametrize("name", ["../../outside", "/etc/passwd"])
@pytest.mark.parametrize("what", ["file", "reference"])
def test_a_marker_that_names_what_is_outside_is_refused(tmp_path: Path, name: str, what: str) -> None:
    folder = save(tmp_path, 5)
    change_marker(folder / MARKER, **({"files": {name: 1}} if what == "file" else {"reference": name}))
    with pytest.raises(BrokenCheckpoint, match="was not written by pacs"):
        read_checkpoint(folder)


def test_the_record_is_named(tmp_path: Path) -> None:
    save_torch(tmp_path / "a.pt", 1)
    assert damage_of(tmp_path / "a.pt") is None
    zeros(tmp_path / "a.pt", at=0.75, count=4096)
    assert "its record a/data/1 is not what was written" in str(damage_of(tmp_path / "a.pt"))
    values = torch.load(tmp_path / "a.pt")
    assert (values["second"] == 0).sum() > 1000, "torch loads it without a word"
    (tmp_path / "b.pt").write_bytes(bytes(4096))
    assert "no archive that torch has written" in str(damage_of(tmp_path / "b.pt"))


@pytest.mark.parametrize("at", [0, 0.001, 0.3, 0.999, 1.0])
def test_damage_anywhere_that_matters_is_seen(tmp_path: Path, at: float) -> None:
    """In the first bytes, in a tensor, in the list at the end."""
    save_torch(tmp_path / "a.pt", 0.5)
    zeros(tmp_path / "a.pt", at=at, count=512)
    assert damage_of(tmp_path / "a.pt") is not None


def test_a_large_archive_of_another_checkpoint_is_seen_without_reading_it(tmp_path: Path) -> None:
    folder, name = save(tmp_path, 5), "actor/model_world_size_1_rank_0.pt"
    save_torch(folder / name, LARGE / 2**20)
    seal(folder, step=5, ranks=1)
    assert read_checkpoint(folder).step == 5
    size, digest = (folder / name).stat().st_size, digest_of(folder / name)

    save_torch(folder / name, LARGE / 2**20, seed=1)
    assert (folder / name).stat().st_size == size
    with pytest.raises(BrokenCheckpoint, match=f"{name} is damaged: it is not what was written"):
        read_checkpoint(folder)
    save_torch(folder / name, LARGE / 2**20, seed=0)
    assert digest_of(folder / name) == digest
    assert read_checkpoint(folder).step == 5
    # What only reading all of it shows is left to the ranks.
    zeros(folder / name, at=0.4)
    assert read_checkpoint(folder).step == 5
    # A list of records that is gone is seen.
    zeros(folder / name, at=1.0)
    with pytest.raises(BrokenCheckpoint, match=f"{name} is damaged"):
        read_checkpoint(folder)


def test_a_checkpoint_that_the_ranks_found_damaged_is_passed_over_until_it_is_mended(tmp_path: Path) -> None:
    before, folder = save(tmp_path, 3), save(tmp_path, 5)
    note_damage(folder, ["actor/model.pt is damaged: its record a/data/1"])
    newest, problems = newest_checkpoint(tmp_path)
    assert newest is not None
    assert newest.folder == before
    assert problems == [
        f"{folder}: actor/model.pt is damaged: its record a/data/1 (once that is mended, remove {DAMAGED})"
    ]
    (folder / DAMAGED).unlink()
    assert newest_checkpoint(tmp_path)[1] == []


def test_a_copy_is_as_good(tmp_path: Path) -> None:
    folder = save(tmp_path / "a", 5)
    shutil.copytree(folder.parent, tmp_path / "b")
    assert read_checkpoint(tmp_path / "b" / folder.name).step == 5


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    folder = save(tmp_path, 5)
    (folder / "data.pt").chmod(0)
    with pytest.raises(BrokenCheckpoint, match="not readable"):
        read_checkpoint(folder)
