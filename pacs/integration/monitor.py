"""In the trainer's process: are the run's actors and vLLM's engines alive, and how far is the trainer?

verl's trainer learns of a dead process only from a call to it. During generation it makes none: it waits for rollouts
that a dead engine, agent loop or reward worker never delivers.
"""

import os
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ray

from pacs.runs.state import Progress, report_fault, write_progress
from pacs.runs.supervisor import FAILED

POLL_SECONDS = 1.0
#: Looks at an engine that must fail before it is taken for dead; a busy server may be slow to answer once.
FAILED_LOOKS = 3
HEALTH_TIMEOUT_SECONDS = 10.0
#: The logs get this long to be closed before the process ends.
CLOSE_SECONDS = 5.0


class Monitor(threading.Thread):
    """Watches until it is stopped; a death ends this process with its cause in fault.json.

    Args:
        run_dir: the run's folder.
        actors: the actors that the run cannot do without, by what they are.
        engines: addresses ("host:port") of vLLM's servers, by what they are.
        progress: what the trainer is at; called from this thread.
        close: closes the run's logs; called before the process is ended.
    """

    def __init__(
        self,
        run_dir: Path,
        actors: Mapping[str, Any],
        engines: Mapping[str, str],
        progress: Callable[[], Progress],
        close: Callable[[], None],
    ) -> None:
        super().__init__(daemon=True, name="pacs-monitor")
        self.run_dir, self.actors, self.engines, self.progress, self.close = run_dir, actors, engines, progress, close
        self.stopped = threading.Event()
        self.failed_looks = dict.fromkeys(engines, 0)

    def run(self) -> None:
        """Look once a second."""
        # An answer may wait behind an actor's work as long as it likes; a death answers at once.
        pings = {handle.__ray_ready__.remote(): name for name, handle in self.actors.items()}
        written = None
        while not self.stopped.wait(POLL_SECONDS):
            progress = self.progress()
            if progress != written:
                write_progress(self.run_dir, progress)
                written = progress
            for ping in ray.wait(list(pings), num_returns=len(pings), timeout=0)[0]:
                name = pings.pop(ping)
                try:
                    ray.get(ping)
                except ray.exceptions.RayActorError as error:
                    self._end(f"{name} died: {death_of(error)}")
                pings[self.actors[name].__ray_ready__.remote()] = name
            for name, address in self.engines.items():
                problem = health_problem(address)
                self.failed_looks[name] = 0 if problem is None else self.failed_looks[name] + 1
                if self.failed_looks[name] == FAILED_LOOKS:
                    self._end(f"{name} died or does not answer ({problem})")

    def stop(self) -> None:
        """Stop watching, and write the trainer's last progress."""
        self.stopped.set()
        self.join()
        write_progress(self.run_dir, self.progress())

    def _end(self, cause: str) -> None:
        if self.stopped.is_set():
            return
        report_fault(self.run_dir, cause)
        print(f"pacs: {cause}; ending the run", flush=True)
        closing = threading.Thread(target=self.close, daemon=True)
        closing.start()
        closing.join(CLOSE_SECONDS)
        os._exit(FAILED)


def health_problem(address: str) -> str | None:
    """What is wrong with the vLLM server at `address`, by its own /health; None if nothing is."""
    try:
        with urllib.request.urlopen(f"http://{address}/health", timeout=HEALTH_TIMEOUT_SECONDS):
            return None
    except (urllib.error.URLError, OSError) as error:
        return f"http://{address}/health: {error}"


def death_of(error: ray.exceptions.RayActorError) -> str:
    """Ray's reason for an actor's death, in a line."""
    lines = [line.strip() for line in str(error).splitlines()]
    reasons = [line for line in lines if line.startswith("The actor is dead because")] or lines[:1]
    process = [line for line in lines if line.startswith(("pid:", "ip:"))]
    detail = re.split(r"Some common causes|There are some potential", reasons[0])[0].strip()
    return " ".join([detail, *(["(" + ", ".join(process) + ")"] if process else [])])
