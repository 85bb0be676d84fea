"""One node of a training run; the same command on each, with its number.

Node 0 is the head: it starts Ray, waits for the others, runs `pacs train` with the arguments that follow "--", and
ends with its status. The others join Ray, stay until the head has ended, and end with 0. scripts/slurm/node.sh
starts this under Slurm.
"""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from pacs.base.stops import SIGNALS
from pacs.base.terminal import print
from pacs.cluster.ray_node import INTERFACE, RayNode, check_nodes, composed_run, logical_resources, own_address
from pacs.cluster.rendezvous import ClusterError, Rendezvous
from pacs.cluster.roles import follow, lead, reach
from pacs.runs.state import this_host
from pacs.runs.supervisor import FAILED, FINISHED, REFUSED, STOPPED


def main(arguments: Sequence[str] | None = None) -> int:
    """Be one node of a run; return the exit status (2: the cluster cannot be made)."""
    parser = argparse.ArgumentParser(
        prog="python -m pacs.cluster",
        usage="%(prog)s --node I --nodes N --meet DIR [--join-seconds S] -- [the arguments of `pacs train`]",
        description=__doc__,
    )
    parser.add_argument("--node", type=int, required=True, help="this node's number; 0 is the head")
    parser.add_argument("--nodes", type=int, required=True, help="how many there are")
    parser.add_argument("--meet", type=Path, required=True, help="a new folder that all nodes see, where they meet")
    parser.add_argument("--join-seconds", type=float, default=300.0, help="how long the nodes may take to join (300)")
    words = sys.argv[1:] if arguments is None else list(arguments)
    # What is after the first "--" argparse would take for options of this command.
    end = words.index("--") if "--" in words else len(words)
    options, train = parser.parse_args(words[:end]), words[end + 1 :]
    if not 0 <= options.node < options.nodes:
        parser.error(f"--node {options.node}: the nodes of --nodes {options.nodes} are 0 to {options.nodes - 1}")
    if options.join_seconds <= 0:
        parser.error(f"--join-seconds {options.join_seconds:g} must be above 0")
    # A signal ends this node in good order; SIGUSR1 is the head's alone to heed.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
            signal.signal(number, _exit)
    signal.signal(signal.SIGUSR1, _exit if options.node == 0 else signal.SIG_IGN)
    try:
        meeting = Rendezvous(options.meet.absolute(), options.node, options.nodes)
        print(f"pacs.cluster: node {options.node} of {options.nodes} is {this_host()}", flush=True)
        return _take_part(meeting, train, options.join_seconds)
    except ClusterError as error:
        print(f"pacs.cluster: {error}", file=sys.stderr, flush=True)
        return REFUSED


def _take_part(meeting: Rendezvous, train: Sequence[str], join_seconds: float) -> int:
    ray, status = None, FAILED
    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(meeting.secret)}
    os.environ.pop("RAY_AUTH_TOKEN", None)  # it would come first
    try:
        config = composed_run(train)
        resources = logical_resources(config)
        if meeting.node == 0:
            check_nodes(config, meeting.nodes)
            ray = RayNode(own_address(os.environ.get(INTERFACE), alone=meeting.nodes == 1), None, resources)
            status = lead(meeting, ray, train, join_seconds=join_seconds)
        else:
            head = meeting.wait_for_head(join_seconds)
            ray = RayNode(reach(meeting, head, join_seconds), head, resources)
            follow(meeting, ray, join_seconds=join_seconds)
            status = FINISHED
        return status
    except ClusterError as error:
        status = REFUSED
        with suppress(OSError):
            meeting.say("failed", str(error))
        raise
    finally:
        for number in SIGNALS:  # nothing is to cut off what follows
            signal.signal(number, signal.SIG_IGN)
        with suppress(OSError):  # without this word the others end a minute after the head's Ray
            if meeting.node == 0:
                meeting.end(status)
        if ray is not None:
            _clear_up(meeting, ray, status)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    for other in SIGNALS:  # a service manager sends two at once: the second is not to cut off what follows
        signal.signal(other, _ignored)
    sys.exit(128 + number)


def _ignored(number: int, frame: FrameType | None) -> None:
    """Not SIG_IGN, of which Python complains where the signal has already come."""


def _clear_up(meeting: Rendezvous, ray: RayNode, status: int) -> None:
    try:
        ended = meeting.ended()
        if (status if ended is None else ended) not in (FINISHED, STOPPED):
            ray.keep_logs(meeting.folder / f"ray-{meeting.node}")
    except OSError as error:
        print(f"pacs.cluster: Ray's logs could not be kept: {error}", file=sys.stderr, flush=True)
    finally:
        ray.stop()


if __name__ == "__main__":
    sys.exit(main())
