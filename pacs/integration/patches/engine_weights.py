"""How engines get new weights, beside verl's ways: registered with verl by every process that sends or takes them.

Between GPUs verl's nccl sends them to engines on GPUs of their own; between processes on a CPU gloo does here. Rank 0
of the trainer says a tensor's name and shape through a store, then broadcasts its bytes to every rank of every engine.
"""

import json
import os
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any

import ray
import torch
from torch._C._distributed_c10d import PrefixStore, ProcessGroupGloo, TCPStore
from verl.checkpoint_engine import CheckpointEngine, CheckpointEngineRegistry
from verl.workers.rollout import base as rollouts

from pacs.integration.patches.registry import COLLECTIVE_SECONDS

#: verl's name of the one between processes on a CPU.
GLOO = "gloo"

rollouts._ROLLOUT_REGISTRY["vllm", "async"] = "pacs.integration.patches.weight_transfer.WatchedServerAdapter"


@CheckpointEngineRegistry.register(GLOO)
class GlooWeights(CheckpointEngine):  # type: ignore[misc]
    """A side of the transfer: a training rank, or a rank of an engine.

    Args:
        bucket_size: verl's, not read: tensors go one by one.
        is_master: of the training ranks the first.
    """

    store: Any
    group: Any

    def __init__(self, bucket_size: int, is_master: bool = False) -> None:
        self.is_master = is_master
        self.timeout = timedelta(seconds=int(os.environ[COLLECTIVE_SECONDS]))

    def prepare(self) -> tuple[str, int] | None:
        """Start the store; its address."""
        if not self.is_master:
            return None
        host = ray.util.get_node_ip_address().strip("[]")
        self.store = TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=self.timeout)
        return host, self.store.port

    @classmethod
    def build_topology(cls, actor_wg_world_size: int, rollout_world_size: int, metadata: list[Any]) -> Any:
        """The first training rank and all ranks of engines; other training ranks (-1) only help to gather."""
        ranks = [0, *[-1] * (actor_wg_world_size - 1)], list(range(1, 1 + rollout_world_size))
        world, address = 1 + rollout_world_size, metadata[0]
        return tuple({"rank": each, "world": [world] * len(each), "address": [address] * len(each)} for each in ranks)

    def init_process_group(self, rank: int, world: int, address: tuple[str, int]) -> None:
        """Meet."""
        self.rank = rank
        if rank < 0:
            return
        if not self.is_master:
            self.store = TCPStore(*address, is_master=False, timeout=self.timeout)
        self.group = ProcessGroupGloo(PrefixStore("group", self.store), rank, world, self.timeout)

    def finalize(self) -> None:
        """Part; the store ends with its last user."""
        self.group = self.store = None

    async def send_weights(self, weights: Iterator[tuple[str, torch.Tensor]], global_steps: int | None = None) -> None:
        """Send what all training ranks gather."""
        number = 0
        for name, tensor in weights:
            if self.rank == 0:
                self._say(number, [name, list(tensor.shape), str(tensor.dtype).removeprefix("torch.")])
                self._broadcast(tensor.contiguous())
            number += 1
        if self.rank == 0:
            self._say(number, None)

    async def receive_weights(self, global_steps: int | None = None) -> AsyncIterator[tuple[str, torch.Tensor]]:
        """What is sent, tensor by tensor."""
        number = 0
        while (said := json.loads(self.store.get(f"weight/{number}"))) is not None:
            name, shape, dtype = said
            tensor = torch.empty(shape, dtype=getattr(torch, dtype))
            self._broadcast(tensor)
            yield name, tensor
            number += 1

    def _say(self, number: int, thing: object) -> None:
        self.store.set(f"weight/{number}", json.dumps(thing))

    def _broadcast(self, tensor: torch.Tensor) -> None:
        # As bytes: gloo does not know every dtype.
        self.group.broadcast(tensor.detach().view(-1).view(torch.uint8), 0).wait()
