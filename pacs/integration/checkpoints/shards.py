"""This rank's shards of a model under FSDP2: copied to another, written, read. Nothing is gathered."""

from pathlib import Path

import torch
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor

from pacs.checkpoints.merge import local_part
from pacs.checkpoints.torch_file import read_torch_file
from pacs.integration.checkpoints.reshard import dealt_out_alike, load_parameters, shard_file


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
    return {
        name: (parameter.to_local() if isinstance(parameter, DTensor) else parameter.data)
        for name, parameter in _sharded_parameters(module).items()
    }


def save_shards(module: torch.nn.Module, folder: Path, kind: str) -> None:
    """Write this rank's shards to `folder`, which is made: a state dict of DTensors, as verl's files are."""
    folder.mkdir(parents=True, exist_ok=True)
    shards = {name: parameter.detach().cpu() for name, parameter in _sharded_parameters(module).items()}
    torch.save(shards, _own_file(folder, kind))


def load_shards(module: torch.nn.Module, folder: Path, kind: str) -> None:
    """Read what `save_shards` wrote, on as many ranks or on others.

    Raises:
        ValueError: If it is of another model and of other ranks.
        UnsafeFile: If a file would run code.
    """
    if not dealt_out_alike(module, folder, kind):
        load_parameters(_sharded_parameters(module), folder, kind)
        return
    shards = read_torch_file(_own_file(folder, kind))
    with torch.no_grad():
        for name, shard in local_shards(module).items():
            shard.copy_(local_part(shards[name]))


def _sharded_parameters(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    for part in module.modules():
        if isinstance(part, FSDPModule):
            # After a forward pass the root may still hold its gathered parameters, which would hide a change.
            part.reshard()
    return dict(module.named_parameters())


def _own_file(folder: Path, kind: str) -> Path:
    return shard_file(folder, kind, torch.distributed.get_world_size(), torch.distributed.get_rank())
