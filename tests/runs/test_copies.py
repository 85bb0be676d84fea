"""What is started in a copy of a live run's folder leaves the live run alone: with real processes and segments."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pacs.integration.checks import ConfigError
from pacs.integration.launch import launcher as integration
from pacs.runs.clearing import clear_former_start
from pacs.runs.leftovers import SHARED_MEMORY, forget_segments
from pacs.runs.listing import list_runs
from pacs.runs.processes import processes_of
from pacs.runs.state import write_state
from pacs.runs.supervisor import FINISHED
from tests.integration.launch.test_resume import composed
from tests.runs.launched import Launched

pytestmark = pytest.mark.slow

#: Of such a run: the driver, its tracker of shared memory, and a child.
PROCESSES = 3


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Launched]:
    """A run that trains."""
    one = Launched(tmp_path / "run", "ignore")
    one.wait_for("rollouts")
    one.until(lambda: len(processes_of(one.state.token)) == PROCESSES)
    yield one
    one.process.kill()
    one.process.wait()
    one.until(lambda: one.state.state != "running")
    one.nothing_left()


@pytest.fixture
def unharmed(live: Launched) -> Callable[[], None]:
    """Checks that the run trains as before."""
    token = live.state.token
    pids = {process.pid for process in processes_of(token)}
    left = Path(str(live.state.temporary), "left")
    segment = SHARED_MEMORY / left.read_text()
    assert segment.exists()

    def check() -> None:
        assert {process.pid for process in processes_of(token)} == pids
        assert segment.exists()
        assert left.exists()
        assert live.process.poll() is None

    return check


def copy(folder: Path, name: str) -> Path:
    subprocess.run(["cp", "-a", folder, folder.with_name(name)], check=True)
    return folder.with_name(name)


def test_a_start_in_a_copy_leaves_the_original_alone(live: Launched, unharmed: Callable[[], None]) -> None:
    branch = copy(live.run_dir, "branch")
    assert {run.name: run.state for run in list_runs([branch.parent])} == {"branch": "copied", "run": "running"}
    assert Launched(branch, "finish").process.wait(60) == FINISHED
    unharmed()
    assert {run.name: run.state for run in list_runs([branch.parent])} == {"branch": "finished", "run": "running"}


def test_a_start_where_the_original_was_moved_away_from_a_copy(live: Launched, unharmed: Callable[[], None]) -> None:
    """Its processes name the folder by the path that the copy has now."""
    branch = copy(live.run_dir, "branch")
    live.run_dir.rename(live.run_dir.with_name("moved"))
    branch.rename(live.run_dir)
    assert Launched(live.run_dir, "finish").process.wait(60) == FINISHED
    unharmed()
    live.run_dir.rename(branch)
    live.run_dir.with_name("moved").rename(live.run_dir)


def test_a_copy_of_a_state_that_names_no_folder(live: Launched, unharmed: Callable[[], None]) -> None:
    """As an earlier version has written it; the processes still name theirs."""
    branch = copy(live.run_dir, "branch")
    write_state(branch, replace(live.state, folder=None, device=None, inode=None, birth=None, temporary=None))
    forget_segments(branch)
    clear_former_start(branch)
    unharmed()


def test_a_start_that_is_refused_ends_nothing(
    live: Launched, unharmed: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    branch = copy(live.run_dir, "branch")
    (branch / "metrics.jsonl").write_text('{"step": 3}\n')
    former = composed(branch, "method.beta=0.5")
    integration.write_run_folder(former)
    before = (branch / "state.json").read_bytes()
    with pytest.raises(ConfigError, match="another run"):
        integration.train(composed(branch))
    unharmed()
    assert (branch / "state.json").read_bytes() == before
    assert not (branch / ".reserve").exists()


def test_nor_does_one_in_the_folder_of_a_run_whose_lock_was_removed(
    live: Launched, unharmed: Callable[[], None]
) -> None:
    config = composed(live.run_dir)
    for refuse in (integration.train, integration.check_folder):
        with pytest.raises(ConfigError, match=f"a run is training in this folder .process {live.process.pid} on"):
            refuse(config)
    unharmed()


def test_what_is_left_of_a_run_in_a_moved_folder_is_ended(live: Launched, tmp_path: Path) -> None:
    (driver,) = psutil.Process(live.process.pid).children()
    driver.suspend()
    live.process.kill()
    live.process.wait()
    branch = copy(live.run_dir, "branch")
    assert not clear_former_start(branch)
    assert len(processes_of(live.state.token)) == PROCESSES
    live.run_dir.rename(tmp_path / "moved")
    assert clear_former_start(tmp_path / "moved")
    (tmp_path / "moved").rename(live.run_dir)
    live.nothing_left()
    assert live.state.cause == "the launcher (pacs train) was killed"
