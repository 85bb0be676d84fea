"""FlexAttention in more shapes than Dynamo compiles by itself: what runs on a GPU alone stands as a function here."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn

from pacs.integration.worker import shared_prefix

#: More than Dynamo's limit, 8, and fewer than ours.
SHAPES = 12


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How often a function was compiled that takes the place of the mask and of the attention: once for a shape."""
    times: list[int] = []

    def backend(graph: torch.fx.GraphModule, _: Any) -> Any:
        times.append(1)
        return graph.forward

    @torch.compile(backend=backend, dynamic=False)
    def double(values: torch.Tensor) -> torch.Tensor:
        return values * 2

    monkeypatch.setattr(shared_prefix, "flex_attention_mask", lambda **given: double(given["values"]))
    monkeypatch.setattr(shared_prefix, "flex_attention_forward", lambda module, query, *_, **__: double(query))
    yield times
    torch._dynamo.reset()


def test_each_shape_of_the_attention_is_compiled(compiled: list[int]) -> None:
    for length in range(2, 2 + SHAPES):
        shared_prefix._attention(nn.Identity(), torch.empty(length, device="meta"))
    assert len(compiled) == SHAPES
    assert torch._dynamo.config.recompile_limit < SHAPES  # elsewhere it is Dynamo's own


def test_each_shape_of_the_mask_is_compiled(compiled: list[int]) -> None:
    for length in range(2, 2 + SHAPES):
        shared_prefix._mask(device="meta", values=torch.empty(length, device="meta"))
    assert len(compiled) == SHAPES
