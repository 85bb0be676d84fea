"""Ray on this node, for one job: its address, ports, folder and processes, and nothing of it left at the end."""

import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from uuid import uuid4

import psutil
import yaml
from omegaconf import DictConfig, OmegaConf

from pacs.cluster.rendezvous import ClusterError
from pacs.runs.clearing import SOCKET_CHARS, remove_segments, segments_there
from pacs.runs.processes import KEEP_ENVIRONMENT, end_processes
from pacs.verl_keys.config import actor_slots, device, ranks_per_node
from pacs.verl_keys.names import NODES
from pacs.verl_keys.workload import nodes_used

#: Chooses the head's network interface; the others take the one that leads there.
INTERFACE = "PACS_INTERFACE"
CONNECT_SECONDS = 5.0


def own_address(interface: str | None, *, alone: bool) -> str:
    """This node's IPv4 address for the other nodes.

    Args:
        interface: the interface to take; None or empty: that of the host's name, else that of the default route.
        alone: whether there are no others, so that the loopback will do.

    Raises:
        ClusterError: If there is no such interface, or only the loopback.
    """
    if interface:
        found = _addresses()
        if interface not in found:
            lacks = f"{socket.gethostname()} has no such interface with an IPv4 address"
            raise ClusterError(f"{INTERFACE}={interface}: {lacks}; it has {', '.join(sorted(found))}.")
        return found[interface][0]
    for address in (_of_the_name(), _of_the_default_route()):
        if address is not None and not ip_address(address).is_loopback:
            return address
    if alone:
        return "127.0.0.1"
    raise ClusterError(
        f"{socket.gethostname()} has no address that other nodes could reach by its name or its default route: set "
        f"{INTERFACE} to one of {', '.join(sorted(_addresses()))}."
    )


def address_towards(head: str) -> str:
    """This node's address on the way to the head's Ray ("host:port").

    Raises:
        OSError: If nothing answers there.
    """
    host, port = head.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS) as connection:
        return str(connection.getsockname()[0])


def interface_of(address: str) -> str | None:
    """The name of the interface with this address."""
    return next((name for name, addresses in _addresses().items() if address in addresses), None)


def _addresses() -> dict[str, list[str]]:
    """Interface -> its IPv4 addresses, of those that have any."""
    found = {
        name: [entry.address for entry in entries if entry.family == socket.AF_INET]
        for name, entries in psutil.net_if_addrs().items()
    }
    return {name: addresses for name, addresses in found.items() if addresses}


def _of_the_name() -> str | None:
    with suppress(OSError):
        return socket.gethostbyname(socket.gethostname())
    return None


def _of_the_default_route() -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams, suppress(OSError):
        datagrams.connect(("192.0.2.1", 9))  # an address that no host has: nothing is sent
        return str(datagrams.getsockname()[0])
    return None


def composed_run(train: Sequence[str]) -> DictConfig | None:
    """What `pacs train` composes of its arguments; None of --help, or another option that trains nothing.

    Raises:
        ClusterError: If it cannot be composed; `pacs train` has said why.
    """
    command = [sys.executable, "-m", "pacs", "train", *train, "--cfg", "job"]
    composed = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if composed.returncode != 0:
        raise ClusterError("the run cannot be composed; what is wrong with it is above.")
    try:
        settings = yaml.safe_load(composed.stdout)
    except yaml.YAMLError:
        settings = None
    return OmegaConf.create(settings) if isinstance(settings, dict) else None


def check_nodes(config: DictConfig | None, nodes: int) -> None:
    """Refuse a run that would leave nodes of its own job idle to its end.

    Raises:
        ClusterError: If it uses fewer than so many.
    """
    used = None if config is None else nodes_used(config)
    if used is not None and used < nodes:
        raise ClusterError(
            f"the run uses {used} of {nodes} nodes, and the others would have nothing to do: set {NODES}={nodes}, or "
            "ask for fewer (--nodes of sbatch and srun)."
        )


def logical_resources(config: DictConfig | None) -> list[str]:
    """Arguments of `ray start` on each node of a run; none for one on GPUs, which Ray counts itself."""
    if config is None or device(config) != "cpu":
        return []
    slots = actor_slots(config)
    return [f"--num-gpus={ranks_per_node(config)}", *([] if slots is None else [f"--num-cpus={slots}"])]


#: Environment variable of every process of this node's Ray. `ray stop` would end those of other jobs as well.
TOKEN = "PACS_CLUSTER_TOKEN"
#: Arguments of `ray start` on every node that the user adds (`--object-store-memory=...`).
ARGUMENTS = "PACS_RAY_ARGS"
#: The system chooses all ports, so that two jobs on one node do not meet.
PORTS = (
    "--node-manager-port=0", "--object-manager-port=0", "--min-worker-port=0", "--max-worker-port=0",
    "--runtime-env-agent-port=0", "--dashboard-agent-listen-port=0", "--dashboard-agent-grpc-port=0",
    "--metrics-export-port=0",
)  # fmt: skip
#: A machine that is gone without a word is given up after three checks of 10 s; Ray's own five take over a minute.
HEALTH = {"RAY_health_check_failure_threshold": "3"}
#: Files that a process may have open, as `ray.init` sees to it and `ray start` does not: 1024 is a usual limit.
OPEN_FILES = 65536
END_SECONDS = 10.0
KILL_AFTER_SECONDS = 1.0


class RayNode:
    """Ray's processes on this node, from now to `stop`.

    Args:
        address: this node's.
        head: the address of the head's Ray ("host:port"); None: this is the head.
        resources: arguments of `ray start`; the user's own come after them, and count.
    """

    def __init__(self, address: str, head: str | None, resources: Sequence[str]) -> None:
        self.token, self.before = uuid4().hex, segments_there()
        self.folder = _short_folder()
        where = _head_arguments(address) if head is None else (f"--address={head}",)
        interface = interface_of(address)
        environment = HEALTH | os.environ | {TOKEN: self.token, KEEP_ENVIRONMENT: "1"}
        if interface is not None:
            # Else gloo looks for the interface of the host's name, which on many machines is the loopback, and NCCL
            # takes the first that is neither the loopback nor docker's, which may lead nowhere. With InfiniBand, NCCL
            # only meets there.
            environment.setdefault("GLOO_SOCKET_IFNAME", interface)
            environment.setdefault("NCCL_SOCKET_IFNAME", interface)
        command = [
            sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats",
            f"--node-ip-address={address}", f"--temp-dir={self.folder}", *where, *PORTS, *resources,
            *os.environ.get(ARGUMENTS, "").split(),
        ]  # fmt: skip
        allow_open_files()
        # In a session of its own: a Ctrl-C is to reach the run first.
        self.process = subprocess.Popen(command, env=environment, start_new_session=True)

    def address(self) -> str | None:
        """The address of the head's Ray, once this node's is up and has joined it."""
        file = self.folder / "ray_current_cluster"
        return (file.read_text(encoding="utf-8").strip() or None) if file.exists() else None

    def status(self) -> int | None:
        """The exit status of Ray on this node, or None while it runs."""
        return self.process.poll()

    def keep_logs(self, folder: Path) -> None:
        """Copy Ray's logs of this node."""
        shutil.copytree(self.folder / "session_latest" / "logs", folder, ignore_dangling_symlinks=True)

    def stop(self) -> None:
        """End what was started, and whatever that has started."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        end_processes(self.token, variable=TOKEN, grace_seconds=KILL_AFTER_SECONDS)
        remove_segments(self.before)
        shutil.rmtree(self.folder, ignore_errors=True)


def allow_open_files() -> None:
    """Let this process and its children have `OPEN_FILES` open, or as many as this user may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _short_folder() -> Path:
    """A new folder for Ray, below TMPDIR unless that makes the paths of Ray's sockets longer than a socket's may be."""
    within = len(f"/pacs-xxxxxxxx/session_2026-01-01_00-00-00_000000_{2**22}/sockets/plasma_store")
    parent = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="pacs-", dir=parent if len(parent) + within <= SOCKET_CHARS else "/tmp"))


def _head_arguments(address: str) -> tuple[str, ...]:
    """Ray's client server is the one that takes no 0 for a port."""
    with socket.socket() as free:
        free.bind((address, 0))
        port = free.getsockname()[1]
    return "--head", "--port=0", f"--ray-client-server-port={port}", "--include-dashboard=false"
