"""The noise of packing, from differences that are known."""

from types import SimpleNamespace

import pytest
import torch
from tensordict import TensorDict

from pacs.integration.exactness.engine_log_probs import packing_noise

#: What rows give more together than alone, a token; the first two are the prompt's.
DIFFERENCES = ([9.0, 0.5, -0.25], [9.0, 0.125, 0.125, 0.5])


class Engine:
    """Stands for verl's: log-probabilities that depend on the number of rows in a micro-batch by `DIFFERENCES`."""

    model_config = SimpleNamespace(use_remove_padding=True, use_fused_kernels=True)

    def __init__(self) -> None:
        self.layouts: list[tuple[bool, bool, bool]] = []

    def eval_mode(self) -> torch.no_grad:
        return torch.no_grad()

    def infer_batch(self, data: TensorDict) -> dict:
        self.layouts.append(tuple(data[f"use_{key}"] for key in ("remove_padding", "fused_kernels", "dynamic_bsz")))
        together = data["micro_batch_size_per_gpu"] > 1
        rows = [
            row.float() + (torch.tensor([*difference, 77.0]) if together else 0.0)
            for row, difference in zip(data["input_ids"].unbind(), DIFFERENCES, strict=True)
        ]
        return {"model_output": {"log_probs": torch.nested.as_nested_tensor(rows, layout=torch.jagged)}}


def test_a_response_s_differences_are_summed_without_its_prompt() -> None:
    rows = [torch.arange(4), torch.arange(5)]
    engine = Engine()
    noise = packing_noise(engine, rows, prompt_tokens=2, temperature=1.0)
    assert noise == {
        "per_token": pytest.approx((0.5 + 0.25 + 0.125 + 0.125 + 0.5) / 5),
        "per_response_mean": pytest.approx((0.25 + 0.75) / 2),
        "per_response_max": pytest.approx(0.75),
        "tokens": 2.5,
    }
    assert engine.layouts == [(True, True, False)] * 2
