"""What is logged of a step's gradients, whatever the algorithm."""

from collections.abc import Sequence

import numpy as np


def gradient_metrics(norms: Sequence[float], clip: float) -> dict[str, float]:
    """Reduce the gradient norms of a step's updates.

    Args:
        norms: one an update, before clipping; not finite where verl skipped the update.
        clip: `optim.clip_grad`.

    Returns:
        Metric -> value.
    """
    values = np.array(norms)
    finite = values[np.isfinite(values)]
    return {
        "pacs/gradient/norm_max": float(values.max()),
        "pacs/gradient/clipped_fraction": float((finite > clip).sum() / len(values)),
        "pacs/gradient/skipped_count": float(len(values) - len(finite)),
    }
