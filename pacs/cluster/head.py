"""The head: Ray's first node, on which `pacs train` runs."""

import subprocess
import sys
import time
from collections.abc import Sequence

from pacs.base.terminal import print
from pacs.cluster.ray_node import RayNode
from pacs.cluster.rendezvous import POLL_SECONDS, ClusterError, Rendezvous
from pacs.cluster.signals import Noted
from pacs.runs.supervisor import FINISHED, STOPPED
from pacs.verl_keys.names import RAY_ADDRESS

#: How often the wait for the other nodes is reported.
REPORT_SECONDS = 30.0


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
    # In a session of its own: a Ctrl-C reaches it once, from here, and not a second time from the terminal.
    train = subprocess.Popen([sys.executable, "-m", "pacs", "train", *arguments], start_new_session=True)
    sent: set[int] = set()
    try:
        while True:
            try:
                status = train.wait(POLL_SECONDS)
                # It takes signals once it has checked all; one that came before has ended it, and nothing was begun.
                return STOPPED if -status in sent else status
            except subprocess.TimeoutExpired:
                for number in noted.new():
                    sent.add(number)
                    train.send_signal(number)
    finally:
        train.kill()  # if this node's own part has failed; its driver clears up after it
