"""What the exact form of STEER reads of the vocabulary at each token, where verl's pass of log pi_old makes it."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from verl.utils import tensordict_utils as tu
from verl.utils import torch_functional

from pacs.integration.exchange import SLOPES

#: The sum over the vocabulary that verl's pass makes where it is asked for: of squared probabilities.
VERLS = "sum_pi_squared"
#: Places whose logits are in float32 at a time.
PLACES = 1024


def give_slopes(engine: Any) -> None:
    """Once: have an engine of verl's give `mean_entropy_slopes` in passes that give the entropy alone.

    They stand where log-probabilities do. verl is asked for a sum of its own, so that it hands the logits on at the
    temperature, and takes packed rows apart; another is made in its place.
    """
    verls_step = engine.forward_step
    if getattr(engine, "gives_slopes", False):
        return

    def forward_step(micro_batch: Any, loss_function: Callable[..., Any] | None, forward_only: bool) -> Any:
        if not forward_only or not tu.get(micro_batch, "calculate_entropy", False):
            return verls_step(micro_batch, loss_function, forward_only)
        tu.assign_non_tensor(micro_batch, calculate_sum_pi_squared=True)
        with mock.patch.object(torch_functional, "calculate_sum_pi_squared_from_logits", mean_entropy_slopes):
            loss, output = verls_step(micro_batch, loss_function, forward_only)
        output["model_output"][SLOPES] = output["model_output"].pop(VERLS)
        return loss, output

    engine.forward_step, engine.gives_slopes = forward_step, True


@torch.no_grad()
def mean_entropy_slopes(logits: torch.Tensor) -> torch.Tensor:
    """(...) float32: sum_k pi_k^2 (ln pi_k + H) of (..., V) logits."""
    found = []
    for part in logits.flatten(0, -2).split(PLACES):
        known = part.float().log_softmax(-1)
        likely = known.exp()
        entropy = -(likely * known).sum(-1, keepdim=True)
        found.append((likely.square() * (known + entropy)).sum(-1))
    return torch.cat(found).view(logits.shape[:-1])
