"""What the weights of `method.update.correction` leave of a step's tokens."""

from collections.abc import Mapping

import torch

#: Of a row: the sum of its tokens' weights, of their squares, the largest, and how many are 0.
COLUMNS = frozenset({"correction", "correction_square", "correction_largest", "rejected_tokens"})


def effective_share(rows: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Kish's effective sample size of the tokens, (sum w)^2 / sum w^2, as a share of them, for each of (B,) rows.

    Args:
        rows: the update's columns; nothing comes of those without a correction.
    """
    if "correction" not in rows:
        return {}
    w, squares, tokens = (rows[name].sum() for name in ("correction", "correction_square", "tokens"))
    share = w.square() / (squares * tokens) if squares > 0 else torch.zeros(())
    return {"correction_effective": share.expand(len(rows["tokens"]))}
