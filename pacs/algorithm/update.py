"""The gradient of a method's loss, in two ways that agree: through whole groups, or by effective advantages.

`grouped`: `method_loss` of micro-batches of whole groups, by autograd. `cached`: `score_responses` of all rows, with no
model in the graph, which gives each response one number A_i, then `surrogate_loss` of any rows whatever.
"""

from functools import partial

import torch

from pacs.algorithm.checks import at_least_float32, check_shape
from pacs.algorithm.groups import make_groups
from pacs.algorithm.log_ratio import nan_if_not_finite, select, sequence_log_ratios, token_values_of
from pacs.algorithm.method import Method, Rows
from pacs.algorithm.solve import solve, weighed_groups
from pacs.algorithm.surrogate import denominator_of


def method_loss(
    log_probs: torch.Tensor,
    ref_log_probs: torch.Tensor,
    response_mask: torch.Tensor,
    labels: torch.Tensor,
    group_ids: torch.Tensor,
    method: Method,
    *,
    row_mask: torch.Tensor | None = None,
    denominator: float | torch.Tensor | None = None,
    weights: torch.Tensor | None = None,
    allow_not_finite: bool = False,
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """L = (1/N) * sum_i losses_i over whole groups; for PACS that is Eq. 8.

    Args:
        log_probs: (B, T) of any floating dtype, with gradient; see `sequence_log_ratios`.
        ref_log_probs: (B, T), a constant.
        response_mask: (B, T) bool or number; nonzero marks the response's tokens.
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; groups must be whole, since a loss may need its whole group.
        method: with its settings.
        row_mask: (B,) bool or number; rows that are 0 (padding) have no influence, whatever they hold.
        denominator: N, by default the number of rows given that count. For a micro-batch, the number over the whole
            mini-batch: the losses of any split into whole groups then sum to that of the mini-batch. 0 only where no
            row counts. A tensor has one element (and costs a host sync).
        weights: (B,) those of `weigh_rows`, used as they are in rows that count; by default of the rows given. Needed
            where they depend on more than these rows. A row of weight 0 has no loss, but its group is compared with it.
        allow_not_finite: give a loss and a gradient of NaN where a log-probability under the mask is not finite,
            instead of an error: for a caller that skips such an update. The other groups' rows stay as they are. In a
            group without a weight (a dropped one) it has no influence, as in `surrogate_loss`.

    Returns:
        The loss, 0-dimensional, float32 or float64 if a log-probability is; and what is known of each row
        (`row_columns`). If no row counts, the loss is a 0 that still carries a gradient, of zeros.

    Raises:
        ValueError: shapes that differ, log-probabilities under the mask that are not finite (unless allowed),
            labels other than 0 and 1, a group too small for the method, an impossible denominator.
    """
    groups = make_groups(group_ids, row_mask)
    if log_probs.shape[:1] != group_ids.shape:
        raise ValueError(f"log_probs has {len(log_probs)} rows, but group_ids has {len(group_ids)}")
    check_shape("response_mask", response_mask, log_probs.shape)
    mask = (response_mask != 0) & groups.rows[:, None]
    log_ratios = sequence_log_ratios(log_probs, ref_log_probs, mask, allow_not_finite=allow_not_finite)
    likelihoods = select(log_probs, mask, log_ratios.dtype).sum(dim=1) if method.needs_log_likelihoods else None
    targets, counted, weights = weighed_groups(method, labels, groups, weights, log_ratios.dtype)
    sums = None
    if method.tokenwise:
        values = token_values_of(log_probs, ref_log_probs, mask, partial(method.token_values, weights=weights[:, None]))
        sums = values.sum(dim=1)
    rows = Rows(log_ratios, likelihoods, sums, mask.sum(dim=1), targets, weights, groups)
    losses, columns = solve(method, rows, counted)
    return losses.sum() / denominator_of(denominator, counted.rows), columns


def score_responses(
    log_ratios: torch.Tensor,
    lengths: torch.Tensor,
    labels: torch.Tensor,
    group_ids: torch.Tensor,
    method: Method,
    *,
    log_likelihoods: torch.Tensor | None = None,
    token_sums: torch.Tensor | None = None,
    row_mask: torch.Tensor | None = None,
    weights: torch.Tensor | None = None,
) -> dict[str, torch.Tensor]:
    """The first half of gradient caching: every row's loss and effective advantage, without a model in the graph.

    Args:
        log_ratios: (B,) sum_t m_it * (log pi_theta - log pi_ref) at the current weights; one that is not finite makes
            the losses and advantages of its group NaN, unless no row of the group has a weight.
        lengths: (B,) tokens of each response.
        labels: (B,) of any dtype, 0 or 1.
        group_ids: (B,) int64; groups must be whole, so that with several ranks all their rows are given here.
        method: with its settings.
        log_likelihoods: (B,) sum_t m_it * log pi_theta; where the method needs them.
        token_sums: (B,) the sum over t of `token_values_of` the method's `token_values`; where it is `tokenwise`.
        row_mask: (B,) bool or number; rows that are 0 (padding) have no influence.
        weights: (B,) w_i, by default `method.weights` of the rows given.

    Returns:
        `row_columns`, each (B,) float32, or float64 if `log_ratios` is.

    Raises:
        ValueError: shapes that differ, labels other than 0 and 1, a group too small for the method.
    """
    groups = make_groups(group_ids, row_mask)
    check_shape("lengths", lengths, group_ids.shape)
    given = {"log_ratios": log_ratios}
    for name, values, needed in (
        ("log_likelihoods", log_likelihoods, method.needs_log_likelihoods),
        ("token_sums", token_sums, method.tokenwise),
    ):
        if needed and values is None:
            raise ValueError(f"{type(method).__name__} with these settings needs {name}")
        if needed and values is not None:
            given[name] = values
    for name, values in given.items():
        check_shape(name, values, group_ids.shape)
        taking_part = torch.where(groups.rows, values.detach().to(at_least_float32(log_ratios)), 0)
        given[name] = nan_if_not_finite(taking_part)
    own = given["log_ratios"]
    targets, counted, weights = weighed_groups(method, labels, groups, weights, own.dtype)
    lengths = torch.where(groups.rows, lengths, 0)
    rows = Rows(own, given.get("log_likelihoods"), given.get("token_sums"), lengths, targets, weights, groups)
    return solve(method, rows, counted)[1]
