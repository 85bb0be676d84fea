"""Weights between processes on a CPU: every engine gets each tensor as it was sent, of whatever dtype and shape."""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import ray
import torch
from verl.checkpoint_engine import CheckpointEngineRegistry
from verl.workers.rollout.base import get_rollout_class

from pacs.integration.patches.engine_weights import GLOO, GlooWeights
from pacs.integration.patches.registry import COLLECTIVE_SECONDS
from pacs.integration.patches.weight_transfer import WatchedServerAdapter

TRAINERS, ENGINES = 2, 3


def weights(factor: float) -> Iterator[tuple[str, torch.Tensor]]:
    numbers = torch.arange(12, dtype=torch.float32) * factor
    yield "across", numbers.view(3, 4).t()
    yield "half", numbers.bfloat16().view(2, 6)
    yield "one number", torch.tensor(factor)
    yield "counts", torch.arange(5)


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> list[GlooWeights]:
    monkeypatch.setitem(os.environ, COLLECTIVE_SECONDS, "20")
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "127.0.0.1")
    new = CheckpointEngineRegistry.new
    trainers = [new(GLOO, is_master=rank == 0, bucket_size=1) for rank in range(TRAINERS)]
    return [*trainers, *(new(GLOO, bucket_size=1) for _ in range(ENGINES))]


def transferred(sides: list[GlooWeights], factor: float) -> list[dict[str, torch.Tensor]]:
    """As verl's manager has it done, of each engine what it has got."""
    metadata = [side.prepare() for side in sides]
    parts = GlooWeights.build_topology(TRAINERS, ENGINES, metadata)
    asked = [
        {name: values[place] for name, values in part.items()} for part in parts for place in range(len(part["rank"]))
    ]

    async def receive(side: GlooWeights) -> dict[str, torch.Tensor]:
        return {name: tensor async for name, tensor in side.receive_weights()}

    def take_part(place: int) -> dict[str, torch.Tensor] | None:
        sides[place].init_process_group(**asked[place])
        if place >= TRAINERS:
            return asyncio.run(receive(sides[place]))
        gathered = weights(factor)
        asyncio.run(sides[place].send_weights(gathered))
        assert next(gathered, None) is None  # gathering takes all training ranks
        return None

    with ThreadPoolExecutor(len(sides)) as pool:
        got = list(pool.map(take_part, range(len(sides))))
    for side in sides:
        side.finalize()
    return [each for each in got if each is not None]


def test_each_engine_gets_what_was_sent_in_one_transfer_after_another(sides: list[GlooWeights]) -> None:
    for factor in (1.0, -0.5):
        got, sent = transferred(sides, factor), dict(weights(factor))
        assert len(got) == ENGINES
        for each in got:
            assert list(each) == list(sent)
            assert all(each[name].dtype == sent[name].dtype and torch.equal(each[name], sent[name]) for name in sent)


def test_the_engine_s_side_is_watched() -> None:
    assert get_rollout_class("vllm", "async") is WatchedServerAdapter
