"""What the loss reports about itself, in a form that sums over micro-batches and ranks.

Every value is additive: with the mini-batch's `denominator` N, the sum over any split into whole groups is
the value for the mini-batch. A sum divided by N is therefore a mean over the rows that count
(`counted_rows`); counts are not divided.

| name                   | formula, over the rows that count    | reading                                   |
|------------------------|--------------------------------------|-------------------------------------------|
| `loss`                 | sum w * l / N                        | Eq. 8, without the policy-gradient term   |
| `residual`             | sum abs(sigmoid(psi) - R) / N        | 0.5 knows nothing; 0 has no more to learn |
| `saturated_fraction`   | #{abs(sigmoid(psi) - R) < 0.01} / N  | rows that hardly give a gradient any more |
| `critic_accuracy`      | #{(psi > 0) == (R = 1)} / N          | psi = 0 predicts wrong                    |
| `log_ratio`            | sum_it m * (logp - ref) / N          | mean of a sequence's sum; without beta    |
| `score_sum_correct`    | sum of psi where R = 1               | divide by `rows_correct` for the mean     |
| `score_sum_wrong`      | sum of psi where R = 0               | divide by `rows_wrong` for the mean       |
| `rows_correct`         | #{R = 1}                             | a count                                   |
| `rows_wrong`           | #{R = 0}                             | a count                                   |
| `mixed_rows`           | #{rows in a group with both classes} | a count; they tell right from wrong       |
| `grpo_fallback_groups` | #{groups with s < 1e-3}              | a count; 0 with other estimators          |
"""

import torch

from pacs.algorithm.groups import Groups
from pacs.algorithm.labels import in_mixed_group
from pacs.algorithm.scores import group_std

SATURATED_RESIDUAL = 0.01


@torch.no_grad()
def loss_metrics(
    *,
    row_losses: torch.Tensor,
    log_ratios: torch.Tensor,
    rewards: torch.Tensor,
    scores: torch.Tensor,
    labels: torch.Tensor,
    counted: Groups,
    estimator: str,
    denominator: float | torch.Tensor,
) -> dict[str, torch.Tensor]:
    """The table above as detached 0-dimensional tensors in the dtype of the loss.

    Args:
        row_losses: (B,) w_i * l_i, 0 in rows that do not count.
        log_ratios: (B,) sequence log-ratios.
        rewards: (B,) reward proxies.
        scores: (B,) psi.
        labels: (B,) checked labels.
        counted: the groups with the rows that count.
        estimator: how the scores were made.
        denominator: N.
    """
    residuals = (torch.sigmoid(scores) - labels).abs()
    correct = labels == 1

    def total(values: torch.Tensor, where: torch.Tensor = counted.rows) -> torch.Tensor:
        return torch.where(counted.rows & where, values, 0).sum(dtype=row_losses.dtype)

    fallback = torch.zeros_like(counted.sizes, dtype=torch.bool)
    if estimator == "grpo":
        fallback = group_std(counted.center(rewards), counted)[1] & (counted.sizes > 0)
    return {
        "loss": total(row_losses) / denominator,
        "residual": total(residuals) / denominator,
        "saturated_fraction": total(residuals < SATURATED_RESIDUAL) / denominator,
        "critic_accuracy": total((scores > 0) == correct) / denominator,
        "log_ratio": total(log_ratios) / denominator,
        "score_sum_correct": total(scores, correct),
        "score_sum_wrong": total(scores, ~correct),
        "rows_correct": total(correct),
        "rows_wrong": total(~correct),
        "mixed_rows": total(in_mixed_group(labels, counted)),
        "grpo_fallback_groups": fallback.sum(dtype=row_losses.dtype),
    }
