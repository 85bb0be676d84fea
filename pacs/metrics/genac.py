"""What a step says of a critic that writes text: how well its scores tell the outcomes, and what they cost."""

import math
from collections.abc import Sequence

import torch


def critic_metrics(
    *, outcomes: Sequence[float], values: Sequence[float | None], tokens: Sequence[int], responses: int, rate: float
) -> dict[str, float]:
    """The metrics of a step's traces.

    Args:
        outcomes: r of each trace's response.
        values: of each trace; None where it has no score.
        tokens: of each trace.
        responses: that they are about.
        rate: the pass rate that the critic was told.

    Returns:
        Metric -> value; without what is not defined, as the share of variance where all outcomes are the same.
    """
    v = torch.tensor([math.nan if value is None else value for value in values], dtype=torch.float64)
    scored = ~v.isnan()
    r = torch.tensor(outcomes, dtype=torch.float64)[scored]
    v = v[scored]
    metrics = {
        "pacs/genac/segments_mean": len(values) / responses,
        "pacs/genac/trace_tokens_mean": sum(tokens) / len(tokens),
        "pacs/genac/trace_tokens_sum": float(sum(tokens)),
        "pacs/genac/unparsable_fraction": float((~scored).double().mean()),
        "pacs/genac/rate_mean": rate,
    }
    if len(v):
        error, variance = (r - v).square().mean(), r.var(correction=0)
        metrics |= {"pacs/genac/value_mean": float(v.mean()), "pacs/genac/squared_error_mean": float(error)}
        if variance > 0:
            metrics["pacs/genac/explained_fraction"] = float(1 - error / variance)
    return metrics
