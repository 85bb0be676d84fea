"""Argument checks that several files share; each raises a ValueError that names the argument and the mend."""

import difflib
from collections.abc import Iterable, Sequence

import torch


def nearest_word(word: object, known: Iterable[str]) -> str | None:
    """The known word that a misspelt one is likely to mean, or None if none is near."""
    nearest = difflib.get_close_matches(str(word).lower(), list(known), n=1)
    return nearest[0] if nearest else None


def check_choice(key: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a `value` that is not one of the `allowed` words."""
    if value not in allowed:
        nearest = nearest_word(value, allowed)
        hint = f" (did you mean {nearest}?)" if nearest else ""
        raise ValueError(f"{key}={value} is not known{hint}: choose one of {', '.join(allowed)}")


def check_shape(name: str, tensor: torch.Tensor, shape: torch.Size) -> None:
    """Refuse a tensor of another shape: broadcasting would train on something else without a word."""
    if tensor.shape != shape:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}, where {tuple(shape)} is needed")


def at_least_float32(*tensors: torch.Tensor) -> torch.dtype:
    """The dtype to calculate in: float64 if one of the tensors is, else float32."""
    dtype = torch.float32
    for tensor in tensors:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype
