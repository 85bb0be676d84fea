"""From sequence log-ratios to scores and losses: everything about a response that needs its group, a value a row.

Both ways to the gradient go through here: with autograd for whole groups in one micro-batch (`pacs_loss`), and
without for gradient caching (`score_responses`, then `surrogate_loss`).
"""

from dataclasses import dataclass

import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from pacs.algorithm.advantages import advantages_of_rows
from pacs.algorithm.checks import at_least_float32, check_shape
from pacs.algorithm.class_balance import balance_classes
from pacs.algorithm.config import PacsConfig
from pacs.algorithm.counting import keep_counted
from pacs.algorithm.groups import Groups, make_groups
from pacs.algorithm.labels import checked_labels
from pacs.algorithm.log_ratio import nan_if_not_finite, proxy_rewards
from pacs.algorithm.scores import group_std, score_groups

#: What is known of a row once it is scored; all (B,).
#:
#: counted              1 if the row counts in N
#: correct              its label R
#: loss                 w * l of Eq. 8
#: score                psi of Eq. 6
#: log_ratio            sum_t m * (log pi_theta - log pi_ref), in nats, without beta
#: tokens               tokens of the response
#: effective_advantage  A_i; with the policy-gradient term, less w * l
#: grpo_fallback        1 if its group's scores are those of dr_grpo (estimator grpo only)
ROW_COLUMNS = ("counted", "correct", "loss", "score", "log_ratio", "tokens", "effective_advantage", "grpo_fallback")


@dataclass(frozen=True)
class ScoredRows:
    """B responses and their scores; rows that do not take part are 0 throughout.

    Attributes:
        log_ratios: (B,) sequence log-ratios.
        rewards: (B,) reward proxies, Eq. 7.
        scores: (B,) psi, Eq. 6.
        losses: (B,) w_i * l_i; its gradient flows where that of the log-ratios does.
        labels: (B,) 0 or 1.
        weights: (B,) w_i, 0 in rows that do not count.
        lengths: (B,) tokens of each response.
        groups: the groups of all rows that take part.
        counted: the groups with only the rows that count in N.
    """

    log_ratios: torch.Tensor
    rewards: torch.Tensor
    scores: torch.Tensor
    losses: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor
    lengths: torch.Tensor
    groups: Groups
    counted: Groups

    @torch.no_grad()
    def columns(self, config: PacsConfig) -> dict[str, torch.Tensor]:
        """The rows as `ROW_COLUMNS`: each (B,), detached, in the dtype of the losses."""
        advantages = advantages_of_rows(
            self.rewards,
            self.labels,
            self.weights,
            self.groups,
            beta=config.beta,
            estimator=config.estimator,
            lengths=self.lengths if config.normalize_by_length else None,
        )
        if config.policy_gradient_term:
            advantages = advantages - self.losses
        fallback = torch.zeros_like(self.scores)
        if config.estimator == "grpo":
            groups_that_fall_back = group_std(self.groups.center(self.rewards), self.groups)[1]
            fallback = self.groups.of_rows(groups_that_fall_back) & self.groups.rows
        known = (self.counted.rows, self.labels, self.losses, self.scores, self.log_ratios, self.lengths)
        values = (*known, advantages, fallback)
        return {name: value.detach().to(self.losses.dtype) for name, value in zip(ROW_COLUMNS, values, strict=True)}


def score_rows(
    log_ratios: torch.Tensor,
    lengths: torch.Tensor,
    labels: torch.Tensor,
    groups: Groups,
    config: PacsConfig,
    weights: torch.Tensor | None,
) -> ScoredRows:
    """Eq. 6 to 8 for (B,) `log_ratios` that are 0 in rows that take no part; see `score_responses`."""
    rewards = proxy_rewards(log_ratios, lengths, beta=config.beta, normalize_by_length=config.normalize_by_length)
    targets = checked_labels(labels, groups, rewards.dtype)
    counted = keep_counted(targets, groups, config)
    if weights is None:
        weights = balance_classes(targets, counted, config.weight_scope)
    else:
        check_shape("weights", weights, groups.index.shape)
        weights = torch.where(counted.rows, weights.detach().to(rewards.dtype), 0)
    # Selecting before the operation, not multiplying after it, keeps NaN where nothing has a weight from value and
    # gradient: 0 * NaN would be NaN, in a backward pass (through grpo's division) too.
    scores = score_groups(
        torch.where(groups.with_any(weights != 0), rewards, rewards.detach()), groups, config.estimator
    )
    weighed = torch.where(weights != 0, scores, 0)
    losses = weights * binary_cross_entropy_with_logits(weighed, targets, reduction="none")
    return ScoredRows(log_ratios, rewards, scores, losses, targets, weights, lengths, groups, counted)


@torch.no_grad()
def score_responses(
    log_ratios: torch.Tensor,
    lengths: torch.Tensor,
    labels: torch.Tensor,
    group_ids: torch.Tensor,
    config: PacsConfig,
    *,
    row_mask: torch.Tensor | None = None,
    weights: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:
    """The first half of gradient caching: every row's score, loss and effective advantage, without a gradient.

    Args:
        log_ratios: (B,) sum_t m_it * (log pi_theta - log pi_ref) at the current weights; one that is not finite makes
            the losses and advantages of its group NaN, unless no row of the group has a weight.
        lengths: (B,) tokens of each response.
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; groups must be whole, so that with several ranks all their rows are given here.
        config: the settings under `pacs.`.
        row_mask: (B,) bool or number; rows that are 0 (padding) have no influence.
        weights: (B,) w_i, by default those of `class_balance_weights` over the rows given.

    Returns:
        `ROW_COLUMNS`, each (B,) float32, or float64 if `log_ratios` is.

    Raises:
        ValueError: shapes that differ, labels other than 0 and 1, a group too small for the estimator.
    """
    groups = make_groups(group_ids, row_mask)
    check_shape("log_ratios", log_ratios, group_ids.shape)
    check_shape("lengths", lengths, group_ids.shape)
    log_ratios = nan_if_not_finite(torch.where(groups.rows, log_ratios.to(at_least_float32(log_ratios)), 0))
    lengths = torch.where(groups.rows, lengths, 0)
    return score_rows(log_ratios, lengths, labels, groups, config, weights).columns(config)
