"""Which processes a start has, by everything but what pacs goes by: the token in their environment.

A process belongs to a start if it descends from its launcher, or is in the session of one that does, or in the mount
namespace that was made for it: looked at again and again while the run lives, so that one whose parents are dead by
now is known. Besides, if its command line, its folder, its environment or a file that it has open or mapped names a
folder of the run's.
"""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

LOOK_SECONDS = 0.2
PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process, which a later one with its number is not.

    Attributes:
        pid: its number.
        started: in clock ticks since the machine's start.
    """

    pid: int
    started: int

    @property
    def title(self) -> str:
        """Its command line; empty if it is gone."""
        with suppress(OSError):
            return (PROC / str(self.pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
        return ""

    def signal(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        if self in processes():
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)


def processes() -> dict[Process, tuple[int, int]]:
    """All living processes of the machine, zombies left out, with their parent and their session."""
    found = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            # The name, in parentheses, may hold anything.
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] not in ("Z", "X"):
            found[Process(int(folder.name), int(fields[19]))] = (int(fields[1]), int(fields[3]))
    return found


class Finder(threading.Thread):
    """Looks, until it is stopped, which processes a start has.

    Args:
        launcher: the number of its first process, which has a session of its own.
        folders: of the run alone.
    """

    def __init__(self, launcher: int, folders: Sequence[Path]) -> None:
        super().__init__(daemon=True, name="finder")
        self.folders = [str(folder).encode() for folder in folders]
        self.launcher = next(process for process in processes() if process.pid == launcher)
        self.known = {self.launcher}
        self.titles: dict[Process, str] = {}
        self.sessions = {launcher}
        self.own_namespace = _namespace(os.getpid())
        self.namespaces: set[str] = set()
        self.stopped, self.frozen = threading.Event(), False
        self.lock = threading.Lock()

    def run(self) -> None:
        """Look again and again."""
        while not self.stopped.wait(LOOK_SECONDS):
            self.look()

    def stop(self) -> None:
        """Look no more."""
        self.stopped.set()
        self.join()

    def freeze(self) -> None:
        """Take up no more: the number of a session or a namespace that is gone may be the next start's."""
        self.stop()
        self.frozen = True

    def look(self) -> set[Process]:
        """The start's living processes, by their descent, session and namespace."""
        with self.lock:
            now = processes()
            by_pid = {process.pid: process for process in now}
            while not self.frozen:
                self.namespaces |= {_namespace(p.pid) for p in self.known if p in now} - {self.own_namespace, ""}
                new = {
                    process
                    for process, (parent, session) in now.items()
                    if process not in self.known
                    and (
                        by_pid.get(parent) in self.known
                        or session in self.sessions
                        or _namespace(process.pid) in self.namespaces
                    )
                }
                if not new:
                    break
                self.known |= new
                self.sessions |= {now[process][1] for process in new} - {os.getsid(0)}
            living = self.known & now.keys()
            self.titles |= {process: title for process in living if (title := process.title)}
            return living

    def living(self) -> set[Process]:
        """The start's living processes, those that only name its folders among them."""
        return self.look() | self.naming()

    def naming(self) -> set[Process]:
        """The living processes that name a folder of the run's; not this one and those that it descends from."""
        now = processes()
        parents = {process.pid: parent for process, (parent, _) in now.items()}
        kin, pid = set(), os.getpid()
        while pid:
            kin.add(pid)
            pid = parents.get(pid, 0)
        found = {process for process in now if process.pid not in kin and self._names(process.pid)}
        self.titles |= {process: title for process in found if (title := process.title)}
        return found

    def _names(self, pid: int) -> bool:
        folder = PROC / str(pid)
        said: list[bytes] = []
        for file in ("cmdline", "environ", "maps"):
            with suppress(OSError):
                said.append((folder / file).read_bytes())
        with suppress(OSError):
            for link in (folder / "cwd", folder / "exe", *(folder / "fd").iterdir()):
                with suppress(OSError):
                    said.append(os.readlink(link).encode())  # noqa: PTH115 (a Path is normalised)
        return any(name in text for text in said for name in self.folders)

    def with_title(self, part: str) -> list[Process]:
        """The start's living processes in whose title `part` stands, the oldest first; "" is the launcher."""
        living = self.look()
        if not part:
            return [self.launcher] if self.launcher in living else []
        return sorted((p for p in living if part in p.title), key=lambda process: (process.started, process.pid))


def _namespace(pid: int) -> str:
    try:
        return os.readlink(PROC / str(pid) / "ns" / "mnt")  # noqa: PTH115 (it is no path)
    except OSError:
        return ""
