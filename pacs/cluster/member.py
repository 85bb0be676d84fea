"""A node that is not the head: it joins the head's Ray and stays until the head has ended."""

import time

from pacs.base.terminal import print
from pacs.cluster.address import INTERFACE, address_towards
from pacs.cluster.ray_node import RayNode
from pacs.cluster.rendezvous import POLL_SECONDS, ClusterError, Rendezvous
from pacs.runs.state import this_host


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
