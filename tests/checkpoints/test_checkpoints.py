import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pacs.checkpoints.folder import (
    MARKER,
    REFERENCES,
    SAVING,
    BrokenCheckpoint,
    clear_unfinished,
    complete_checkpoints,
    newest_checkpoint,
    prune,
    publish,
    read_checkpoint,
    reference_aside,
    seal,
    step_folder,
)
from tests.checkpoints.signing import change_marker


def save(checkpoints: Path, step: int, *, reference: str | None = None, content: str | None = None) -> Path:
    """Write a checkpoint as a trainer does: aside, sealed, renamed."""
    aside = checkpoints / SAVING / f"global_step_{step}"
    (aside / "actor").mkdir(parents=True)
    (aside / "actor" / "model.pt").write_text(content or f"weights of step {step}")
    (aside / "data.pt").write_text("")
    seal(aside, step=step, ranks=4, reference=reference)
    publish(aside, step_folder(checkpoints, step))
    return step_folder(checkpoints, step)


def save_reference(checkpoints: Path, name: str) -> Path:
    aside = reference_aside(checkpoints, name)
    aside.mkdir(parents=True)
    (aside / "rank_0.pt").write_text("the reference")
    seal(aside, step=0, ranks=4)
    return aside.rename(checkpoints / REFERENCES / name)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_what_was_saved_is_read(tmp_path):
    reference = save_reference(tmp_path, "step_0-aa")
    folder = save(tmp_path, 20, reference="step_0-aa")
    checkpoint = read_checkpoint(folder)
    assert (checkpoint.folder, checkpoint.step, checkpoint.ranks) == (folder, 20, 4)
    assert checkpoint.reference == reference
    assert checkpoint.size_bytes == len("weights of step 20")
    assert names(tmp_path / SAVING) == set()


def test_a_checkpoint_without_a_reference(tmp_path):
    assert read_checkpoint(save(tmp_path, 3)).reference is None


def test_a_folder_may_be_sealed_again_with_what_was_added(tmp_path):
    folder = save(tmp_path, 3)
    (folder / "trainer.pt").write_text("more")
    seal(folder, step=3, ranks=2)
    checkpoint = read_checkpoint(folder)
    assert checkpoint.ranks == 2
    assert checkpoint.size_bytes == len("weights of step 3" + "more")


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (lambda c: (c / "actor/model.pt").write_text("weigh"), "actor/model.pt has 5 bytes instead of 17"),
        (lambda c: (c / "actor/model.pt").unlink(), "actor/model.pt is missing"),
        (lambda c: (c / "data.pt").unlink(), "data.pt is missing"),
        (lambda c: (c / MARKER).unlink(), f"no {MARKER}"),
        (lambda c: (c / MARKER).write_text('{"step": 5'), "not readable"),
        (lambda c: (c / MARKER).write_text("{}"), "not readable"),
        (lambda c: (c / MARKER).write_text('{"files": {}}'), "not readable"),
        (lambda c: (c / MARKER).write_text("[]"), "not readable"),
        (lambda c: (c / MARKER).write_text('{"step": 5, "ranks": 1, "reference": null, "files": [1]}'), "not readable"),
        (lambda c: (c / MARKER).write_bytes(b"\xff\xfe"), "not readable"),
        (lambda c: change_marker(c / MARKER, files={"x" * 300: 1}), "not readable ([Errno 36] File name too long"),
        (lambda c: (c.parent / REFERENCES / "step_0-aa" / "rank_0.pt").write_text("the"), "has 3 bytes instead of 13"),
        (lambda c: (c.parent / REFERENCES / "step_0-aa" / MARKER).unlink(), f"step_0-aa: no {MARKER}"),
        (lambda c: (c.parent / REFERENCES / "step_0-aa").rename(c.parent / "elsewhere"), "its reference, "),
    ],
)
def test_damage_is_said_and_the_checkpoint_before_it_taken(tmp_path, damage, complaint):
    save_reference(tmp_path, "step_0-aa")
    before = save(tmp_path, 3)
    folder = save(tmp_path, 5, reference="step_0-aa")
    assert newest_checkpoint(tmp_path)[0].step == 5
    damage(folder)
    with pytest.raises(BrokenCheckpoint) as caught:
        read_checkpoint(folder)
    assert complaint in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    checkpoint, problems = newest_checkpoint(tmp_path)
    assert checkpoint.folder == before
    assert problems == [str(caught.value)]


def test_the_newest_is_by_number_and_other_names_are_none(tmp_path):
    for step in (9, 10, 100):
        save(tmp_path, step)
    (tmp_path / "global_step_1000").write_text("a file")
    (tmp_path / "global_step_x").mkdir()
    (tmp_path / "latest_checkpointed_iteration.txt").write_text("7")
    checkpoint, problems = newest_checkpoint(tmp_path)
    assert checkpoint.step == 100
    assert len(problems) == 1
    assert f"global_step_1000: no {MARKER}" in problems[0]
    complete, problems = complete_checkpoints(tmp_path)
    assert [checkpoint.step for checkpoint in complete] == [9, 10, 100]
    assert len(problems) == 1
    assert f"global_step_1000: no {MARKER}" in problems[0]
    assert complete_checkpoints(tmp_path / "nowhere") == ([], [])


def test_nothing_is_no_checkpoint_and_no_problem(tmp_path):
    assert newest_checkpoint(tmp_path) == (None, [])
    assert newest_checkpoint(tmp_path / "nowhere") == (None, [])
    assert prune(tmp_path / "nowhere", keep=1) == []


def test_what_is_being_saved_is_none_yet(tmp_path):
    aside = tmp_path / SAVING / "global_step_5"
    aside.mkdir(parents=True)
    seal(aside, step=5, ranks=1)
    assert newest_checkpoint(tmp_path) == (None, [])
    clear_unfinished(tmp_path)
    assert not (tmp_path / SAVING).exists()
    clear_unfinished(tmp_path)


def test_publishing_replaces_a_folder_that_is_there(tmp_path):
    save(tmp_path, 5, content="of the run that was given up")
    (step_folder(tmp_path, 5) / "old").write_text("old")
    save(tmp_path, 5, content="new")
    assert (step_folder(tmp_path, 5) / "actor" / "model.pt").read_text() == "new"
    assert names(step_folder(tmp_path, 5)) == {"actor", "data.pt", MARKER}
    assert newest_checkpoint(tmp_path)[1] == []
    assert names(tmp_path / SAVING) == set()


@pytest.mark.parametrize("delete", [lambda folder: save(folder, 1), lambda folder: prune(folder, keep=1)])
def test_what_the_file_system_does_not_delete_now_stops_no_save(tmp_path, delete):
    """As NFS does not what is open elsewhere; here another file system is mounted in each checkpoint of step 1."""
    mounted = []
    try:
        for _ in range(2):
            (save(tmp_path, 1) / "open").mkdir()
            save(tmp_path, 2)
            point = step_folder(tmp_path, 1) / "open"
            if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", point], capture_output=True).returncode:
                pytest.skip("it needs the right to mount")
            mounted.append(point.stat().st_dev)
            delete(tmp_path)
            assert newest_checkpoint(tmp_path)[0].step == 2
        left = [point for point in (tmp_path / SAVING).rglob("open") if point.stat().st_dev in mounted]
        assert len(left) == 2  # the second is not in the way of the first
    finally:
        for point in tmp_path.rglob("open"):
            subprocess.run(["umount", point], capture_output=True)
    clear_unfinished(tmp_path)
    assert not (tmp_path / SAVING).exists()


def test_pruning_keeps_the_newest_and_the_references_they_name(tmp_path):
    for name in ("step_0-aa", "step_20-bb", "step_40-cc"):
        save_reference(tmp_path, name)
    for step, reference in ((10, "step_0-aa"), (20, "step_20-bb"), (30, "step_20-bb"), (40, None)):
        save(tmp_path, step, reference=reference)
    deleted = prune(tmp_path, keep=2)
    assert names(tmp_path) - {SAVING} == {"global_step_30", "global_step_40", REFERENCES}
    assert names(tmp_path / REFERENCES) == {"step_20-bb"}
    assert {path.name for path in deleted} == {"global_step_10", "global_step_20", "step_0-aa", "step_40-cc"}
    assert names(tmp_path / SAVING) == set()
    assert newest_checkpoint(tmp_path)[0].step == 40
    assert prune(tmp_path, keep=2) == []


def test_pruning_leaves_what_is_not_complete_with_its_reference_and_does_not_count_it(tmp_path):
    for name in ("step_0-aa", "step_20-bb"):
        save_reference(tmp_path, name)
    save(tmp_path, 10, reference="step_0-aa")
    save(tmp_path, 20)
    (save(tmp_path, 30, reference="step_20-bb") / "actor/model.pt").unlink()
    (save(tmp_path, 40) / MARKER).write_text("[]")
    assert {path.name for path in prune(tmp_path, keep=1)} == {"global_step_10", "step_0-aa"}
    assert names(tmp_path) - {SAVING} == {"global_step_20", "global_step_30", "global_step_40", REFERENCES}


def test_a_marker_that_cannot_be_read_now_loses_no_reference(tmp_path):
    """As on a file system that is away for a moment; here it is a folder."""
    reference = save_reference(tmp_path, "step_5-a")
    folder = save(tmp_path, 5, reference="step_5-a")
    save(tmp_path, 6)
    (folder / MARKER).unlink()
    (folder / MARKER).mkdir()
    assert prune(tmp_path, keep=2) == []
    assert reference.is_dir()


def test_pruning_nothing_still_drops_unnamed_references(tmp_path):
    save_reference(tmp_path, "step_0-aa")
    save(tmp_path, 10)
    save(tmp_path, 20)
    assert [path.name for path in prune(tmp_path, keep=None)] == ["step_0-aa"]
    assert newest_checkpoint(tmp_path)[0].step == 20


#: A run that saves as fast as it can, and says so after each; it goes on from the newest checkpoint.
SAVER = """
import sys
from pathlib import Path
from pacs.checkpoints.folder import *
from pacs.checkpoints.folder import SAVING

folder = Path(sys.argv[1])
checkpoint, _ = newest_checkpoint(folder)
step = checkpoint.step if checkpoint else 0
reference = checkpoint.reference.name if checkpoint else None
while True:
    step += 1
    clear_unfinished(folder)
    if reference is None or step % 5 == 0:
        reference = f"step_{step}-{sys.argv[2]}"
        aside = reference_aside(folder, reference)
        aside.mkdir(parents=True)
        (aside / "rank_0.pt").write_text(reference * 100)
        seal(aside, step=step, ranks=1)
    aside = folder / SAVING / f"global_step_{step}"
    for rank in range(4):
        (aside / str(rank)).mkdir(parents=True)
        (aside / str(rank) / "model.pt").write_text(f"{step} {reference} " * 1000)
    seal(aside, step=step, ranks=4, reference=reference)
    publish(aside, step_folder(folder, step), reference)
    prune(folder, keep=2)
    print(step, flush=True)
"""


def test_a_run_that_is_killed_at_any_instant_leaves_a_complete_checkpoint(tmp_path):
    generator = random.Random(0)
    last = damaged = replaced = 0
    for start in range(40):
        process = subprocess.Popen(
            [sys.executable, "-c", SAVER, str(tmp_path), str(start)], stdout=subprocess.PIPE, text=True
        )
        first = process.stdout.readline() if start % 3 or not last else ""  # else it may be killed as it starts
        time.sleep(generator.uniform(0, 0.03 if first else 0.2))
        process.send_signal(signal.SIGKILL)
        said = (first + process.communicate()[0]).split()

        checkpoint, problems = newest_checkpoint(tmp_path)
        if checkpoint.step >= damaged or not step_folder(tmp_path, damaged).exists():
            replaced, damaged = replaced + (damaged > 0), 0
        assert [problem.split(":")[0] for problem in problems] == [str(step_folder(tmp_path, damaged))] * (damaged > 0)
        assert checkpoint.step >= max(int(said[-1]) if said else 0, last)
        for rank in range(4):
            text = (checkpoint.folder / str(rank) / "model.pt").read_text()
            assert text == f"{checkpoint.step} {checkpoint.reference.name} " * 1000
        assert (checkpoint.reference / "rank_0.pt").read_text() == checkpoint.reference.name * 100
        assert all((tmp_path / name / MARKER).exists() for name in names(tmp_path) if name.startswith("global_step_"))
        last = checkpoint.step

        older = step_folder(tmp_path, last - 1)
        if not damaged and start % 4 == 0 and older.exists():
            # The newest is damaged: the next start goes on from the one before it, and replaces the damaged one.
            os.truncate(checkpoint.folder / "0" / "model.pt", 7)
            damaged, last = last, newest_checkpoint(tmp_path)[0].step
            assert last == damaged - 1
    assert replaced > 3


def test_the_marker_says_when_it_was_written_and_lists_every_file(tmp_path):
    about = json.loads((save(tmp_path, 5) / MARKER).read_text())
    assert about["files"] == {"actor/model.pt": 17, "data.pt": 0}
    assert about["written"].endswith("+00:00")


def test_the_last_one_is_never_pruned(tmp_path):
    save(tmp_path, 40)
    for keep in (0, -1):
        with pytest.raises(ValueError, match="would delete the checkpoint that was just written"):
            prune(tmp_path, keep=keep)
    assert newest_checkpoint(tmp_path)[0].step == 40


def test_a_renamed_checkpoint_is_refused(tmp_path):
    save(tmp_path, 40).rename(tmp_path / "global_step_50")
    with pytest.raises(BrokenCheckpoint, match=r"global_step_50: it is of step 40, and was renamed"):
        read_checkpoint(tmp_path / "global_step_50")
