"""What can be known to be wrong with a Ray cluster that is there before a run starts on it."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import ray
from omegaconf import DictConfig

from pacs.base.errors import first_line
from pacs.base.terminal import print
from pacs.integration import nodes
from pacs.integration.checks.machine import data_files
from pacs.integration.checks.run import ConfigError, refuse
from pacs.integration.checks.slots import CPUS_OF_A_RANK
from pacs.integration.provenance import installed_versions
from pacs.verl_keys.config import ranks
from pacs.verl_keys.names import RAY_ADDRESS
from pacs.verl_keys.workload import engine_gpus


def prepare_cluster(config: DictConfig) -> None:
    """Check the Ray cluster that the config names by its address, if any, and end there what is left of this run.

    This process holds the lock of the run's folder.

    Raises:
        ConfigError: If it refuses the connection, has too few nodes or GPUs, or if its nodes lack what the run needs.
    """
    address = config.ray_kwargs.ray_init.get("address")
    if address is None:
        return
    try:
        with nodes.connected(address):
            refuse([*resource_problems(config, nodes.living_nodes()), *_node_problems(config)])
            _remark(config)
            nodes.clear_other_nodes(Path(config.run.dir))
            if nodes.has_queue():
                mend = "wait for its end, or start a cluster for this one"
                said = f"a run is training there, and verl has one queue of rows in a cluster: {mend}."
                raise ConfigError(f"{RAY_ADDRESS}={address}: {said}")
            nodes.prepare_other_nodes(Path(config.run.dir))
    except (ray.exceptions.GetTimeoutError, ray.exceptions.RayTaskError) as error:
        last = str(error).strip().splitlines()[-1]
        raise ConfigError(f"{RAY_ADDRESS}={address}: another node cannot be made ready: {last}") from error
    except (ConnectionError, RuntimeError, ray.exceptions.RayError) as error:
        raise ConfigError(
            f"{RAY_ADDRESS}={address}: Ray refuses the connection: {first_line(error)}. If it asks for a "
            "token (InvalidAuthToken above), set RAY_AUTH_MODE here as it was for `ray start` (docs/scaling.md)."
        ) from error


def resource_problems(config: DictConfig, living: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What the nodes (`nodes.living_nodes`) have too little of, a sentence each."""
    wanted, each = config.trainer.nnodes, config.trainer.n_gpus_per_node
    gpus = [(node["NodeManagerHostname"], int(node["Resources"].get("GPU", 0))) for node in living]
    with_gpus = [node for node, (_, count) in zip(living, gpus, strict=True) if count >= each]
    cpus = [(node["NodeManagerHostname"], int(node["Resources"].get("CPU", 0))) for node in with_gpus]
    least = CPUS_OF_A_RANK * each
    if sum(count >= each for _, count in gpus) < wanted:
        has = ", ".join(f"{host}: {count}" for host, count in sorted(gpus))
        if len(gpus) < wanted:
            mend = f"start it on more (sbatch --nodes={wanted})"
        elif config.trainer.device == "cpu":  # which pacs.cluster has done for a node of its own
            slots = config.ray_kwargs.ray_init.num_cpus
            logical = f"--num-gpus={each}" + (f" --num-cpus={slots}" if slots is not None else "")
            mend = f"start Ray on each node with {logical}, logical GPUs of which each is a rank on the CPU"
        else:
            mend = f"start it on nodes with more GPUs (sbatch --gpus-per-node={each})"
        yield (
            f"trainer.nnodes={wanted} and trainer.n_gpus_per_node={each}, but the Ray cluster has {len(gpus)} nodes "
            f"(GPUs of each: {has}): ask for fewer, or {mend}."
        )

    elif sum(count for _, count in gpus) < ranks(config) + (apart := engine_gpus(config)):
        yield (
            f"actor_rollout_ref.rollout.nnodes={config.actor_rollout_ref.rollout.nnodes}: {apart} GPUs for vLLM and "
            f"{ranks(config)} for the training are more than the Ray cluster has: lower either, or start it on more."
        )

    elif sum(count >= least for _, count in cpus) < wanted:
        has = ", ".join(f"{host}: {count}" for host, count in sorted(cpus))
        yield (
            f"trainer.n_gpus_per_node={each}: verl sets {CPUS_OF_A_RANK} of Ray's CPUs apart for each GPU, {least} a "
            f"node, and would wait for them for ever (CPUs of each node: {has}): start Ray with more (--num-cpus, or "
            "the container's limit of cpu)."
        )


def _remark(config: DictConfig) -> None:
    """Say what is spare, and what may be short."""
    wanted, living = config.trainer.nnodes, nodes.living_nodes()
    if (spare := len(living) - wanted) > 0 and not engine_gpus(config):
        print(f"pacs: trainer.nnodes={wanted}: {spare} of the Ray cluster's {len(living)} nodes are not used")
    slots = int(sum(node["Resources"].get("CPU", 0) for node in living))
    expected = config.ray_kwargs.ray_init.num_cpus
    if expected is not None and slots < expected:
        print(
            f"pacs: the Ray cluster has {slots} CPUs, which are slots for actors, and the config expects {expected} "
            f"(ray_kwargs.ray_init.num_cpus): if the start waits for ever, start Ray with --num-cpus={expected}",
            flush=True,
        )


def _node_problems(config: DictConfig) -> Iterator[str]:
    """What a node lacks: the run's folder, its inputs, the same versions as here."""
    run_dir = Path(config.run.dir)
    token = run_dir / f".shared-{uuid4().hex}"
    token.touch()
    named = [Path(str(config.actor_rollout_ref.model.path)).expanduser(), *(file for _, file in data_files(config))]
    files = [token, *(file.absolute() for file in named if file.exists())]
    here, there = installed_versions(), nodes.other_nodes()
    try:
        for node, call in zip(there, nodes.on_nodes(there, nodes.look_on_this_node, files), strict=True):
            yield from _problems_of(node["NodeManagerHostname"], call, token, here)
    finally:
        token.unlink()


def _problems_of(host: str, call: Any, token: Path, here: dict[str, str]) -> Iterator[str]:
    mend = "start Ray there from the same environment as here"
    try:
        missing, versions = ray.get(call, timeout=nodes.ANSWER_SECONDS)
    except ray.exceptions.RayError as error:
        yield f"node {host} cannot run this project ({str(error).strip().splitlines()[-1]}): {mend}."
        return
    if token in missing:
        yield f"run.dir={token.parent} is not the same folder on {host}: choose one that all nodes share."
    for file in missing:
        if file != token:
            yield f"{file} is here, but not on node {host}: copy it there, or put it where all nodes see it."
    if differing := {name for name in here | versions if here.get(name) != versions.get(name)}:
        said = ", ".join(f"{name} {versions.get(name)} (here {here.get(name)})" for name in sorted(differing))
        yield f"node {host} has other versions: {said}: {mend}."
