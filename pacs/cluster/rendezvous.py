"""The folder in which the nodes of one job meet: where the head is, who has joined, that a stop was asked for, the end.

It is on a file system that all nodes share, as the run's folder must be; each start of a job has its own.
"""

import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

from pacs.base.files import read_json, to_line, write_atomically
from pacs.runs.state import this_host

POLL_SECONDS = 0.5
#: What a batch script touches there when a stop is asked for: Slurm would send a signal to every process of a node.
NOTICE = "notice"
#: The run's exit status, once it has ended.
END = "end"
NOT_SHARED = "this folder is not on a file system that all nodes share"


class ClusterError(RuntimeError):
    """The cluster cannot be made; the message says why, and what to change."""


@dataclass(frozen=True)
class Member:
    """A node's word on itself.

    Attributes:
        host: its name.
        state: here (it has started), joined (Ray is up on it) or failed.
        problem: what hinders it, or why it failed.
    """

    host: str
    state: Literal["here", "joined", "failed"]
    problem: str | None = None


class Rendezvous:
    """One start's folder, seen from one node.

    Args:
        folder: the folder; it is made.
        node: this node's number; 0 is the head.
        nodes: how many there are.

    Raises:
        ClusterError: If it cannot be written, or is another start's.
    """

    def __init__(self, folder: Path, node: int, nodes: int) -> None:
        self.folder, self.node, self.nodes = folder, node, nodes
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self._file(node).exists():
                raise ClusterError(f"{folder} is another start's: give each start a folder of its own.")
            if node == 0:
                self.secret.touch(mode=0o600)
                self.secret.write_text(token_hex(32), encoding="utf-8")
            self.say("here")
        except OSError as error:
            raise ClusterError(f"{folder} cannot be written on {this_host()} ({error}): choose another.") from error

    def say(self, state: Literal["here", "joined", "failed"], problem: str | None = None) -> None:
        """Write this node's word on itself."""
        _write(self._file(self.node), asdict(Member(this_host(), state, problem)))

    @property
    def secret(self) -> Path:
        """The file with what Ray asks of whoever calls it: its ports are open to the network."""
        return self.folder / "ray_token"

    def open(self, address: str) -> None:
        """The head's Ray is up at `address` ("host:port")."""
        _write(self.folder / "head.json", {"address": address})

    def wait_for_head(self, seconds: float) -> str:
        """The address of the head's Ray.

        Raises:
            ClusterError: If there is none in time.
        """
        deadline = time.monotonic() + seconds
        while (head := read_json(self.folder / "head.json")) is None:
            if self.ended() is not None:
                raise ClusterError("the head has ended before its Ray was up; its log says why.")
            if time.monotonic() > deadline:
                late = f"no word from the head in {self.folder} within {seconds:.0f} s"
                raise ClusterError(f"{late}: it has not started Ray (see its log), or {NOT_SHARED}.")
            time.sleep(POLL_SECONDS)
        return str(head["address"])

    def member(self, node: int) -> Member | None:
        """A node's word on itself, or None where there is none yet."""
        values = read_json(self._file(node))
        return None if values is None else Member(**values)

    def failures(self) -> list[str]:
        """A line for each other node that has failed."""
        members = ((node, self.member(node)) for node in range(1, self.nodes))
        return [f"node {node} ({m.host}): {m.problem}" for node, m in members if m is not None and m.state == "failed"]

    def absent(self) -> list[str]:
        """A line for each other node that has not joined yet: what is known of it."""
        lines = []
        for node in range(1, self.nodes):
            member = self.member(node)
            if member is None:
                lines.append(f"node {node}: no word from it in {self.folder}: it was not started, or {NOT_SHARED}")
            elif member.state != "joined":
                why = member.problem or "started, and not in Ray yet; see its log"
                lines.append(f"node {node} ({member.host}): {why}")
        return lines

    def notice(self) -> bool:
        """Whether a stop was asked for."""
        with suppress(OSError):  # a file system that is away for a moment
            return (self.folder / NOTICE).exists()
        return False

    def end(self, status: int) -> None:
        """The head's word that all is over; the batch script reads it too."""
        write_atomically(self.folder / END, f"{status}\n")

    def ended(self) -> int | None:
        """The run's exit status, or None before the end."""
        with suppress(OSError):  # not there, or a file system that is away for a moment
            return int((self.folder / END).read_text(encoding="utf-8"))
        return None

    def _file(self, node: int) -> Path:
        return self.folder / f"node-{node}.json"


def _write(file: Path, values: dict[str, Any]) -> None:
    write_atomically(file, to_line(values))
