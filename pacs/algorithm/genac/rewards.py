"""What the critic's traces earn, what stands in for those that cannot be read, and how often the actor succeeds."""

import math
from collections.abc import Sequence
from typing import Literal

import torch

#: What a trace's reward is compared with.
Baseline = Literal["leave_one_out", "none"]


def critic_reward(outcome: float, value: float | None) -> float:
    """1 - (r - v)^2 for the outcome r of a response and the value v of one of its segments; 0 without a value.

    Its expectation given the state is highest where v is the expected outcome. Among the scores 0 to 10 the best one is
    therefore ten times that, rounded.
    """
    return 0.0 if value is None else 1 - (outcome - value) ** 2


def filled_values(values: Sequence[float | None], rate: float) -> list[float]:
    """The values of a response's segments, where those that could not be read are the response's last one before.

    Args:
        values: of the segments in their order.
        rate: the actor's success rate, for those before the first value.
    """
    filled, last = [], rate
    for value in values:
        last = last if value is None else value
        filled.append(last)
    return filled


def compared(rewards: torch.Tensor, baseline: Baseline = "leave_one_out") -> torch.Tensor:
    """(N,) weights of REINFORCE for the (N,) rewards of all traces of a step.

    leave_one_out: each less the mean of the others, which depends on no token of the trace; a trace alone has nothing
    to be compared with, and is 0. none: the rewards, as the paper prints it.
    """
    if baseline == "none":
        return rewards
    others = max(len(rewards) - 1, 1)
    return (rewards - rewards.mean()) * (len(rewards) / others)


class SuccessRate:
    """How often the actor succeeds: rho <- c rho + (1 - c) m after each step, m the mean of the step's outcomes.

    The template of a step is given `rate` as it was before the step, the same for all of its segments. The paper has
    one change for each response, from 0, which says 0 of an actor that is not yet known.

    Args:
        rate: rho before the first step, as measured.
        decay: c.
    """

    def __init__(self, rate: float, decay: float = 0.9) -> None:
        self.rate, self.decay = rate, decay

    def update(self, outcomes: Sequence[float]) -> None:
        """Learn from the outcomes of a step, once it is over; none change nothing."""
        if outcomes:
            mean = math.fsum(outcomes) / len(outcomes)
            self.rate = self.decay * self.rate + (1 - self.decay) * mean

    def state_dict(self) -> dict[str, float]:
        """What a checkpoint keeps; `decay` is a setting."""
        return {"rate": self.rate}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Go on from a checkpoint."""
        self.rate = float(state["rate"])
