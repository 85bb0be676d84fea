"""In the trainer's process: are the run's actors and vLLM's engines alive, and how far is the trainer?

verl's trainer learns of a dead process only from a call to it. During generation it makes none: it waits for rollouts
that a dead engine, agent loop or reward worker never delivers. While it starts, the call that it waits for may itself
wait for another process, which is dead.
"""

import os
import threading
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import ray
import transfer_queue.interface as tq_interface

from pacs.base.terminal import print
from pacs.integration.nodes import QUEUE, host_of, lost_nodes
from pacs.integration.trainer.failed_prompts import failure_of
from pacs.runs.actor_failures import DEATHS, cause_of, death_of, is_death
from pacs.runs.state import Progress, report_fault, write_progress
from pacs.runs.supervisor import FAILED

POLL_SECONDS = 1.0
#: Looks at an engine that must fail before it is taken for dead; a busy server may be slow to answer once.
FAILED_LOOKS = 3
HEALTH_TIMEOUT_SECONDS = 10.0
#: Past the proxies of the environment: the servers are the cluster's own.
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
#: The logs get this long to be closed before the process ends.
CLOSE_SECONDS = 5.0
#: How long it is given to name the process whose death made the trainer fail.
NAMING_SECONDS = 10.0


class Monitor(threading.Thread):
    """Watches until it is stopped; a death ends this process with its cause in fault.json.

    It watches every actor of this process's namespace that has a name, as soon as Ray knows of it, and what it is given
    beside.

    Args:
        run_dir: the run's folder.
        progress: what the trainer is at, None before it trains; called from this thread.
        close: closes the run's logs; called before the process is ended.
    """

    def __init__(self, run_dir: Path, progress: Callable[[], Progress | None], close: Callable[[], None]) -> None:
        super().__init__(daemon=True, name="pacs-monitor")
        self.run_dir, self.progress, self.close = run_dir, progress, close
        self.stopped = threading.Event()
        self.names: dict[Any, str] = {}
        self.found: set[str] = set()
        self.engines: dict[str, str] = {}
        # An answer may wait behind an actor's work as long as it likes; a death answers at once.
        self.pings: dict[Any, Any] = {}
        # So that an engine that is slow to answer keeps no other, and no word of progress, waiting.
        self.pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="pacs-health")

    def watch(self, actors: Mapping[str, Any], engines: Mapping[str, str]) -> None:
        """Watch these, too; actors that are watched already get these names.

        Args:
            actors: actors that the run cannot do without, by what they are.
            engines: addresses ("host:port") of vLLM's servers, by what they are.
        """
        self.names |= {handle._actor_id: name for name, handle in actors.items()}
        self.pings |= {handle.__ray_ready__.remote(): handle for handle in actors.values()}
        self.engines |= engines

    def run(self) -> None:
        """Look once a second."""
        try:
            self._watch()
        except Exception as error:
            self._end(f"the monitor failed: {cause_of(error)}")

    def _watch(self) -> None:
        looks: dict[str, Future[str | None]] = {}
        failed = Counter[str]()
        written = None
        while not self.stopped.wait(POLL_SECONDS):
            progress = self.progress()
            if progress is not None and progress != written:
                with suppress(OSError):  # a file system that is full or away for a moment; the next look writes again
                    write_progress(self.run_dir, progress)
                    written = progress
            self._find_actors()
            self._look_at_actors()
            for name, address in list(self.engines.items()):
                if name not in looks:
                    looks[name] = self.pool.submit(health_problem, address)
                elif looks[name].done():
                    problem = looks.pop(name).result()
                    failed[name] = 0 if problem is None else failed[name] + 1
                    if failed[name] == FAILED_LOOKS:
                        self._end(f"{name} died or does not answer ({problem})")

    def _find_actors(self) -> None:
        for name in set(ray.util.list_named_actors()) - self.found:
            with suppress(ValueError):  # it is gone again; who waits for it is told
                handle = ray.get_actor(name)
                if handle._actor_id not in self.names:
                    self.watch({f"actor {name}": handle}, {})
            self.found.add(name)

    def _look_at_actors(self) -> None:
        for ping in ray.wait(list(self.pings), num_returns=len(self.pings), timeout=0)[0]:
            handle = self.pings.pop(ping)
            try:
                ray.get(ping)
            except ray.exceptions.ActorUnavailableError:
                pass  # Ray's word for one that may be back
            except DEATHS as error:
                self._end(f"{self.names[handle._actor_id]} died: {death_of(error)}{lost_nodes()}")
            self.pings[handle.__ray_ready__.remote()] = handle

    @contextmanager
    def causes_named(self) -> Iterator[None]:
        """Report why what the trainer does within fails."""
        try:
            yield
        except Exception as error:
            # Before verl takes down the queue, whose death would be taken for the cause. Of a dead engine verl may say
            # only that rollouts have failed.
            if is_death(error) or self.suspects():
                self.join(NAMING_SECONDS)
            report_fault(self.run_dir, failure_of(error, self.run_dir))
            self.stop()
            raise

    def suspects(self) -> bool:
        """Whether an engine does not answer now; if it is dead, the looks to come will say so."""
        return any(problem is not None for problem in self.pool.map(health_problem, list(self.engines.values())))

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


def _managers_of(trainer: Any) -> list[Any]:
    """verl's managers of the run's engines: the policy's, and a critic's."""
    return [trainer.llm_server_manager, *([] if trainer.critic is None else [trainer.critic.engines])]


def engines_of(trainer: Any) -> dict[str, str]:
    """The addresses of the run's engines, by what they are."""
    addresses = [address for manager in _managers_of(trainer) for address in manager.get_addresses()]
    return {f"vLLM engine {i} on {host_of(address)}": address for i, address in enumerate(addresses)}


def servers_of(trainer: Any) -> list[Any]:
    """The actors of the engines' servers."""
    replicas = [replica for manager in _managers_of(trainer) for replica in manager.get_replicas()]
    return [server for replica in replicas for server in replica.servers]


def actors_of(trainer: Any) -> dict[str, Any]:
    """The actors that verl's trainer has started, by what they are."""
    groups = {
        "training worker": trainer.actor_rollout_wg.workers,
        "critic worker": trainer.critic_wg.workers if trainer.use_critic else [],
        "reward worker": trainer.get_reward_handles() or [],
        "generative critic's worker": trainer.critic.workers.workers if trainer.critic is not None else [],
        "vLLM server": servers_of(trainer),
        "TransferQueue controller": [ray.get_actor(**QUEUE)],
        "TransferQueue storage": (tq_interface._TQ_STORAGE or {}).get("SimpleStorage", {}).values(),
    }
    return {f"{what} {i}": handle for what, handles in groups.items() for i, handle in enumerate(handles)}
