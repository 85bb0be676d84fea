"""Names out of a stranger's files lead nowhere but into that folder."""

import fcntl
import json
from pathlib import Path

import pytest

from pacs import cli
from pacs.base.errors import UserError
from pacs.base.files import inside
from pacs.checkpoints.folder import MARKER, BrokenCheckpoint, newest_checkpoint, read_checkpoint
from pacs.data.output import MANIFEST, MARK, Output
from pacs.evaluation.folder import task_file, task_folder
from pacs.evaluation.process import locked
from pacs.evaluation.settings import FILE, read_settings
from pacs.integration.checks import run as checks
from pacs.integration.launch import folder_lock
from tests.checkpoints.signing import change_marker
from tests.checkpoints.test_checkpoints import save, save_reference
from tests.evaluation.folders import TASK, write_evaluation

LEADING_OUT = ("..", "../elsewhere", "/etc", "a/b", "a/../..", ".", "", "/", "a\nb", "\x1b[2J", "a\0b", None, 3)


@pytest.mark.parametrize("name", LEADING_OUT, ids=repr)
def test_a_name_that_is_not_plain_is_refused(name: object, tmp_path: Path):
    with pytest.raises(UserError):
        inside(tmp_path, name)
    with pytest.raises(UserError):
        inside(tmp_path, "plain", name)


@pytest.mark.parametrize("name", ["math500", "step_20-3f9c", "a b", "..a", "é", "-n", "a\\b", "~"])
def test_a_plain_name_is_taken_though_nothing_is_there(name: str, tmp_path: Path):
    assert inside(tmp_path, name, "b") == tmp_path / name / "b"


def test_links(tmp_path: Path):
    folder, elsewhere = tmp_path / "folder", tmp_path / "elsewhere"
    (folder / "real").mkdir(parents=True)
    elsewhere.mkdir()
    (folder / "within").symlink_to(folder / "real")
    (folder / "out").symlink_to(elsewhere)
    (folder / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "alias").symlink_to(folder)
    assert inside(folder, "within", "file") == folder / "within" / "file"
    assert inside(tmp_path / "alias", "real") == tmp_path / "alias" / "real"  # the folder itself may be a link
    for name in ("out", "dangling"):
        with pytest.raises(UserError, match="leads out"):
            inside(folder, name)
        with pytest.raises(UserError, match="leads out"):
            inside(folder, name, "file")


@pytest.mark.parametrize("name", ["../../victim/TASK", "/VICTIM"])
@pytest.mark.parametrize("command", ["show", "grade"])
def test_a_task_of_a_stranger_s_evaluation_is_neither_read_nor_written_elsewhere(
    command: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """`show` read and `grade` wrote outside the folder."""
    victim = tmp_path / "victim"
    write_evaluation(victim)
    (victim / "samples" / TASK).rename(victim / TASK)
    before = {file: file.read_bytes() for file in (victim / TASK).iterdir()}
    folder = tmp_path / "evaluation"
    write_evaluation(folder)
    settings = json.loads((folder / FILE).read_text())
    task = name.replace("TASK", TASK).replace("/VICTIM", str(victim / TASK))
    settings["tasks"] = {task: settings["tasks"][TASK]}
    (folder / FILE).write_text(json.dumps(settings))
    assert cli.main(["evaluate", command, str(folder)]) == 2
    said = capsys.readouterr()
    assert "is no plain name" in said.err
    assert "response" not in said.out
    assert {file: file.read_bytes() for file in (victim / TASK).iterdir()} == before


@pytest.mark.parametrize(
    "what", ["samples", "samples/sums", "samples/sums/grades.jsonl", "samples/sums/problems.jsonl"]
)
def test_a_link_in_a_stranger_s_evaluation_leads_nowhere(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder, victim = tmp_path / "evaluation", tmp_path / "victim"
    write_evaluation(folder)
    linked = folder / what
    linked.rename(victim)
    linked.symlink_to(victim)
    for command in ("show", "grade"):
        assert cli.main(["evaluate", command, str(folder)]) == 2
        assert "leads out of" in capsys.readouterr().err


def test_the_files_of_a_task_are_where_they_were(tmp_path: Path):
    write_evaluation(tmp_path)
    assert list(read_settings(tmp_path).tasks) == [TASK]
    assert task_file(tmp_path, TASK, "grades.jsonl").is_file()
    with pytest.raises(UserError, match="this is not how"):
        task_folder(tmp_path, "..")


def test_a_lock_that_is_a_link_does_not_empty_what_it_leads_to(tmp_path: Path):
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    victim.write_text("precious")
    folder.mkdir()
    (folder / ".lock").symlink_to(victim)
    with pytest.raises(UserError, match="cannot be written"), locked(folder):
        pass
    with pytest.raises(checks.ConfigError, match="cannot be written"), folder_lock.held(folder):
        pass
    assert victim.read_text() == "precious"
    (folder / ".lock").unlink()
    with folder_lock.held(folder), (folder / ".lock").open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)


@pytest.mark.parametrize(
    "change",
    [
        {"reference": "../../outside"},
        {"reference": "/OUTSIDE"},
        {"reference": ["step_0-aa"]},
        {"files": {"../../outside/rank_0.pt": 13}},
        {"files": {"/OUTSIDE/rank_0.pt": 13}},
        {"files": {"actor/../../../outside/rank_0.pt": 13}},
    ],
    ids=repr,
)
def test_a_marker_names_nothing_outside(change: dict, tmp_path: Path):
    """What it names is of the right size, so that it would be loaded."""
    checkpoints = tmp_path / "checkpoints"
    save_reference(checkpoints, "step_0-aa").rename(tmp_path / "outside")
    folder = save(checkpoints, 20)
    change_marker(folder / MARKER, **json.loads(json.dumps(change).replace("/OUTSIDE", str(tmp_path / "outside"))))
    with pytest.raises(BrokenCheckpoint, match="is no plain name of something in"):
        read_checkpoint(folder)
    assert newest_checkpoint(checkpoints)[0] is None


def test_a_reference_that_is_a_link_out_is_not_loaded(tmp_path: Path):
    checkpoints = tmp_path / "checkpoints"
    save_reference(checkpoints, "step_0-aa").rename(tmp_path / "outside")
    (checkpoints / "references" / "step_0-aa").symlink_to(tmp_path / "outside")
    folder = save(checkpoints, 20, reference="step_0-aa")
    with pytest.raises(BrokenCheckpoint, match="a link that leads out"):
        read_checkpoint(folder)


@pytest.mark.parametrize("name", ["../victim", "/VICTIM"])
def test_a_manifest_deletes_nothing_outside(name: str, tmp_path: Path):
    """`--overwrite` removes the files that the old manifest names."""
    victim, folder = tmp_path / "victim", tmp_path / "data"
    victim.write_text("precious")
    folder.mkdir()
    manifest = {MARK: "", "settings": {}, "sha256": {name.replace("/VICTIM", str(victim)): "", "old.parquet": ""}}
    (folder / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="choose another --out"), Output(folder, "train") as output:
        output.publish({MARK: ""})
    assert victim.read_text() == "precious"
    del manifest["sha256"][name.replace("/VICTIM", str(victim))]
    (folder / MANIFEST).write_text(json.dumps(manifest))
    (folder / "old.parquet").touch()
    with Output(folder, "train") as output:
        output.publish({MARK: ""})
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "train.parquet"]
