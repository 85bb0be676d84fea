"""Processes of Ray's that have imported what an actor needs, before verl makes that actor.

Every actor has a process of its own, which imports verl (5 to 20 s of one core) when the actor is made, and verl makes
them one after the other. A task leaves its process idle, with what it has imported, and Ray gives an idle process to
the next actor that asks for the same environment. The training workers are not among them: each has variables of its
own.
"""

import os
import threading
from importlib import import_module
from typing import Any

import ray
from verl.plugin.platform import get_platform

from pacs.integration.launch.task_runner import PacsTaskRunner

#: Of the run's environment, in verl's order: those of the queue, of rewards and of rollouts.
OF_THE_RUN = (
    ("transfer_queue.controller",),
    ("transfer_queue.storage.simple_storage",),
    ("verl.experimental.reward_loop.reward_loop",),
    ("verl.workers.rollout.llm_server",),
    ("verl.trainer.ppo.v1.agent_loop_tq",),
)
#: Of vLLM's server, which has variables of its own.
OF_THE_SERVER = ("verl.workers.rollout.vllm_rollout.vllm_async_server",)


@ray.remote(num_cpus=0)
def _import(modules: tuple[str, ...]) -> None:
    for module in modules:
        import_module(module)


def warm() -> None:
    """Have the processes of this node import, as many at a time as leave a core to the trainer."""
    server = {**dict.fromkeys(get_platform().ray_noset_envvars(), "1"), **get_platform().rollout_env_vars()}
    tasks: list[tuple[tuple[str, ...], dict[str, Any]]] = [(modules, {}) for modules in OF_THE_RUN]
    tasks.insert(2, (OF_THE_SERVER, {"runtime_env": {"env_vars": server}}))
    here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), True)
    at_a_time = max(1, (os.cpu_count() or 1) - 1)
    begun: list[ray.ObjectRef] = []
    for modules, options in tasks:
        if len(begun) == at_a_time:
            _, begun = ray.wait(begun)
        begun.append(_import.options(scheduling_strategy=here, **options).remote(modules))
    ray.get(begun)


class TaskRunnerInWarmRay:
    """What verl makes the task runner of, as soon as it has started Ray."""

    @staticmethod
    def remote() -> Any:
        """Make it, and `warm` meanwhile."""
        runner = ray.remote(PacsTaskRunner).remote()
        threading.Thread(target=warm, daemon=True, name="pacs-warming").start()
        return runner

    @staticmethod
    def options(**options: Any) -> Any:
        """As `remote`, of Ray's options."""
        return ray.remote(PacsTaskRunner).options(**options)
