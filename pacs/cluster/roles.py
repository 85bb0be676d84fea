"""What the nodes do: the head, on which `pacs train` runs, leads; the others join its Ray until it has ended."""

import signal
import sys
import time
from collections.abc import Sequence

from pacs.base.stops import Stops, run_passing_on
from pacs.base.terminal import print
from pacs.cluster.ray_node import INTERFACE, RayNode, address_towards
from pacs.cluster.rendezvous import POLL_SECONDS, ClusterError, Rendezvous
from pacs.runs.state import this_host
from pacs.runs.supervisor import FINISHED, STOPPED
from pacs.verl_keys.names import RAY_ADDRESS

#: How often the wait for the other nodes is reported.
REPORT_SECONDS = 30.0


class Noted(Stops):
    """The head's way once it waits: signals are noted, and with the meeting's notice passed on to the run."""

    def __init__(self, meeting: Rendezvous) -> None:
        super().__init__()
        self.meeting, self.notice_taken = meeting, False
        self.listen()

    def new(self) -> list[int]:
        """Those since the last call; the notice is one SIGUSR1."""
        if not self.notice_taken and self.meeting.notice():
            self.notice_taken = True
            self.signals.append(signal.SIGUSR1)
        return super().new()


def lead(meeting: Rendezvous, ray: RayNode, arguments: Sequence[str], *, join_seconds: float) -> int:
    """Wait for all nodes, train, and pass on requests to stop.

    Args:
        meeting: where the nodes meet.
        ray: Ray on this node.
        arguments: of `pacs train`.
        join_seconds: how long Ray and the other nodes may take.

    Returns:
        The exit status of `pacs train`; that of a stopped run if a stop was asked for before it began.

    Raises:
        ClusterError: If Ray does not start, or a node does not join.
    """
    noted, deadline = Noted(meeting), time.monotonic() + join_seconds
    while (address := ray.address()) is None:
        if ray.status() is not None or time.monotonic() > deadline:
            raise ClusterError(f"Ray did not start on the head within {join_seconds:.0f} s; what it said is above.")
        if noted.new():
            return STOPPED
        time.sleep(POLL_SECONDS)
    meeting.open(address)
    print(f"pacs.cluster: Ray is up at {address}", flush=True)
    report = time.monotonic()
    while absent := meeting.absent():
        if noted.new():
            return STOPPED
        if failures := meeting.failures():
            raise ClusterError("\n  ".join(["the cluster cannot be made:", *failures]))
        if time.monotonic() > deadline:
            late = f"{len(absent)} of {meeting.nodes} nodes did not join within {join_seconds:.0f} s:"
            raise ClusterError("\n  ".join([late, *absent]))
        if time.monotonic() >= report:
            print("\n  ".join(["pacs.cluster: waiting for", *absent]), flush=True)
            report += REPORT_SECONDS
        time.sleep(POLL_SECONDS)
    print(f"pacs.cluster: all {meeting.nodes} nodes have joined", flush=True)
    status = _train([*arguments, f"++{RAY_ADDRESS}={address}"], noted)
    if status not in (FINISHED, STOPPED):
        for failure in meeting.failures():
            print(f"pacs.cluster: {failure}", file=sys.stderr, flush=True)
    return status


def _train(arguments: Sequence[str], noted: Noted) -> int:
    status = run_passing_on([sys.executable, "-m", "pacs", "train", *arguments], noted)
    # It takes signals once it has checked all; one that came before has ended it, and nothing was begun.
    return STOPPED if -status in noted.signals else status


def reach(meeting: Rendezvous, head: str, seconds: float) -> str:
    """This node's address on the way to the head's Ray.

    Args:
        meeting: where the head reads what hinders.
        head: the address of the head's Ray ("host:port").
        seconds: how long it is tried.

    Raises:
        ClusterError: If the head does not answer in time.
    """
    deadline = time.monotonic() + seconds
    while meeting.ended() is None:
        try:
            return address_towards(head)
        except OSError as error:
            problem = (
                f"the head's Ray at {head} cannot be reached from {this_host()} ({error}): a firewall, or another "
                f"network: set {INTERFACE} to an interface that all nodes have in common."
            )
            if time.monotonic() > deadline:
                raise ClusterError(problem) from error
            meeting.say("here", problem)
        time.sleep(POLL_SECONDS)
    raise ClusterError("the head has ended; its log says why.")


def follow(meeting: Rendezvous, ray: RayNode, *, join_seconds: float) -> None:
    """Join, and return when the head has ended, however it did.

    Args:
        meeting: where the nodes meet.
        ray: Ray on this node.
        join_seconds: how long it may take to join.

    Raises:
        ClusterError: If Ray does not join in time, or ends before the head.
    """
    deadline = time.monotonic() + join_seconds
    joined = False
    while meeting.ended() is None:
        if ray.status() is not None:
            raise ClusterError(f"Ray on {this_host()} {'ended' if joined else 'did not start'}; what it said is above.")
        if not joined and ray.address() is not None:
            joined = True
            meeting.say("joined")
            print("pacs.cluster: joined", flush=True)
        if not joined and time.monotonic() > deadline:
            raise ClusterError(f"Ray on {this_host()} did not join within {join_seconds:.0f} s; what it said is above.")
        time.sleep(POLL_SECONDS)
