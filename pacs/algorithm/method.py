"""What a method is: settings, and one function from what is known of each response to its loss."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch

from pacs.algorithm.checks import LabelKind
from pacs.algorithm.class_balance import in_mixed_group
from pacs.algorithm.groups import Groups
from pacs.algorithm.method_settings import MetricsConfig, UpdateConfig
from pacs.algorithm.reference import ReferenceConfig
from pacs.algorithm.rows import Rows, TrainBatch
from pacs.algorithm.token_weights import TokenWeightConfig
from pacs.base.typed_settings import Settings


class Method(Settings, ABC):
    """A method that trains on verified responses: a subclass has its settings as fields, and its loss.

    The update is L = (1/N) sum_i losses_i, N the rows that count, or what `shares` says of them. Its gradient is taken
    by autograd, through the whole groups of a micro-batch (`update.strategy=grouped`) or by way of
    A_i = -dlosses/dlog pi(o_i) (`cached`).
    """

    #: When the reference is replaced.
    reference: ReferenceConfig = ReferenceConfig()
    #: How the gradient is taken.
    update: UpdateConfig = UpdateConfig()
    #: What multiplies the gradient of each token.
    token_weight: TokenWeightConfig = TokenWeightConfig()
    #: Which of the signals that cost something are calculated.
    metrics: MetricsConfig = MetricsConfig()

    #: Names of what `columns` adds to the table of rows.
    COLUMNS: ClassVar[tuple[str, ...]] = ()
    #: Names of the (B, T) streams that `credit` reads, as `rollout_log_probs`, `entropy` or `values`.
    READS: ClassVar[tuple[str, ...]] = ()
    #: Of a method that gives credit: whether a row of which no token has any has no loss.
    LOSS_BY_CREDIT_ALONE: ClassVar[bool] = True

    @property
    def reads(self) -> tuple[str, ...]:
        """`READS`, and the streams of the token weight and of the advantages that it asks for."""
        weight = self.token_weight.chosen
        of_weight = () if weight is None else weight.reads
        if weight is not None and weight.BY_ADVANTAGES and self.needs_log_likelihoods:
            of_weight = (*of_weight, "old_log_probs")
        return tuple(dict.fromkeys((*self.READS, *of_weight)))

    @property
    def smallest_group(self) -> int:
        """The fewest responses to a prompt that can be compared; a prompt with fewer is left out."""
        return 1

    @property
    def compares_with_sampler(self) -> bool:
        """Whether the reference has to be the policy that sampled, so that `reference.reset_every` is 1."""
        return (weight := self.token_weight.chosen) is not None and weight.PENALIZES

    @property
    def soft_labels(self) -> bool:
        """Whether labels may be anything in [0, 1], or 0 and 1 alone."""
        return False

    @property
    def any_labels(self) -> bool:
        """Whether labels may be any finite number: rewards that are a sum of parts (`run.reward`)."""
        return False

    @property
    def label_kind(self) -> LabelKind:
        """What labels may be, by the two above."""
        return "numbers" if self.any_labels else "shares" if self.soft_labels else "classes"

    @property
    def needs_log_likelihoods(self) -> bool:
        """Whether `losses` reads `Rows.log_likelihoods`."""
        return False

    @property
    def tokenwise(self) -> bool:
        """Whether `losses` reads `Rows.token_sums`."""
        return False

    @property
    def whole_mini_batch(self) -> bool:
        """Whether a row's loss depends on other groups of its mini-batch, too: then only `cached` is exact."""
        return False

    def token_objective(self, log_ratios: torch.Tensor, credit: torch.Tensor) -> torch.Tensor:
        """(B, T) g(d_t, c_t) of (B, T) log-ratios d_t and of credit c_t, (B, 1) or (B, T); by default d_t itself.

        `Rows.token_sums` is the sum of c_t g. dg/dd is 1 at d_t = 0, so that credit is the effective advantage where
        policy and reference agree. Only the sign of credit should choose among objectives.
        """
        return log_ratios

    def active(self, labels: torch.Tensor, groups: Groups) -> Groups:
        """The groups with only the rows that count in N, for (B,) labels."""
        return groups

    def shares(self, lengths: torch.Tensor, active: Groups) -> torch.Tensor:
        """(B,) what each row adds to N, 0 in rows that do not count; by default 1, for a mean over responses."""
        return active.rows.double()

    def coefficients(self, labels: torch.Tensor, active: Groups) -> torch.Tensor:
        """(B,) constants that `losses` multiplies by, such as class weights, from the whole train batch; by default 1.

        0 in rows that have no loss, which are those that do not count at least.
        """
        return active.rows.to(labels.dtype)

    def credit(self, batch: TrainBatch) -> torch.Tensor | None:
        """(B,) or (B, T) constants of the whole train batch, such as advantages; None: the method gives none.

        (B, T) has one for each token, and 0 outside the mask. A token of credit 0 has no part in `Rows.token_sums`.
        """
        return None

    @abstractmethod
    def losses(self, rows: Rows) -> torch.Tensor:
        """(B,) losses, with the gradient. A group's may depend on all of its rows, and on no other group's.

        Rows of coefficient 0 are left out of the sum, and a group without any other reaches no gradient; other
        coefficients act as far as the losses multiply by `rows.coefficients`.
        """

    def columns(self, rows: Rows) -> dict[str, torch.Tensor]:
        """(B,) values by the names of `COLUMNS`, for the metrics; without a gradient."""
        return {}


class OfMixedGroups(Method):
    """A method that learns from groups of both classes alone, by ratios to the policy that sampled."""

    @property
    def compares_with_sampler(self) -> bool:
        """Its ratios are to that policy."""
        return True

    @property
    def smallest_group(self) -> int:
        """One of each class."""
        return 2

    def active(self, labels: torch.Tensor, groups: Groups) -> Groups:
        """Mixed groups."""
        return groups.keep(in_mixed_group(labels, groups))
