"""What is done on the nodes of a Ray cluster: the run's stacks, its left-overs, what they must have in common."""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray._private import services
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pacs.integration.provenance import installed_versions
from pacs.runs import clearing
from pacs.runs.stacks import dump_on_this_node
from pacs.runs.state import read_state, this_host

#: Seconds in which the nodes are to have answered; one that hangs itself never does.
SECONDS = 30.0
#: An answer may wait for a process to start and to import this project.
ANSWER_SECONDS = 120.0
#: Until a cluster that does not answer counts as gone. Ray itself tries for a quarter of an hour.
CONNECT_SECONDS = 5.0
#: How long Ray may take to find out that a whole node has died.
LOST_SECONDS = 5.0
#: The actor that rules verl's queue of rows, by a name that is the same in every run.
QUEUE = {"name": "TransferQueueController", "namespace": "transfer_queue"}
#: How long that of a run that has just ended may be there.
QUEUE_SECONDS = 15.0


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Be a driver of the Ray cluster at `address` for a moment, in the main thread.

    Raises:
        ConnectionError: Nothing answers there, or (of `auto`) no cluster is known here.
    """
    _check_answers(address)
    on_sigterm = signal.getsignal(signal.SIGTERM)
    ray.init(address=address, log_to_driver=False, logging_level="error")
    # A run that is asked to stop is to save first. Ray has set a handler that exits at once; its end sets the system's
    # default, of which Python does not know.
    signal.signal(signal.SIGTERM, on_sigterm)
    try:
        yield
    finally:
        ray.shutdown()
        signal.signal(signal.SIGTERM, on_sigterm)


def _check_answers(address: str) -> None:
    host, port = str(services.canonicalize_bootstrap_address(address)).rsplit(":", 1)
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()
    except OSError as error:
        raise ConnectionError(f"nothing answers at {host}:{port} ({error})") from error


def living_nodes() -> list[dict[str, Any]]:
    """Ray's word on the nodes that are up."""
    return [node for node in ray.nodes() if node["Alive"]]


def lost_nodes() -> str:
    """The nodes that Ray has lost, as the end of a sentence; nothing if there are none.

    The death of a process is known before that of the node on which it was, which is waited for a little.
    """
    deadline = time.monotonic() + LOST_SECONDS
    while len(nodes := ray.nodes()) > 1:
        lost = [f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})" for node in nodes if not node["Alive"]]
        if lost or time.monotonic() > deadline:
            return f"; Ray has lost node {', '.join(lost)}" if lost else ""
        time.sleep(0.5)
    return ""


def host_of(address: str) -> str:
    """The name of the node at `address` ("host:port")."""
    host = address.rpartition(":")[0]
    return next((str(node["NodeManagerHostname"]) for node in ray.nodes() if node["NodeManagerAddress"] == host), host)


def other_nodes() -> list[dict[str, Any]]:
    """Those that are not this one."""
    here = ray.get_runtime_context().get_node_id()
    return [node for node in living_nodes() if node["NodeID"] != here]


def on_nodes(
    nodes: Iterable[dict[str, Any]], function: Callable[..., Any], *arguments: object, **options: object
) -> list[Any]:
    """Start a function on each of the nodes; Ray's references to what it returns."""
    task = ray.remote(num_cpus=0, max_retries=0)(function)
    there = (NodeAffinitySchedulingStrategy(node["NodeID"], soft=False) for node in nodes)
    return [task.options(scheduling_strategy=node).remote(*arguments, **options) for node in there]


def dump_on_other_nodes(run_dir: Path, token: str) -> None:
    """Have the start's processes on the other nodes write their stacks to the run's folder, which all nodes see."""
    if not ray.is_initialized():  # it hangs before there is a cluster
        return
    if calls := on_nodes(other_nodes(), dump_on_this_node, run_dir, token):
        ray.wait(calls, num_returns=len(calls), timeout=SECONDS)


def clear_other_nodes(run_dir: Path) -> None:
    """End what is left of the run in `run_dir`, whose lock this process holds, where the supervisor does not.

    Ray ends the actors of a driver that is gone, but not what those have started: vLLM's engine and its workers. What
    the state of a copied folder says is of another folder's run, which is left alone.
    """
    state = read_state(run_dir)
    if state is not None and not state.is_of(run_dir):
        return
    token, temporary = (None, None) if state is None else (state.token, state.temporary)
    options: dict[str, Any] = {"grace_seconds": 0, "temporary": temporary, "known": False}
    if state is not None and state.host != this_host():  # the run was started on another, which this one was of then
        clearing.clear(run_dir, token, **options)
    if calls := on_nodes(other_nodes(), clearing.clear, run_dir, token, **options):
        ray.wait(calls, num_returns=len(calls), timeout=SECONDS)


def has_queue() -> bool:
    """Whether a run of verl's is training in this cluster: another one would take that one's queue for its own."""
    deadline = time.monotonic() + QUEUE_SECONDS
    while QUEUE in ray.util.list_named_actors(all_namespaces=True):
        if time.monotonic() > deadline:
            return True
        time.sleep(0.5)
    return False


def prepare_other_nodes(run_dir: Path) -> None:
    """Have the other nodes note which shared memory they have before the run in `run_dir`."""
    ray.get(on_nodes(other_nodes(), clearing.note_segments, run_dir), timeout=ANSWER_SECONDS)


def make_temporary_folders() -> None:
    """Make the start's folder for temporary files where the launcher is not; in a process of the run."""
    if len(nodes := living_nodes()) > 1:
        ray.get(on_nodes(nodes, clearing.make_temporary, Path(os.environ[clearing.TEMPORARY])), timeout=ANSWER_SECONDS)


def look_on_this_node(files: Iterable[Path]) -> tuple[list[Path], dict[str, str]]:
    """Which of the files are not here, and the versions that are installed."""
    return [file for file in files if not file.exists()], installed_versions()
