"""Ray's CPUs on this machine, which are slots for actors: verl waits for ever for those that are not there."""

from collections.abc import Iterator

from omegaconf import DictConfig
from ray._private.utils import get_num_cpus

from pacs.integration.checks.wording import spelled
from pacs.verl_keys.config import actor_slots, ranks_per_node
from pacs.verl_keys.workload import engine_gpus

#: CPUs of Ray that verl sets apart for a training rank, on its node; without them its placement group waits for ever.
CPUS_OF_A_RANK = 3
#: The same, for a GPU of an engine that shares none with the training.
CPUS_OF_AN_ENGINE = 2


@spelled
def slot_problems(config: DictConfig) -> Iterator[str]:
    """Whether a config asks for fewer than it needs of a Ray of its own; a sentence with the setting and the mend."""
    slots = actor_slots(config)
    if type(slots) is int and slots < _needed(config):
        yield f"@ray_kwargs.ray_init.num_cpus= {_too_few(config)}."


def machine_slot_problems(config: DictConfig) -> Iterator[str]:
    """Whether this machine has fewer, where no number is set: Ray then counts its cores, or those of its container."""
    if actor_slots(config) is None and (cores := get_num_cpus(override_docker_cpu_warning=True)) < _needed(config):
        here = f"this machine, or its container, has {cores} cores"
        yield f"{here}, which Ray takes for its CPUs, and that {_too_few(config)}."


def _needed(config: DictConfig) -> int:
    """0 where Ray runs already, or where a number is none, as another check says."""
    judge, rollout = config.reward.reward_model, config.actor_rollout_ref.rollout
    of_judge = judge.n_gpus_per_node if judge.enable and judge.enable_resource_pool else 0
    there = config.ray_kwargs.ray_init.get("address") is not None
    if there or not all(type(each) is int for each in (of_judge, rollout.nnodes, rollout.n_gpus_per_node)):
        return 0
    return CPUS_OF_A_RANK * (ranks_per_node(config) + of_judge) + CPUS_OF_AN_ENGINE * engine_gpus(config)


def _too_few(config: DictConfig) -> str:
    return (
        f"is too few: verl sets {CPUS_OF_A_RANK} of Ray's CPUs apart for each GPU ({CPUS_OF_AN_ENGINE} for one of "
        f"vLLM's own), and would wait for {_needed(config)} for ever: set "
        f"ray_kwargs.ray_init.num_cpus={2 * _needed(config)} (slots for actors, not cores)"
    )
