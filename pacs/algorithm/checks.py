"""Argument checks that several files share; each raises a ValueError that names the argument and the mend."""

from typing import Final, Literal

import torch

from pacs.algorithm.groups import Groups

#: What a method takes for labels: right and wrong alone, what is between them, too, or any number.
LabelKind = Literal["classes", "shares", "numbers"]
#: The same in words that follow "labels".
LABEL_WORDS: Final[dict[LabelKind, str]] = {
    "classes": "of 0 and 1", "shares": "from 0 to 1", "numbers": "of any finite number",
}  # fmt: skip


def taken(labels: torch.Tensor, kind: LabelKind) -> torch.Tensor:
    """(B,) bool: the label is one that a method takes."""
    if kind == "numbers":
        return labels.isfinite()
    return (labels >= 0) & (labels <= 1) if kind == "shares" else (labels == 0) | (labels == 1)


def check_shape(name: str, tensor: torch.Tensor, shape: torch.Size) -> None:
    """Refuse a tensor of another shape: broadcasting would train on something else without a word."""
    if tensor.shape != shape:
        raise ValueError(f"{name} has shape {tuple(tensor.shape)}, where {tuple(shape)} is needed")


def checked_labels(labels: torch.Tensor, groups: Groups, dtype: torch.dtype, kind: LabelKind) -> torch.Tensor:
    """The verifier's (B,) labels R_i as `dtype`, 0 outside the row mask (one host sync).

    Raises:
        ValueError: another shape, or in the row mask a label that is not of the kind.
    """
    check_shape("labels", labels, groups.index.shape)
    bad = groups.rows & ~taken(labels, kind)
    if bad.any():
        values = ", ".join(str(value) for value in torch.unique(labels[bad]).tolist()[:5])
        if kind == "numbers":
            raise ValueError(
                f"labels must be finite, but {int(bad.sum())} of {len(labels)} rows have others ({values}): mend the "
                "reward function"
            )
        if kind == "shares":
            raise ValueError(
                f"labels must be in [0, 1], but {int(bad.sum())} of {len(labels)} rows have others ({values}): map the "
                "verifier's score to that range first"
            )
        raise ValueError(
            f"labels must be 0 (wrong) or 1 (correct), but {int(bad.sum())} of {len(labels)} rows have "
            f"others ({values}): map the verifier's score to 0 or 1 first"
        )
    return torch.where(groups.rows, labels.to(dtype), 0)


def at_least_float32(*tensors: torch.Tensor) -> torch.dtype:
    """The dtype to calculate in: float64 if one of the tensors is, else float32."""
    dtype = torch.float32
    for tensor in tensors:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype
