"""The discriminative critic: a value head that learns from the same responses as the generative one."""

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from recipes.genac_arithmetic.states import State
from recipes.laboratory.ppo import Critic
from recipes.laboratory.sampling import Samples

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedModel


def pretrained(
    actor: "PreTrainedModel",
    samples: Samples,
    outcomes: torch.Tensor,
    *,
    steps: int,
    responses: int,
    lr: float,
    seed: int,
) -> Critic:
    """A value head after regression of each token's value on its response's outcome, as VC-PPO begins.

    Args:
        actor: the model whose body the critic begins with.
        samples: B responses.
        outcomes: (B,) of each.
        steps: updates.
        responses: of an update.
        lr: Adam's; it falls to a fiftieth over the second half.
        seed: of what is drawn.
    """
    critic, order = Critic(actor), random.Random(seed)
    optimizer = torch.optim.AdamW(critic.parameters(), lr=lr, weight_decay=0.0)
    for step in range(1, steps + 1):
        rows = torch.tensor(order.sample(range(len(samples)), min(responses, len(samples))))
        part = samples.of(rows)
        errors = (critic(part) - outcomes[rows, None])[part.response_mask]
        optimizer.zero_grad()
        (errors.square().mean() / 2).backward()
        torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1.0, step / 20, 2 * (1 - step / steps) + 0.02)
        optimizer.step()
    return critic


@torch.no_grad()
def valued(critic: Critic, states: Sequence[State]) -> list[float]:
    """The head's value of each state, read at its last token."""
    values: list[float] = []
    for first in range(0, len(states), 256):
        ids = [state.ids for state in states[first : first + 256]]
        longest = max(map(len, ids))
        # What is padded on the right is seen by nothing before it.
        hidden = critic.body(input_ids=torch.stack([pad(each, (0, longest - len(each))) for each in ids]))
        last = torch.tensor([len(each) - 1 for each in ids])
        read = hidden.last_hidden_state[torch.arange(len(ids)), last]
        values += critic.head(read).squeeze(-1).clamp(0, 1).tolist()
    return values
