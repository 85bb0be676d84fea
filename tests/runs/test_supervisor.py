"""The launcher and its driver, with real processes, signals and segments, and without Ray."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from pacs.base.stops import ONE_REQUEST_SECONDS, SIGNALS
from pacs.runs.processes import processes_of
from pacs.runs.settings import FaultSettings
from pacs.runs.state import CAUSE_CHARS, read_fault, read_state, write_state
from pacs.runs.supervisor import FAILED, FINISHED, STOPPED
from tests.runs.launched import Launched, heed_signals


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Callable[..., Launched]]:
    launched: list[Launched] = []

    def start(what: str, **options: object) -> Launched:
        launched.append(Launched(tmp_path / "run", what, **options))
        return launched[-1]

    yield start
    for one in launched:
        if one.process.poll() is None:
            one.process.kill()


def buffered_environment() -> dict[str, str]:
    """In which Python buffers what it prints to a pipe, as on most machines."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def test_a_run_that_ends_is_finished_and_leaves_nothing(launch: Callable[..., Launched]) -> None:
    one = launch("finish")
    status, printed = one.ended()
    assert (status, len(printed.splitlines())) == (FINISHED, 3)
    assert f"the run is finished: 9 of 9 steps ({one.run_dir})" in printed
    assert f"pacs report {one.run_dir} --out {one.run_dir}/report" in printed
    state = read_state(one.run_dir)
    assert state is not None
    assert (state.state, state.exit_status, state.cause) == ("finished", 0, None)


def test_an_exception_is_the_cause(launch: Callable[..., Launched]) -> None:
    one = launch("raise")
    status, printed = one.ended()
    assert status == FAILED
    assert (
        "the run failed: RuntimeError: the cause\n"
        f"  All that its processes have said is in {one.run_dir}/output.log.\n"
        "  It has no checkpoint; the same command starts it anew." in printed
    )
    state = read_state(one.run_dir)
    assert state is not None
    assert (state.state, state.cause) == ("failed", "RuntimeError: the cause")


def test_what_a_vllm_engine_has_raised_is_part_of_the_cause(launch: Callable[..., Launched]) -> None:
    one = launch("engine")
    status, printed = one.ended()
    assert status == FAILED
    assert "the run failed: RuntimeError: the cause; vLLM: ValueError: of the engine\n" in printed
    assert one.state.cause == "RuntimeError: the cause; vLLM: ValueError: of the engine"


def test_a_cause_that_is_longer_than_a_pipe_is_bounded(launch: Callable[..., Launched]) -> None:
    one = launch("shout")
    status, printed = one.ended()
    cause = str(one.state.cause)
    assert status == FAILED
    assert cause.startswith("RuntimeError: a long cause a long cause ")
    assert len(cause) <= CAUSE_CHARS
    assert read_fault(one.run_dir) == cause
    assert f"the run failed: {cause}\n" in printed


def test_the_cause_is_named_where_it_cannot_be_written(launch: Callable[..., Launched]) -> None:
    one = launch("full")
    printed, _ = one.process.communicate(timeout=60)
    assert one.process.returncode == FAILED
    assert "the run failed: RuntimeError: the cause" in printed
    assert "the run's state cannot be written" in printed


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        signal.SIGINT,
        *(pytest.param(n, marks=pytest.mark.long) for n in (signal.SIGUSR1, signal.SIGHUP)),
    ],
)
def test_a_signal_asks_the_trainer_to_stop(launch: Callable[..., Launched], number: signal.Signals) -> None:
    one = launch("obey")
    one.wait_for("rollouts")
    one.process.send_signal(number)
    status, printed = one.ended()
    assert status == STOPPED
    assert f"{number.name}: the run ends after this step and saves (3 are done); a second signal ends it" in printed
    assert f"the run was stopped: {number.name}, after step 4" in printed


def test_the_state_of_a_start_that_has_taken_over_the_folder_stays(launch: Callable[..., Launched]) -> None:
    """Else that one's next save would find that it was taken over in turn."""
    one = launch("obey")
    one.wait_for("rollouts")
    other = replace(one.state, token="another", host="there", pid=7)
    write_state(one.run_dir, other)
    one.process.send_signal(signal.SIGTERM)
    one.process.communicate(timeout=60)
    assert one.process.returncode == STOPPED
    assert one.state == other


def test_ctrl_c_reaches_the_launcher_alone(launch: Callable[..., Launched]) -> None:
    """A terminal signals the whole foreground group; the driver is not in it."""
    one = launch("obey", start_new_session=True)
    one.wait_for("rollouts")
    os.killpg(one.process.pid, signal.SIGINT)
    assert one.ended()[0] == STOPPED


def test_a_second_signal_ends_at_once(launch: Callable[..., Launched]) -> None:
    one = launch("ignore")
    one.wait_for("rollouts")
    one.process.send_signal(signal.SIGTERM)
    one.until((one.run_dir / "stop").exists)
    one.process.send_signal(signal.SIGTERM)
    status, printed = one.ended()
    assert status == 128 + signal.SIGTERM
    assert "SIGTERM, at once, by a second signal" in printed


def test_a_second_signal_leaves_a_saved_stop_as_it_is(launch: Callable[..., Launched]) -> None:
    one = launch("linger")
    one.wait_for("rollouts")
    one.process.send_signal(signal.SIGINT)
    one.wait_for("stopped")
    one.process.send_signal(signal.SIGINT)
    status, printed = one.ended()
    assert status == STOPPED
    assert "the run was stopped: SIGINT, after step 4" in printed
    state = read_state(one.run_dir)
    assert state is not None
    assert (state.state, state.exit_status) == ("stopped", STOPPED)


def test_a_second_signal_leaves_a_finished_run_as_it_is(launch: Callable[..., Launched]) -> None:
    one = launch("linger after the end")
    one.wait_for("end")
    one.process.send_signal(signal.SIGTERM)
    time.sleep(2 * ONE_REQUEST_SECONDS)
    assert one.process.poll() is None  # what is left to do after the end, as sending logs away, may go on
    one.process.send_signal(signal.SIGTERM)
    assert one.ended()[0] == FINISHED
    state = read_state(one.run_dir)
    assert state is not None
    assert state.state == "finished"


def test_signals_to_every_process_ask_the_trainer_to_stop(launch: Callable[..., Launched]) -> None:
    """As a service manager or the end of a job sends them, one after the other: they are one request."""
    one = launch("obey")
    one.wait_for("rollouts")
    state = read_state(one.run_dir)
    assert state is not None
    others = processes_of(state.token)
    assert {"sleep"} < {process.name() for process in others}
    for number in SIGNALS:
        for process in (one.process, *others):
            process.send_signal(number)
    one.until((one.run_dir / "stop").exists)
    assert all(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in others[:1])
    status, printed = one.ended()
    assert status == STOPPED
    # One request, by whichever came first: Python takes those that wait for it in the order of their numbers.
    said = re.findall(r"pacs train: (SIG\w+): the run ends after this step", printed)
    assert len(said) == 1
    assert f"the run was stopped: {said[0]}, after step 4" in printed


def test_signals_to_every_process_before_the_first_step(launch: Callable[..., Launched]) -> None:
    one = launch("starting")
    one.wait_for("start")
    state = read_state(one.run_dir)
    assert state is not None
    for process in (*processes_of(state.token), one.process):
        process.send_signal(signal.SIGTERM)
    status, printed = one.ended()
    assert status == STOPPED
    assert "SIGTERM, before the first step" in printed


BEFORE_THE_START = """
import time
from pacs.runs.signals import StopRequests
with StopRequests():
    print("checking", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_before_the_run_is_started_ends_it_as_a_stop(number: signal.Signals) -> None:
    """It holds the folder's lock already, and looks at what is there."""
    command = [sys.executable, "-c", BEFORE_THE_START]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_signals
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "checking\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert process.returncode == STOPPED
    assert said == f"pacs train: {number.name}: stopped before the run was started\n"


def test_a_signal_while_it_is_cleared_up_does_not_cut_that_off(launch: Callable[..., Launched]) -> None:
    """As Slurm does: SIGUSR1 some time before the end, SIGTERM at the end."""
    one = launch("obey", grace=3.0)
    one.wait_for("rollouts")
    (driver,) = psutil.Process(one.process.pid).children()
    one.process.send_signal(signal.SIGUSR1)
    one.until(lambda: not driver.is_running() or driver.status() == psutil.STATUS_ZOMBIE)
    one.process.send_signal(signal.SIGTERM)  # its orphan has three seconds to end by itself
    assert one.ended()[0] == STOPPED
    state = read_state(one.run_dir)
    assert state is not None
    assert state.state == "stopped"


def test_clearing_up_spares_a_later_start(launch: Callable[..., Launched]) -> None:
    one = launch("obey")
    one.wait_for("rollouts")
    subprocess.run([sys.executable, "-m", "pacs.runs.clearing", one.run_dir, "the-token-of-a-start-before"], check=True)
    state = read_state(one.run_dir)
    assert state is not None
    assert state.state == "running"
    assert processes_of(state.token)
    one.process.send_signal(signal.SIGTERM)
    assert one.ended()[0] == STOPPED


def test_before_the_first_step_one_signal_ends_at_once(launch: Callable[..., Launched]) -> None:
    one = launch("starting")
    one.wait_for("start")
    one.process.send_signal(signal.SIGTERM)
    status, printed = one.ended()
    assert status == STOPPED
    assert "SIGTERM, before the first step" in printed


def test_nohup_is_respected(launch: Callable[..., Launched]) -> None:
    one = launch("obey", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    one.wait_for("rollouts")
    one.process.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert not (one.run_dir / "stop").exists()
    one.process.send_signal(signal.SIGTERM)
    assert one.ended()[0] == STOPPED


def test_a_killed_driver_is_named_and_cleared_up_after(launch: Callable[..., Launched]) -> None:
    one = launch("ignore")
    one.wait_for("rollouts")
    (driver,) = psutil.Process(one.process.pid).children()
    driver.kill()
    status, printed = one.ended()
    assert status == FAILED
    assert "the driver (process of Ray's job) was ended by SIGKILL" in printed


def test_a_killed_launcher_is_cleared_up_after_by_its_driver(launch: Callable[..., Launched]) -> None:
    one = launch("ignore")
    one.wait_for("rollouts")
    (driver,) = psutil.Process(one.process.pid).children()
    one.process.kill()
    one.process.wait()
    one.until(lambda: (state := read_state(one.run_dir)) is not None and state.state != "running")
    assert not driver.is_running() or driver.status() == psutil.STATUS_ZOMBIE
    one.nothing_left()
    state = read_state(one.run_dir)
    assert state is not None
    assert (state.state, state.cause) == ("failed", "the launcher (pacs train) was killed")


def test_what_both_left_is_ended_by_the_next_start(launch: Callable[..., Launched]) -> None:
    one = launch("ignore")
    one.wait_for("rollouts")
    state = read_state(one.run_dir)
    assert state is not None
    (driver,) = psutil.Process(one.process.pid).children()
    driver.suspend()  # so that it cannot clear up
    one.process.kill()
    one.process.wait()
    assert {driver.pid} < {process.pid for process in processes_of(state.token)}
    name = f"{driver.name()} ({driver.pid})"
    status, printed = launch("finish").ended()
    assert status == FINISHED
    assert f"ended a process that was left of the last start: {name}" in printed
    assert "ended a process that was left of the last start: sleep" in printed
    assert not processes_of(state.token)


def test_what_a_run_says_is_said_at_once(launch: Callable[..., Launched]) -> None:
    """Ray's thread in the driver does not flush what the trainer says."""
    one = launch("obey", env=buffered_environment())
    assert one.process.stdout is not None
    assert select.select([one.process.stdout], [], [], 60)[0]
    assert "a line that nobody flushes" in one.process.stdout.readline()
    one.process.send_signal(signal.SIGTERM)
    assert one.ended()[0] == STOPPED


def test_a_console_that_is_gone_does_not_keep_a_run_from_being_saved(launch: Callable[..., Launched]) -> None:
    """As when a terminal is closed, or with `| tee log`, whose tee a Ctrl-C ends as well."""
    one = launch("obey", env=buffered_environment())
    one.wait_for("rollouts")
    assert one.process.stdout is not None
    one.process.stdout.close()
    one.process.send_signal(signal.SIGHUP)
    assert one.process.wait(60) == STOPPED
    one.nothing_left()
    state = read_state(one.run_dir)
    assert state is not None
    assert (state.state, state.exit_status, state.cause) == ("stopped", STOPPED, "SIGHUP, after step 4")


def test_a_hang_is_a_fault_with_every_stack(launch: Callable[..., Launched]) -> None:
    one = launch("hang")
    status, printed = one.ended()
    assert status == FAILED
    assert "no progress for 3 s (in step 4: rollouts; run.faults.no_progress_seconds)" in printed
    (dump,) = (one.run_dir / "stacks").iterdir()
    assert str(dump.parent) in printed
    text = dump.read_text()
    assert "in drive" in text
    assert "in never_answered" in text
    # One that does not listen to the signal would have died of it: it is still there when the run is ended.
    assert "sleep 300" not in text


@pytest.mark.parametrize(
    ("setting", "phase", "median", "seconds"),
    [
        (None, "start", None, 3600),
        (None, "rollouts", None, 10800),
        (None, "rollouts", 10.0, 600),
        (None, "update", 300.0, 1200),
        (None, "save", 10.0, 3600),
        (30, "start", None, 3600),
        (30, "rollouts", None, 30),
        (30, "save", 300.0, 3600),
        (7200, "start", None, 7200),
    ],
)
def test_the_limit_follows_from_the_median_step(
    setting: float | None, phase: str, median: float | None, seconds: float
) -> None:
    assert FaultSettings(no_progress_seconds=setting).no_progress_limit(phase, median) == seconds
