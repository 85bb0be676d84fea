"""What is done on another node of a real Ray cluster (two nodes, both on this machine)."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from ray.cluster_utils import Cluster

from pacs.integration.nodes import clear_other_nodes, connected, dump_on_other_nodes
from pacs.runs.processes import RUN_DIR, TOKEN
from pacs.runs.state import write_state
from tests.runs.states import state_in

HANGING = """
import time
from pacs.runs import stacks

stacks.register()

def never_answered():
    time.sleep(300)

never_answered()
"""


pytestmark = [pytest.mark.slow, pytest.mark.long]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    yield cluster
    cluster.shutdown()


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of a run, which every node of this cluster takes for its own."""
    env = os.environ | {TOKEN: "hangs", RUN_DIR: str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", HANGING], env=env)
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("stacks/*.txt")) and time.monotonic() < deadline:
        time.sleep(0.1)
    yield process
    process.kill()
    process.wait()


def test_who_was_connected_is_ended_by_sigterm_as_before(cluster: Cluster) -> None:
    asked: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    try:
        with connected(cluster.address):
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert asked == [signal.SIGTERM] * 2


def test_the_stacks_of_another_node_are_written(
    cluster: Cluster, hanging: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    with connected(cluster.address):
        dump_on_other_nodes(tmp_path, "hangs")
    (dump,) = tmp_path.glob("stacks/hang-*.txt")
    assert "in never_answered" in dump.read_text()


def test_what_a_run_has_left_on_another_node_is_ended(
    cluster: Cluster, hanging: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    with connected(cluster.address):
        clear_other_nodes(tmp_path.with_name("of-another-run"))
        assert hanging.poll() is None
        clear_other_nodes(tmp_path)
    assert hanging.wait(5) == -signal.SIGKILL


def test_what_is_left_here_of_a_run_that_was_started_elsewhere_is_ended(
    hanging: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    write_state(tmp_path, state_in(tmp_path, token="hangs", host="another-host", pid=1))
    alone = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        with connected(alone.address):
            clear_other_nodes(tmp_path)
    finally:
        alone.shutdown()
    assert not psutil.pid_exists(hanging.pid)
