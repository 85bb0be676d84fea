"""What is kept of a run's checkpoints, against the sentence of the docstring said naively, for any number to keep."""

import random
from pathlib import Path

import pytest

from pacs.checkpoints.folder import REFERENCES, SAVING, prune, read_checkpoint
from tests.checkpoints.test_checkpoints import save, save_reference


def numbers(folder: Path) -> set[int]:
    return {int(path.name.rpartition("_")[2]) for path in folder.glob("global_step_*")}


@pytest.mark.parametrize("keep", [1, 2, 3, 5, None])
def test_the_newest_by_number_stay_with_their_references(keep: int | None, tmp_path: Path) -> None:
    """Of none to four complete ones: more are asked for than there are, just as many, or fewer."""
    draw = random.Random(0)
    for case in range(5):
        folder = tmp_path / str(case)
        steps = draw.sample([8, 9, 10, 99, 100, 101], case)
        references = {step: draw.choice([None, "step_0-aa", f"step_{step}-b"]) for step in steps}
        for name in {"step_0-aa", "step_7-unnamed", *filter(None, references.values())}:
            save_reference(folder, name)
        for step in steps:
            save(folder, step, reference=references[step])
        gone = prune(folder, keep=keep)
        kept = set(sorted(steps, reverse=True)[: len(steps) if keep is None else keep])
        assert numbers(folder) == kept
        named = {references[step] for step in kept} - {None}
        assert {path.name for path in (folder / REFERENCES).iterdir()} == named
        assert {path.name for path in gone} & {f"global_step_{step}" for step in kept} == set()


@pytest.mark.parametrize("keep", [1, 2])
def test_a_damaged_one_does_not_take_the_place_of_what_was_just_saved(keep: int, tmp_path: Path) -> None:
    """A start that goes on from step 20, since what is newer is damaged, saves step 30."""
    for step in (20, 40, 60):
        folder = save(tmp_path, step)
        if step > 20:
            (folder / "actor" / "model.pt").write_text(f"weights of stop {step}")  # as long as what was written
    save(tmp_path, 30)
    prune(tmp_path, keep=keep)
    assert numbers(tmp_path) == ({30, 40, 60} if keep == 1 else {20, 30, 40, 60})


def test_of_a_link_to_an_old_one_the_link_alone_goes(tmp_path: Path) -> None:
    """Somebody has moved it to another disk, and left a link."""
    checkpoints, archive = tmp_path / "checkpoints", tmp_path / "archive"
    for step in (20, 40):
        save(checkpoints, step)
    (checkpoints / "global_step_20").rename(archive)
    (checkpoints / "global_step_20").symlink_to(archive)
    assert prune(checkpoints, keep=1) == [checkpoints / "global_step_20"]
    assert numbers(checkpoints) == {40}
    assert (archive / "actor" / "model.pt").read_text() == "weights of step 20"
    assert list((checkpoints / SAVING).iterdir()) == []


def test_one_is_saved_in_the_place_of_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "global_step_20").symlink_to(tmp_path / "away")
    assert read_checkpoint(save(tmp_path, 20)).step == 20
