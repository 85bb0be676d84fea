"""Whole parameters from the shards of a run's ranks.

FSDP saves a file a rank, in which every parameter is a DTensor: this rank's rows, and how they lie in the whole.
verl's own merger casts everything to bfloat16 and keeps all ranks' shards in memory.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch.distributed.tensor import DTensor, Shard

from pacs.base.errors import UserError
from pacs.checkpoints.integrity import damage_of
from pacs.checkpoints.torch_file import UnsafeFile, read_torch_file

#: Files that are read at once; what limits it is the disk.
THREADS = 4


def open_shards(actor: Path, ranks: int) -> list[dict[str, torch.Tensor]]:
    """Read all ranks' files against their CRCs, and map their state dicts into memory.

    Args:
        actor: folder with verl's `model_world_size_{ranks}_rank_{rank}.pt`.
        ranks: number of training ranks.

    Returns:
        A state dict a rank. The tensors are views of the files: read them, do not write to them.

    Raises:
        UserError: If a rank's file is missing, damaged, or would run code, or the ranks have other parameters.
    """
    files = [actor / f"model_world_size_{ranks}_rank_{rank}.pt" for rank in range(ranks)]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise UserError(f"{actor} lacks {', '.join(missing)}: copy the shards of all {ranks} ranks there")
    with ThreadPoolExecutor(THREADS) as threads:
        for file, damage in zip(files, threads.map(damage_of, files), strict=True):
            if damage:
                raise UserError(f"{file} {damage}: export another checkpoint, or copy that file again")
    try:
        shards = [read_torch_file(file, mmap=True) for file in files]
    except UnsafeFile as error:
        raise UserError(str(error)) from error
    for file, shard in zip(files, shards, strict=True):
        if shard.keys() != shards[0].keys():
            raise UserError(f"{file} has other parameters than {files[0].name}: they are not of one checkpoint")
    return shards


@torch.no_grad()
def merge(name: str, parts: Sequence[torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
    """Put one parameter together.

    Args:
        name: for errors.
        parts: of all ranks, in their order. DTensors are sharded along one axis of their mesh at most and may differ in
            size or be empty; of plain tensors every rank holds the whole.
        dtype: of the result, unless it is a tensor of integers.

    Returns:
        The whole, contiguous.

    Raises:
        UserError: If it is sharded otherwise, or the parts do not make up the whole.
    """
    first = parts[0]
    if not isinstance(first, DTensor):
        return _cast(first, dtype).contiguous()
    local = [local_part(part) for part in parts]
    placements, mesh = first.placements, first.device_mesh.mesh
    sharded = [(axis, placement) for axis, placement in enumerate(placements) if type(placement) is Shard]
    copied = [placement for placement in placements if placement.is_replicate()]
    if len(parts) != mesh.numel() or len(sharded) > 1 or len(sharded) + len(copied) != len(placements):
        lies = f"{name} lies on {mesh.numel()} ranks as {placements}, with {len(parts)} parts here"
        raise UserError(f"{lies}: only what FSDP alone has sharded can be exported")
    if not sharded:
        return _cast(local[0], dtype).contiguous()
    axis, placement = sharded[0]
    # The ranks in one row along the sharded axis. The other rows (of a mesh "ddp", "fsdp") are copies.
    row = mesh.movedim(axis, -1).reshape(-1, mesh.shape[axis])[0].tolist()
    whole = torch.cat([_cast(local[rank], dtype) for rank in row], dim=placement.dim)
    if whole.shape != first.shape:
        shapes = f"{name} should have the shape {tuple(first.shape)}, but its parts make up {tuple(whole.shape)}"
        raise UserError(f"{shapes}: the ranks' files are not of one checkpoint")
    return whole


@torch.no_grad()
def local_part(tensor: torch.Tensor) -> torch.Tensor:
    """What a rank's file holds of a parameter: its part of a DTensor, or the plain tensor."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def _cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    return tensor.to(dtype) if tensor.is_floating_point() else tensor
