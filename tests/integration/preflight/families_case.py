"""A family in a layout: the run's config, and the gradient that its model has one sequence at a time."""

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, open_dict

from pacs.algorithm import Pacs
from pacs.composing import compose_run
from tests.integration.preflight.families import attention_of, tiny_model
from tests.integration.worker.worker_case import Row, autograd_loss, make_rows

CONFIG = Pacs()
ROWS = make_rows(7, seed=3)
TEMPERATURE = 0.7
MODEL = "actor_rollout_ref.model"
#: Name -> packed, fused; in an order in which one process can build them: the fused head stays in the model's class.
LAYOUTS = {
    "padded": (False, False),
    "packed": (True, False),
    "padded, fused": (False, True),
    "packed, fused": (True, True),
}


@cache
def _arithmetic(*overrides: str) -> DictConfig:
    return compose_run(
        "pacs",
        [
            "recipe=arithmetic",
            f"+{MODEL}.load_tokenizer=false",
            f"{MODEL}.use_remove_padding=true",
            f"actor_rollout_ref.rollout.temperature={TEMPERATURE}",
            "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=128",
            "actor_rollout_ref.actor.optim.clip_grad=1e9",
            *overrides,
        ],
    )[0]


def composed(path: Path, family: str, layout: str, *overrides: str, **settings: Any) -> DictConfig:
    """The arithmetic recipe with this model, some rows a micro-batch, and a temperature that is not 1.

    `settings` are of the model's override_config.
    """
    config = deepcopy(_arithmetic(*overrides))
    packed, fused = LAYOUTS[layout]
    config.actor_rollout_ref.model.update({"path": str(path), "use_remove_padding": packed, "use_fused_kernels": fused})
    with open_dict(config):
        settings = {"attn_implementation": attention_of(family)} | settings
        config.actor_rollout_ref.model.override_config.update(settings)
    return config


def reference_log_probs(row: Row) -> torch.Tensor:
    """Some, as a reference of its own would have them: (response tokens,)."""
    return torch.linspace(-3.0, -2.5, len(row.response))


class _AtTemperature(torch.nn.Module):
    """A model whose logits are divided by the temperature, in the sequences' own positions."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> object:
        output = self.model(input_ids=tokens, use_cache=False)
        output.logits = output.logits / TEMPERATURE
        return output


@cache
def autograd_gradient(family: str) -> dict[str, torch.Tensor]:
    """Of Eq. 8 over all rows, by the library's model and autograd alone, one unpadded sequence at a time.

    With eager attention: what the library does for the others is what is tried.
    """
    model = tiny_model(family, "eager")
    rows = [row for row in ROWS if row.uid is not None]
    loss = autograd_loss(_AtTemperature(model), [reference_log_probs(row) for row in rows], rows, CONFIG)
    loss.backward()
    return {name: value.grad for name, value in model.named_parameters() if value.grad is not None}


def relative_error(values: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> float:
    """Of the global L2 norm, over the parameters that have a gradient."""
    difference = sum(
        (values.get(name, torch.zeros(())) - expected.get(name, torch.zeros(()))).square().sum()
        for name in values | expected
    )
    return float((difference / sum(value.square().sum() for value in expected.values())).sqrt())
