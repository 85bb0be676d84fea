"""Numbers of each token that a method's credit and its token weight are made of."""

from collections.abc import Mapping

import torch

from pacs.algorithm.checks import check_shape


def read_stream(name: str, streams: Mapping[str, torch.Tensor], mask: torch.Tensor | None, who: str) -> torch.Tensor:
    """The stream of a name, 0 outside the (B, T) mask: (B, T), or of vectors (B, T, H).

    Args:
        name: its name.
        streams: those that are there.
        mask: (B, T) bool, the tokens that take part; None where there is none.
        who: what reads it, in an error.

    Raises:
        ValueError: it is not there, has another shape, or is not finite under the mask.
    """
    if name not in streams or mask is None:
        raise ValueError(f"{who} reads {name} of each token, which is not there")
    given = streams[name].detach()
    check_shape(name, given if given.dim() < 3 else given[..., 0], mask.shape)
    values = torch.where(mask if given.dim() < 3 else mask[..., None], given, 0)
    if not values.isfinite().all():
        count = int((~values.isfinite()).flatten(1).any(dim=1).sum())
        raise ValueError(f"{name} is not finite in {count} of {len(mask)} rows")
    return values
