"""This rank's shards of a model under FSDP2: copied to another, written, read. Nothing is gathered.

What other ranks wrote (or the same, on another mesh) is dealt out anew among the ranks of this run. A rank's file is a
state dict whose parameters are DTensors, as verl saves them under FSDP2: `{kind}_world_size_{ranks}_rank_{rank}.pt`,
with `model`, `optim` and `extra_state` of verl, and PACS's `reference`. Each rank maps the files of all old ranks into
memory, puts one parameter together at a time, and keeps its own part of it; nothing is sent.
"""

import re
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule
from torch.distributed.tensor import DTensor, Shard
from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

from pacs.checkpoints.merge import local_part, merge
from pacs.checkpoints.torch_file import read_torch_file


def shard_file(folder: Path, kind: str, ranks: int, rank: int) -> Path:
    """Where `rank` of `ranks` keeps its shards, in verl's naming."""
    return folder / f"{kind}_world_size_{ranks}_rank_{rank}.pt"


def ranks_that_wrote(folder: Path, kind: str) -> int:
    """The number of ranks that the shards in `folder` are of.

    Raises:
        FileNotFoundError: There are none.
    """
    for file in folder.glob(f"{kind}_world_size_*_rank_0.pt"):
        if match := re.fullmatch(rf"{kind}_world_size_(\d+)_rank_0\.pt", file.name):
            return int(match.group(1))
    raise FileNotFoundError(f"{folder} has no shards (no {kind}_world_size_*_rank_0.pt)")


def dealt_out_alike(module: torch.nn.Module, folder: Path, kind: str) -> bool:
    """Whether this rank's own file holds the very parts that `module` has: as many ranks wrote it, on such a mesh.

    Args:
        module: under `fully_shard` over all ranks.
        folder: of the shards.
        kind: "model" or "reference".
    """
    ranks = torch.distributed.get_world_size()
    if ranks_that_wrote(folder, kind) != ranks:
        return False
    # One parameter tells: FSDP shards all on one mesh.
    written = next(iter(_open(shard_file(folder, kind, ranks, torch.distributed.get_rank())).values()))
    there: Any = next(module.parameters())
    sharded = isinstance(written, DTensor) and isinstance(there, DTensor)
    return sharded and torch.equal(written.device_mesh.mesh, there.device_mesh.mesh)


def load_checkpoint(manager: FSDPCheckpointManager, folder: Path) -> None:
    """Do what `manager.load_checkpoint` does, with what another number of ranks (or another mesh) has written.

    Of the random states each rank gets that of the old rank with its number, counted round.

    Raises:
        ValueError: The checkpoint is not of this model or this optimizer.
        UserError: It is sharded in a way that FSDP2 alone does not shard.
        UnsafeFile: A file would run code.
    """
    if manager.should_load_model:
        load_parameters(manager.model.state_dict(), folder, "model")
    if manager.should_load_optimizer:
        load_optimizer(manager.optimizer, folder)
    if manager.should_load_extra:
        ranks = ranks_that_wrote(folder, "extra_state")
        file = shard_file(folder, "extra_state", ranks, torch.distributed.get_rank() % ranks)
        extra = read_torch_file(file)
        manager.load_rng_state(extra["rng"])
        if manager.lr_scheduler is not None:
            manager.lr_scheduler.load_state_dict(extra["lr_scheduler"])
    torch.distributed.barrier()


def load_parameters(parameters: dict[str, torch.Tensor], folder: Path, kind: str) -> None:
    """Write this rank's part of what all the old ranks' files hold into `parameters`, which is changed in place.

    Args:
        parameters: by name; DTensors, or plain tensors of which each rank has the whole.
        folder: of the shards.
        kind: "model" or "reference".

    Raises:
        ValueError: The files hold other parameters, or of another shape.
        UserError: They are sharded in a way that FSDP2 alone does not shard.
    """
    files = _open_all(folder, kind)
    for file in files:
        if file.keys() != parameters.keys():
            raise ValueError(f"{folder} is of another model: {sorted(file.keys() ^ parameters.keys())} differ")
    for name, parameter in parameters.items():
        _fill(parameter, name, [file[name] for file in files])


def load_optimizer(optimizer: torch.optim.Optimizer, folder: Path) -> None:
    """Load the state of `optimizer` (moments, step counts, settings) from all the old ranks' files.

    Raises:
        ValueError: The files are of another number of parameters, or of another shape.
        UserError: They are sharded in a way that FSDP2 alone does not shard.
    """
    states = _open_all(folder, "optim")
    groups = states[0]["param_groups"]
    # The state dict numbers the parameters in the groups' order.
    numbers = chain.from_iterable(group["params"] for group in groups)
    parameters = dict(zip(numbers, chain.from_iterable(g["params"] for g in optimizer.param_groups), strict=True))
    # An optimizer that was just reset has no state.
    state: dict[int, dict[str, Any]] = {}
    for number, values in states[0]["state"].items():
        for key in values:
            parts = [each["state"][number][key] for each in states]
            name = f"{key} of parameter {number}"
            state.setdefault(number, {})[key] = _own_value(name, parts, parameters[number])
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _own_value(name: str, parts: list[Any], parameter: torch.Tensor) -> Any:
    """This rank's part of a moment; what is not sharded (the step count) as it is."""
    if isinstance(parts[0], DTensor):
        moment = torch.empty_like(parameter)
        _fill(moment, name, parts)
        return moment
    # Not a view of the file, which is deleted one day.
    return parts[0].clone() if isinstance(parts[0], torch.Tensor) else parts[0]


@torch.no_grad()
def _fill(target: torch.Tensor, name: str, parts: list[torch.Tensor]) -> None:
    """Write this rank's part of the whole into `target`, on whatever device it is."""
    if parts[0].shape != target.shape:
        raise ValueError(f"{name} has the shape {tuple(parts[0].shape)} there, and {tuple(target.shape)} here")
    part = merge(name, parts, target.dtype)
    if isinstance(target, DTensor):
        for axis, placement in enumerate(target.placements):
            if isinstance(placement, Shard):
                # As fully_shard does it: the last ranks may get less, or nothing.
                chunks = part.chunk(target.device_mesh.size(axis), placement.dim)
                rank = target.device_mesh.get_local_rank(axis)
                part = chunks[rank] if rank < len(chunks) else part.narrow(placement.dim, 0, 0)
    local = local_part(target)
    assert part.shape == local.shape, f"{name} is not sharded as fully_shard does it: {target}"
    local.copy_(part)


def _open_all(folder: Path, kind: str) -> list[dict[str, Any]]:
    """The files of all old ranks."""
    ranks = ranks_that_wrote(folder, kind)
    return [_open(shard_file(folder, kind, ranks, rank)) for rank in range(ranks)]


def _open(file: Path) -> dict[str, Any]:
    """Map a rank's file into memory: its tensors are views of the file, on the host."""
    state: dict[str, Any] = read_torch_file(file, mmap=True)
    return state


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


def local_shards(module: torch.nn.Module, *, trained: bool = False) -> dict[str, torch.Tensor]:
    """This rank's part of every parameter (of the trained ones alone), by name; writing to it changes the parameter."""
    return {name: local_part(parameter) for name, parameter in _sharded_parameters(module, trained).items()}


def save_shards(module: torch.nn.Module, folder: Path, kind: str, *, trained: bool = False) -> None:
    """Write this rank's shards (of the trained parameters alone) to `folder`, which is made.

    It is a state dict of DTensors, as verl's files are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shards = {name: parameter.detach().cpu() for name, parameter in _sharded_parameters(module, trained).items()}
    torch.save(shards, _own_file(folder, kind))


def load_shards(module: torch.nn.Module, folder: Path, kind: str, *, trained: bool = False) -> None:
    """Read what `save_shards` wrote, on as many ranks or on others.

    Raises:
        ValueError: If it is of another model and of other ranks.
        UnsafeFile: If a file would run code.
    """
    if not dealt_out_alike(module, folder, kind):
        load_parameters(_sharded_parameters(module, trained), folder, kind)
        return
    shards = read_torch_file(_own_file(folder, kind))
    with torch.no_grad():
        for name, shard in local_shards(module, trained=trained).items():
            shard.copy_(local_part(shards[name]))


def _sharded_parameters(module: torch.nn.Module, trained: bool = False) -> dict[str, torch.Tensor]:
    for part in module.modules():
        if isinstance(part, FSDPModule):
            # After a forward pass the root may still hold its gathered parameters, which would hide a change.
            part.reshard()
    return {name: value for name, value in module.named_parameters() if value.requires_grad or not trained}


def _own_file(folder: Path, kind: str) -> Path:
    return shard_file(folder, kind, torch.distributed.get_world_size(), torch.distributed.get_rank())
