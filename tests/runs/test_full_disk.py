"""A disk that is full outside a save, with real disks and real processes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacs.integration.checks.run import ConfigError
from pacs.integration.launch import launcher
from pacs.integration.provenance import write_run_folder
from pacs.runs.disk_space import FULL_BYTES, NO_SPACE, RESERVE, reserved, with_full_disk, write_at_any_rate
from pacs.runs.state import read_fault, report_fault
from pacs.runs.supervisor import FAILED
from tests.integration.launch.test_resume import composed
from tests.runs.launched import Launched

pytestmark = pytest.mark.slow

DISK_MEGABYTES = 16


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "tmpfs", folder]).returncode != 0:
        pytest.skip("a disk of its own needs the right to mount one")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(disk: Path) -> Path:
    with (disk / "filler").open("wb") as stream:
        stream.write(bytes(shutil.disk_usage(disk).free))
    assert shutil.disk_usage(disk).free == 0
    return disk / "filler"


@pytest.mark.parametrize("what", ["log", "take"])
def test_a_disk_that_fills_up_while_metrics_are_logged_is_the_cause(disk: Path, what: str) -> None:
    """`take`: the other program takes at once what the run gives free."""
    one = Launched(disk / "run", what)
    status, printed = one.ended()
    assert status == FAILED
    assert one.state.state == "failed"
    cause = str(one.state.cause)
    assert cause.startswith(f"{NO_SPACE}: {disk / 'run'} has ")
    assert cause.endswith(" bytes free (OSError: [Errno 28] No space left on device)")
    assert f"the run failed: {cause}" in printed


def test_a_start_on_a_full_disk_is_refused(disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (disk / "checkpoints").mkdir()
    fill(disk)
    for refuse in (launcher.train, launcher.check_folder):
        with pytest.raises(ConfigError) as refused:
            refuse(composed(disk / "run"))
        (line,) = str(refused.value).splitlines()
        assert f"run.dir={disk / 'run'}: {NO_SPACE}: {disk}" in line
        assert "has 0 bytes free: make room there, or choose another folder." in line
    link = tmp_path / "run" / "checkpoints"
    link.parent.mkdir()
    link.symlink_to(disk / "checkpoints")
    with pytest.raises(ConfigError, match=f"trainer.default_local_dir={link}: {NO_SPACE}"):
        launcher.train(composed(tmp_path / "run"))
    link.unlink()
    monkeypatch.setenv("RAY_TMPDIR", str(disk))
    with pytest.raises(ConfigError, match=f"{disk}, for temporary files: {NO_SPACE}"):
        launcher.train(composed(tmp_path / "run"))
    assert {file.name for file in (tmp_path / "run").iterdir()} == {".lock"}


def test_a_start_after_a_failure_says_what_happened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = Launched(tmp_path / "run", "raise")
    one.ended()
    (one.run_dir / "metrics.jsonl").write_text('{"step": 3}\n')
    launcher._end_former_start(one.run_dir)
    assert "pacs: the last start failed: RuntimeError: the cause" in capsys.readouterr().out


def test_the_first_words_are_written_in_the_reserves_place_and_the_last_over_the_old_ones(disk: Path) -> None:
    (disk / "state.json").write_text("the state before, which is longer")
    with reserved(disk):
        assert (disk / RESERVE).stat().st_size == FULL_BYTES
        filler = fill(disk)
        report_fault(disk, "the cause")
        assert str(read_fault(disk)).endswith("(the cause)")
        assert not (disk / RESERVE).exists()
        with filler.open("ab") as stream:
            stream.write(bytes(shutil.disk_usage(disk).free))
        write_at_any_rate(disk / "state.json", "the state")
        assert (disk / "state.json").read_text() == "the state"
        with pytest.raises(OSError, match=NO_SPACE):
            write_at_any_rate(disk / "new", "x")
    assert {file.name for file in disk.iterdir()} == {"filler", "fault.json", "state.json"}


def test_a_config_is_replaced_as_a_whole_or_not_at_all(disk: Path) -> None:
    config = composed(disk)
    write_run_folder(config)
    before = {name: (disk / name).read_bytes() for name in ("config.yaml", "run.json")}
    fill(disk)
    config.trainer.total_training_steps = 7
    with pytest.raises(OSError, match=NO_SPACE):
        write_run_folder(config)
    assert {file.name: file.read_bytes() for file in disk.iterdir() if file.name != "filler"} == before


def test_what_fails_on_a_full_disk_is_named_with_it(disk: Path, tmp_path: Path) -> None:
    assert with_full_disk("RuntimeError: odd", disk) == "RuntimeError: odd"
    quota = f"OSError: {os.strerror(122)}"
    assert with_full_disk(quota, disk).startswith(f"{quota} ({disk} has {DISK_MEGABYTES * 2**20:,} bytes free, ")
    fill(disk)
    assert with_full_disk("RuntimeError: odd", disk) == f"{NO_SPACE}: {disk} has 0 bytes free (RuntimeError: odd)"
    elsewhere = subprocess.check_output(
        [
            sys.executable,
            "-c",
            f"from pacs.runs.disk_space import *; print(with_full_disk('odd', Path({str(tmp_path)!r})))",
        ],
        env=os.environ | {"RAY_TMPDIR": str(disk)},
        text=True,
    )
    assert elsewhere.strip() == f"{NO_SPACE}: {disk} has 0 bytes free (odd)"


def test_pacs_train_without_a_temporary_folder_is_refused() -> None:
    """Every folder that Python would take is full; in a namespace of mounts of its own."""
    full = "mount -t tmpfs -o size=1m tmpfs {0} && (head -c 2m /dev/zero > {0}/filler 2> /dev/null; true)"
    home = Path(__file__).parents[2]
    if home.is_relative_to("/tmp"):
        pytest.skip("this checkout is in a folder for temporary files")
    disks = [full.format(folder) for folder in ("/tmp", "/var/tmp", "/mnt")]
    train = f"exec {sys.executable} -m pacs train recipe=arithmetic"
    script = " && ".join(["mount --make-rprivate /", *disks, "cd /mnt", train])
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        capture_output=True,
        text=True,
        env={key: value for key, value in os.environ.items() if key != "TMPDIR"} | {"PYTHONPATH": str(home)},
    )
    if "pacs train" not in done.stderr and done.returncode != 2:
        assert "Operation not permitted" in done.stderr
        pytest.skip("a disk of its own needs the right to mount one")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 2
    assert "there is no folder for temporary files" in done.stderr
