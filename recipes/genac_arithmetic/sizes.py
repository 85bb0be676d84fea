"""How much of everything a run has: what is the same for all seeds."""

from dataclasses import asdict, dataclass, replace
from typing import Any

#: The stages that train critics alone, and those that train the actor: an arm each.
CRITICS, UNTOLD, COMPARED = "critics", "untold", "compared"
JOINT = ("grpo", "rloo", "vcppo", "genac", "genac_95", "genac_0", "counted", "counted_0")
#: Sizes that decide nothing of the first.
OF_JOINT = {
    *("steps", "prompts", "responses", "updates_per_step", "lr", "critic_states", "critic_lr", "joint_head_lr"),
    *("continuations", "evaluate_every"),
}
#: And those that decide the last alone.
OF_COMPARED = {"compared_steps", "compared_states", "compared_traces", "compared_lr"}


@dataclass(frozen=True)
class Sizes:
    """Sizes and learning rates of all stages."""

    #: Problems that critics learn from, at most so many, and responses of the actor to each as it begins.
    pool_problems: int = 1200
    pool_responses: int = 1
    #: REINFORCE with the actor frozen: steps, states a step, and the learning rate, which falls over the second half.
    rl_steps: int = 60
    rl_states: int = 96
    rl_lr: float = 4e-05
    #: REINFORCE with several traces of each state, compared with one another: likewise, and traces of a state.
    compared_steps: int = 80
    compared_states: int = 48
    compared_traces: int = 4
    compared_lr: float = 5e-4
    #: A value head: steps, responses a step.
    head_steps: int = 120
    head_responses: int = 32
    head_lr: float = 1e-3
    #: Joint training.
    steps: int = 20
    prompts: int = 8
    responses: int = 8
    updates_per_step: int = 2
    lr: float = 2e-4
    #: Of a step's states, those that the critic learns from, and its learning rates: the generative one's, a head's.
    critic_states: int = 64
    critic_lr: float = 4e-05
    joint_head_lr: float = 5e-4
    #: Continuations of each state, where the arm's values are such shares.
    continuations: int = 16
    #: Problems that decide values' errors, and responses to each.
    probe_problems: int = 64
    probe_responses: int = 1
    #: Problems that pass@1 is of, samples of each, and steps from one evaluation to the next.
    test_problems: int = 64
    test_samples: int = 32
    evaluate_every: int = 20

    def asked(self, stage: str) -> dict[str, Any]:
        """Those that decide a stage, as JSON."""
        left_out = (set() if stage in JOINT else OF_JOINT) | (set() if stage == COMPARED else OF_COMPARED)
        return {name: value for name, value in asdict(self).items() if name not in left_out}


#: Longer joint training, beside the usual one.
LONG = replace(Sizes(), steps=60)
