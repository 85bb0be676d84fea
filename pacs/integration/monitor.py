"""In the trainer's process: are the run's actors and vLLM's engines alive, and how far is the trainer?

verl's trainer learns of a dead process only from a call to it. During generation it makes none: it waits for rollouts
that a dead engine, agent loop or reward worker never delivers.
"""

import os
import threading
import urllib.request
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import ray

from pacs.integration.deaths import DEATHS, cause_of, death_of
from pacs.integration.nodes import lost_nodes
from pacs.runs.state import Progress, report_fault, write_progress
from pacs.runs.supervisor import FAILED
from pacs.terminal import print

POLL_SECONDS = 1.0
#: Looks at an engine that must fail before it is taken for dead; a busy server may be slow to answer once.
FAILED_LOOKS = 3
HEALTH_TIMEOUT_SECONDS = 10.0
#: Past the proxies of the environment: the servers are the cluster's own.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
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
        # So that an engine that is slow to answer keeps no other, and no word of progress, waiting.
        self.pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="pacs-health")

    def run(self) -> None:
        """Look once a second."""
        try:
            self._watch()
        except Exception as error:
            self._end(f"the monitor failed: {cause_of(error)}")

    def _watch(self) -> None:
        # An answer may wait behind an actor's work as long as it likes; a death answers at once.
        pings = {handle.__ray_ready__.remote(): name for name, handle in self.actors.items()}
        looks = {name: self.pool.submit(health_problem, address) for name, address in self.engines.items()}
        written = None
        while not self.stopped.wait(POLL_SECONDS):
            progress = self.progress()
            if progress != written:
                with suppress(OSError):  # a file system that is full or away for a moment; the next look writes again
                    write_progress(self.run_dir, progress)
                    written = progress
            for ping in ray.wait(list(pings), num_returns=len(pings), timeout=0)[0]:
                name = pings.pop(ping)
                try:
                    ray.get(ping)
                except ray.exceptions.ActorUnavailableError:
                    pass  # Ray's word for one that may be back
                except DEATHS as error:
                    self._end(f"{name} died: {death_of(error)}{lost_nodes()}")
                pings[self.actors[name].__ray_ready__.remote()] = name
            for name in [name for name, look in looks.items() if look.done()]:
                problem = looks[name].result()
                self.failed_looks[name] = 0 if problem is None else self.failed_looks[name] + 1
                if self.failed_looks[name] == FAILED_LOOKS:
                    self._end(f"{name} died or does not answer ({problem})")
                looks[name] = self.pool.submit(health_problem, self.engines[name])

    def suspects(self) -> bool:
        """Whether an engine does not answer now; if it is dead, the looks to come will say so."""
        return any(problem is not None for problem in self.pool.map(health_problem, self.engines.values()))

    def stop(self) -> None:
        """Stop watching."""
        self.stopped.set()
        self.join()
        self.pool.shutdown(wait=False, cancel_futures=True)

    def _end(self, cause: str) -> None:
        if self.stopped.is_set():
            return
        print(f"pacs: {cause}; ending the run", flush=True)
        try:
            report_fault(self.run_dir, cause)
            closing = threading.Thread(target=self.close, daemon=True)
            closing.start()
            closing.join(CLOSE_SECONDS)
        finally:
            os._exit(FAILED)


def health_problem(address: str) -> str | None:
    """What is wrong with the vLLM server at `address`, by its own /health; None if nothing is."""
    try:
        with _DIRECT.open(f"http://{address}/health", timeout=HEALTH_TIMEOUT_SECONDS):
            return None
    except (OSError, HTTPException) as error:
        return f"http://{address}/health: {error}"
