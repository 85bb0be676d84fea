"""verl's manager of agent loops, with workers that sample as `run.rollouts` says."""

from collections import Counter
from functools import cache
from typing import Any

import ray
from omegaconf import DictConfig
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ
from verl.utils import tensordict_utils as tu

from pacs.integration.exchange import REPEAT
from pacs.integration.patches.critic_rollouts import CriticRollouts
from pacs.integration.patches.dars_rollouts import DarsRollouts
from pacs.integration.patches.guided_rollouts import GuidedRollouts
from pacs.integration.patches.lean_rollouts import LeanWorker
from pacs.integration.patches.partial_rollouts import GoingOn
from pacs.integration.patches.seeded_rollouts import Seeds, drawn_before
from pacs.integration.patches.vine_rollouts import VineRollouts
from pacs.verl_keys.config import draws_more, guides, has_generative_critic, has_partial_rollouts, values_steps


class Manager(AgentLoopManagerTQ):
    """verl's manager."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(worker_class(parts_of(self.config)))
        self._validated: tuple[int, Counter[str]] = (-1, Counter())

    def generate_sequences(self, prompts: Any) -> None:
        """verl's; of a validation with seeds it is noted how often a prompt came before, as a training step does."""
        if self.config.run.rollouts.seeded and "validate" in prompts:
            if self._validated[0] != (step := int(prompts["global_steps"])):
                self._validated = step, Counter()
            tu.assign_non_tensor_stack(prompts, REPEAT, drawn_before(prompts["raw_prompt"], self._validated[1]))
        super().generate_sequences(prompts)


def parts_of(config: DictConfig) -> tuple[type, ...]:
    """What a config adds to our worker; each part goes on to the next. Seeds are given last, to every response."""
    rollouts = config.run.rollouts
    chosen = {DarsRollouts: draws_more(config), GuidedRollouts: guides(config), VineRollouts: values_steps(config)}
    chosen[CriticRollouts] = has_generative_critic(config)
    chosen[GoingOn] = has_partial_rollouts(config)
    chosen[Seeds] = rollouts.seeded
    return tuple(part for part, wanted in chosen.items() if wanted)


@cache
def worker_class(parts: tuple[type, ...]) -> type:
    """Our worker with such parts."""
    return type("".join(part.__name__ for part in parts) + LeanWorker.__name__, (*parts, LeanWorker), {})
