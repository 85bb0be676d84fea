"""What a method sees of responses: the train batch before its updates, and the rows of an update."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch

from pacs.algorithm.groups import Groups


@dataclass(frozen=True)
class TrainBatch:
    """B responses in whole groups, before the step's updates: what `Method.credit` is given from.

    Attributes:
        labels: (B,) R, 0 or 1; in [0, 1] of a method that takes `soft_labels`, any number with `any_labels`.
        groups: of the rows that count in N.
        response_mask: (B, T) bool, the response's tokens; it may have holes, as of several turns. None where only
            labels are known, which is enough for credit of shape (B,).
        streams: (B, T) float, by name, those that `Method.READS` names: constants, 0 outside the mask.
    """

    labels: torch.Tensor
    groups: Groups
    response_mask: torch.Tensor | None = None
    streams: Mapping[str, torch.Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Constants:
    """What is calculated once over a whole train batch, and used in any part of it.

    Attributes:
        active: (B,) bool, the rows that count in N.
        shares: (B,) what each row adds to N: its sum over a mini-batch is the `denominator` of its micro-batches.
        coefficients: (B,) `Method.coefficients`; 0 in rows that have no loss.
        credit: (B,) or (B, T) `Method.credit`; None of a method that gives none.
        weights: (B,) factors of the rows' losses, which their shares have already; None: 1.
        token_weights: (B, T) what each token's gradient is multiplied by, 1 outside the mask; None: 1 everywhere.
        penalties: (B, T) c of `drift_penalty`; None: 0 everywhere.
    """

    active: torch.Tensor
    shares: torch.Tensor
    coefficients: torch.Tensor
    credit: torch.Tensor | None = None
    weights: torch.Tensor | None = None
    token_weights: torch.Tensor | None = None
    penalties: torch.Tensor | None = None

    def of(self, rows: torch.Tensor) -> "Constants":
        """Those of some rows, chosen by index or mask."""
        given = {name: values for name, values in vars(self).items() if values is not None}
        return Constants(**{name: values[rows] for name, values in given.items()})

    def cut(self, tokens: int) -> "Constants":
        """The same for responses that are padded to fewer tokens, as those of a mini-batch may be."""
        by_token = {name: values for name, values in vars(self).items() if values is not None and values.dim() == 2}
        return replace(self, **{name: values[:, :tokens] for name, values in by_token.items()})


@dataclass(frozen=True)
class Rows:
    """B responses in whole groups, as a method's loss sees them; rows that take no part are 0 throughout.

    Attributes:
        log_ratios: (B,) sum_t m_t d_t with d_t = log pi_theta - log pi_ref, in nats; carries the gradient.
        log_likelihoods: (B,) sum_t m_t log pi_theta; carries the gradient. None unless `needs_log_likelihoods`.
        token_sums: (B,) sum_t m_t c_t g(d_t, c_t), with g = `Method.token_objective` and c the credit (1 of a method
            that gives none); carries the gradient. None unless `tokenwise`.
        lengths: (B,) tokens of each response.
        labels: (B,) R, 0 or 1; in [0, 1] of a method that takes `soft_labels`, any number with `any_labels`.
        coefficients: (B,) `Method.coefficients` over the whole train batch; 0 in rows that have no loss.
        credit: (B,) the mean over a response's tokens of `Method.credit`; None of a method that gives none.
        groups: of all rows in the row mask.
    """

    log_ratios: torch.Tensor
    log_likelihoods: torch.Tensor | None
    token_sums: torch.Tensor | None
    lengths: torch.Tensor
    labels: torch.Tensor
    coefficients: torch.Tensor
    credit: torch.Tensor | None
    groups: Groups
