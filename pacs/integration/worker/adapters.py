"""The reference of a policy with adapters (`actor_rollout_ref.model.lora_rank`): the same model with older adapters.

The weights under them are never trained, so that a reference needs no model of its own: each rank keeps its shards of
the adapters as they were at the last reset, in the host's memory, and puts them in the policy's place for a pass.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from verl.single_controller.base.decorator import Dispatch, register
from verl.utils.device import get_torch_device

from pacs.integration.checkpoints.shards import load_shards, local_shards, save_shards
from pacs.integration.worker.method_worker import MethodTrainingWorker, MethodWorker


class KeptAdapters:
    """A rank's shards of the reference's adapters; at first the policy's own, which add nothing to its model.

    Args:
        engine: verl's FSDP engine of the policy.
    """

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.shards: dict[str, torch.Tensor] = {}
        self.keep()

    @torch.no_grad()
    def keep(self) -> None:
        """The reference becomes the policy."""
        self.shards = {name: shard.detach().to("cpu", copy=True) for name, shard in self._policy().items()}

    @contextmanager
    def in_place(self) -> Iterator[torch.nn.Module]:
        """The model as the reference has it; what is written to its adapters meanwhile is written to the reference's.

        The policy's are there again afterwards, to the bit.
        """
        self._exchange()
        try:
            yield self.engine.module
        finally:
            self._exchange()

    def save(self, folder: Path) -> None:
        """Write this rank's shards of the adapters alone."""
        with self.in_place() as module:
            save_shards(module, folder, "reference", trained=True)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote, on as many ranks or on others."""
        with self.in_place() as module:
            load_shards(module, folder, "reference", trained=True)

    def _policy(self) -> dict[str, torch.Tensor]:
        # verl's offload to the host may still be copying.
        get_torch_device().synchronize()
        return local_shards(self.engine.module, trained=True)

    @torch.no_grad()
    def _exchange(self) -> None:
        for name, shard in self._policy().items():
            other = shard.detach().to("cpu", copy=True)
            shard.copy_(self.shards[name])
            self.shards[name] = other


class AdapterWorker(MethodWorker):
    """Actor and rollout in one process; the reference is the actor's model with the adapters that were kept."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def init_model(self) -> None:
        """verl's; the reference begins as the policy."""
        super().init_model()
        self.kept = KeptAdapters(self.actor.engine)

    def _log_probs_of_reference(self, data: Any) -> torch.Tensor:
        policy: MethodTrainingWorker = self.actor
        with self.kept.in_place():
            return policy.log_probs(data)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset_reference(self, reset_optimizer: bool) -> None:
        """Make the reference the current policy; optionally forget the optimizer's moments."""
        self.kept.keep()
        super().reset_reference(reset_optimizer)

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def save_reference(self, folder: str) -> None:
        """Write this rank's shards of the reference's adapters to `folder`."""
        self.kept.save(Path(folder))

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def load_reference(self, folder: str) -> None:
        """Read this rank's shards of the reference's adapters from `folder`, whatever number of ranks wrote it."""
        self.kept.load(Path(folder))
