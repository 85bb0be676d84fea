"""An engine for each set of GPUs of a Ray cluster, or on the CPU where there is none; all are kept busy to the end."""

import math
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import ray

from pacs.base.errors import UserError, one_line
from pacs.base.terminal import print
from pacs.evaluation.engine import Engine, EngineFailure, EngineSettings, Finished, Request, check_address
from pacs.evaluation.process import StopRequest
from pacs.rewards.cores import share_cores
from pacs.runs.actor_failures import DEATHS, death_of
from pacs.runs.clearing import TEMPORARY, temporary_variables
from pacs.runs.processes import KEEP_ENVIRONMENT, TOKEN
from pacs.runs.variables import cpu_variable_problems, ray_variable_problems

#: Ray's smallest, nearly: what passes through it are prompts and responses.
OBJECT_STORE_BYTES = 200 * 2**20
POLL_SECONDS = 0.2
#: What vLLM's CPU build is given unless the environment says otherwise (KV cache in GiB).
CPU_VARIABLES = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}


@dataclass(frozen=True)
class RemoteEngine:
    """An engine that is ready.

    Attributes:
        name: for errors.
        actor: Ray's handle.
        max_num_seqs: how many requests it works on at a time.
    """

    name: str
    actor: Any
    max_num_seqs: int


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """A Ray cluster: the one at `address` or in RAY_ADDRESS, or else one of this process's own.

    Raises:
        UserError: If there is none at the address, or a variable is set with which its own has no place.
    """
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    check_address(address)
    if address == "local" and (problem := next(ray_variable_problems(), None)):
        raise UserError(problem)
    local = {"include_dashboard": False, "object_store_memory": OBJECT_STORE_BYTES} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise UserError(f"--ray-address {address}: Ray does not answer ({one_line(error)})") from error
    try:
        yield
    finally:
        ray.shutdown()


def count_engines(gpus: list[int], tensor_parallel: int, asked: int | None) -> int:
    """How many engines there are to be.

    Args:
        gpus: of each node.
        tensor_parallel: GPUs of one engine; they are of one node.
        asked: by --engines; None for as many as there is room for, without a GPU one.

    Raises:
        UserError: If there is no room for them.
    """
    if not any(gpus):
        if tensor_parallel > 1:
            raise UserError(f"--tensor-parallel {tensor_parallel}: there is no GPU here: leave it out")
        return asked or 1
    room = sum(count // tensor_parallel for count in gpus)
    if room == 0:
        raise UserError(f"--tensor-parallel {tensor_parallel}: no node has more than {max(gpus)} GPUs: lower it")
    if asked and asked > room:
        raise UserError(f"--engines {asked}: there are GPUs for {room}, {tensor_parallel} for each: lower it")
    return asked or room


def start_engines(
    settings: EngineSettings, logs: Path, stop: StopRequest, kind: type[Engine] = Engine
) -> list[RemoteEngine]:
    """Start all engines at once, and wait until the last one is ready.

    Args:
        settings: of each.
        logs: folder for what they print.
        stop: asked while they start.
        kind: what they do with a request.

    Raises:
        UserError: If there is no room for them, or a variable is set with which they die.
        EngineFailure: If one cannot start.
        Stopped: If `stop` asks for the end.
    """
    gpus = [int(node["Resources"].get("GPU", 0)) for node in ray.nodes() if node["Alive"]]
    options = settings.options
    count = count_engines(gpus, options.tensor_parallel, options.engines)
    share_cores(engines=count, graders=1)
    has_gpu = any(gpus)
    if not has_gpu and (problem := next(cpu_variable_problems(), None)):
        raise UserError(problem)
    print(f"starting {count} vLLM engine{'s' if count > 1 else ''} on the {'GPUs' if has_gpu else 'CPU'}", flush=True)
    needed, free = count * options.tensor_parallel, int(ray.available_resources().get("GPU", 0))
    if has_gpu and free < needed:
        print(f"waiting for {needed} GPUs, of which {free} are free now (--engines N starts fewer engines)", flush=True)
    remote = ray.remote(kind).options(
        num_cpus=0,
        num_gpus=options.tensor_parallel if has_gpu else 0,
        scheduling_strategy="SPREAD",
        runtime_env={"env_vars": _environment(count, has_gpu)},
    )
    settings = replace(settings, cpu=not has_gpu)
    names = [f"engine {number}" for number in range(count)]
    actors = [remote.remote(settings, logs / f"engine-{number}.log") for number in range(count)]
    calls = {actor.start.remote(): (name, actor) for name, actor in zip(names, actors, strict=True)}
    engines: list[RemoteEngine] = []
    while len(engines) < count:
        for call in ray.wait(list(calls), timeout=POLL_SECONDS)[0]:
            name, actor = calls.pop(call)
            engines.append(RemoteEngine(name, actor, answer(name, call)))
        stop.check()
    return engines


@contextmanager
def running(
    settings: EngineSettings, logs: Path, stop: StopRequest, kind: type[Engine] = Engine
) -> Iterator[list[RemoteEngine]]:
    """The engines of `start_engines`, in a cluster that ends with them; a stop comes before what it makes fail."""
    with cluster(settings.options.ray_address):
        stop.listen()  # Ray has set a handler of its own
        try:
            yield start_engines(settings, logs, stop, kind)
        except EngineFailure:
            stop.check()  # Slurm's signal goes to all processes, the engines among them
            raise
    stop.listen()  # Ray has set the system's default


def answer(name: str, call: Any) -> Any:
    """What an engine answers to a call that is done.

    Raises:
        EngineFailure: If it died, or cannot go on.
    """
    try:
        return ray.get(call)
    except ray.exceptions.RayTaskError as error:  # of what the engine itself has raised
        raise EngineFailure(f"{name}: {error.cause}") from None
    except DEATHS as error:
        raise EngineFailure(f"{name}: {death_of(error)}") from error


def _environment(count: int, has_gpu: bool) -> dict[str, str]:
    """Variables of the engines' processes."""
    variables = {name: os.environ[name] for name in (TOKEN, TEMPORARY, KEEP_ENVIRONMENT)} | temporary_variables()
    # Ours is for training, and imports all of verl in each of vLLM's processes.
    plugins = [plugin.name for plugin in entry_points(group="vllm.general_plugins") if plugin.name != "pacs"]
    variables["VLLM_PLUGINS"] = os.environ.get("VLLM_PLUGINS", ",".join(plugins))
    if not has_gpu:
        defaults = CPU_VARIABLES | {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // count))}
        variables |= {name: os.environ.get(name, value) for name, value in defaults.items()}
    return variables


def room(queued: int, here: int, everywhere: int, engines: int, max_num_seqs: int) -> int:
    """How many requests an engine is given.

    It has twice as many as it works on, so that it never waits for the driver; fewer once what is queued is less than
    all engines work on, so that none has a backlog when another has nothing; and never more than its fair share.

    Args:
        queued: requests that no engine has.
        here: that this engine has.
        everywhere: that all engines have.
        engines: how many there are.
        max_num_seqs: how many this one works on at a time.
    """
    spare = max_num_seqs if queued > engines * max_num_seqs else max(max_num_seqs // 8, 1)
    fair = math.ceil((queued + everywhere) / engines)
    return max(0, min(max_num_seqs + spare, fair) - here)


def generate(
    engines: Sequence[RemoteEngine],
    queue: deque[Request],
    deliver: Callable[[Finished], None],
    tick: Callable[[], None],
    stop: StopRequest,
) -> None:
    """Draw all samples of a queue.

    Args:
        engines: that are ready.
        queue: what to draw; those of one problem beside each other find their prompt in an engine's prefix cache.
        deliver: called with each finished sample.
        tick: called several times a second, also while nothing is finished.
        stop: asked as often.

    Raises:
        EngineFailure: If an engine dies; what was delivered is not lost.
        Stopped: If `stop` asks for the end.
    """
    has = {engine.name: 0 for engine in engines}
    calls: dict[Any, RemoteEngine] = {}

    def hand_out(engine: RemoteEngine) -> None:
        count = room(len(queue), has[engine.name], sum(has.values()), len(engines), engine.max_num_seqs)
        requests = [queue.popleft() for _ in range(min(count, len(queue)))]
        has[engine.name] += len(requests)
        if has[engine.name]:
            calls[engine.actor.exchange.remote(requests)] = engine

    for engine in engines:
        hand_out(engine)
    while calls:
        for call in ray.wait(list(calls), timeout=POLL_SECONDS)[0]:
            engine = calls.pop(call)
            finished = answer(engine.name, call)
            has[engine.name] -= len(finished)
            hand_out(engine)  # before anything else: it waits
            for each in finished:
                deliver(each)
        tick()
        stop.check()
