"""verl's workers with what PACS adds: the mini-batch's row count, and a reference that can be reset."""

from pathlib import Path
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor
from verl.single_controller.base.decorator import Dispatch, register
from verl.utils import tensordict_utils as tu
from verl.workers.engine_workers import ActorRolloutRefWorker, TrainingWorker

from pacs.integration.loss import COUNTED, DENOMINATOR


class PacsTrainingWorker(TrainingWorker):
    """The actor's training worker: counts a mini-batch's rows before its loss is computed."""

    def train_batch(self, data: Any) -> Any:
        """Run verl's update on one mini-batch, with Eq. 8's N (rows that count, over all ranks) beside the data."""
        count = data[COUNTED].sum().to(torch.int64).to(self.device_name)
        torch.distributed.all_reduce(count, group=self.engine.get_data_parallel_group())
        tu.assign_non_tensor(data, **{DENOMINATOR: max(int(count), 1)})
        return super().train_batch(data)


class PacsWorker(ActorRolloutRefWorker):
    """Actor, rollout and reference in one process; the reference is replaced shard by shard."""

    actor_worker_cls = PacsTrainingWorker

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset_reference(self, reset_optimizer: bool) -> None:
        """Make the reference the current policy; optionally forget the optimizer's moments.

        Each rank copies its own shards: no gather, no file.
        """
        copy_shards(self.actor.engine.module, self.ref.engine.module)
        if reset_optimizer:
            self.actor.engine.optimizer.state.clear()

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def save_reference(self, folder: str) -> None:
        """Write this rank's shards of the reference to `folder`."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        shards = {name: shard.cpu() for name, shard in local_shards(self.ref.engine.module).items()}
        torch.save(shards, self._reference_file(folder))

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def load_reference(self, folder: str) -> None:
        """Read this rank's shards of the reference from `folder`.

        Raises:
            FileNotFoundError: If the checkpoint was written by another number of ranks, or without a reference.
        """
        file = self._reference_file(folder)
        if not file.exists():
            raise FileNotFoundError(
                f"The checkpoint holds no reference for rank {self.rank} of {self.world_size} ({file}): it was "
                "written by another trainer or on another number of ranks. Resume on the same number of ranks "
                "(trainer.n_gpus_per_node * trainer.nnodes), or start anew with trainer.resume_mode=disable."
            )
        shards = torch.load(file, weights_only=True)
        with torch.no_grad():
            for name, shard in local_shards(self.ref.engine.module).items():
                shard.copy_(shards[name])

    def _reference_file(self, folder: str) -> Path:
        return Path(folder) / f"reference_world_size_{self.world_size}_rank_{self.rank}.pt"


def copy_shards(source: torch.nn.Module, target: torch.nn.Module) -> None:
    """Copy every parameter's local shard from `source` to `target`, casting to the target's dtype.

    Both are the same architecture under `fully_shard` on the same mesh, so shards correspond one to one.

    Raises:
        ValueError: If the two do not have the same shards.
    """
    sources, targets = local_shards(source), local_shards(target)
    if sources.keys() != targets.keys() or any(sources[k].shape != targets[k].shape for k in sources):
        raise ValueError("The policy and the reference are sharded differently; use the same fsdp_config for both.")
    with torch.no_grad():
        for name, shard in targets.items():
            shard.copy_(sources[name])


def local_shards(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """This rank's part of every parameter, by name; writing to it changes the parameter."""
    for part in module.modules():
        if isinstance(part, FSDPModule):
            # After a forward pass the root may still hold its gathered parameters, which would hide a change.
            part.reshard()
    return {
        name: (parameter.to_local() if isinstance(parameter, DTensor) else parameter.data)
        for name, parameter in module.named_parameters()
    }
