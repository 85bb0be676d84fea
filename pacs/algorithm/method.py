"""What a method is: settings, and one function from what is known of each response to its loss."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field

from pacs.algorithm.groups import Groups
from pacs.algorithm.reference import ReferenceConfig
from pacs.algorithm.settings import Settings

#: The column of a `tokenwise` method's rows that has the part of `effective_advantage` which is by `Rows.token_sums`:
#: token t has f'(d_t) times that.
TOKEN_ADVANTAGE = "token_advantage"
NEVER = "a whole number of steps, or null for never"


class UpdateConfig(Settings):
    """How the gradient is taken, exact either way: the keys under `pacs.update.`."""

    #: grouped: autograd through whole groups; cached: effective advantages first; auto: grouped where groups fit.
    strategy: Literal["auto", "grouped", "cached"] = "auto"


class MetricsConfig(Settings):
    """Signals that cost something: the keys under `pacs.metrics.`."""

    #: Calculate the entropy, in the update's own passes, every so many steps; None (null) never does.
    entropy_every: Annotated[int, Field(ge=1)] | None = Field(default=1, description=NEVER)
    #: Run verl's old-log-probability pass, for its metrics alone, every so many steps; None (null) never does.
    old_log_prob_every: Annotated[int, Field(ge=1)] | None = Field(default=None, description=NEVER)


@dataclass(frozen=True)
class Rows:
    """B responses in whole groups, as a method's loss sees them; rows that take no part are 0 throughout.

    Attributes:
        log_ratios: (B,) sum_t m_t d_t with d_t = log pi_theta - log pi_ref, in nats; carries the gradient.
        log_likelihoods: (B,) sum_t m_t log pi_theta; carries the gradient. None unless `needs_log_likelihoods`.
        token_sums: (B,) sum_t m_t f(d_t), f being `Method.token_values`; carries the gradient. None unless `tokenwise`.
        lengths: (B,) tokens of each response.
        labels: (B,) R, 0 or 1; in [0, 1] of a method that takes `soft_labels`.
        weights: (B,) `Method.weights` over the whole train batch; 0 in rows that do not count.
        groups: of all rows that take part.
    """

    log_ratios: torch.Tensor
    log_likelihoods: torch.Tensor | None
    token_sums: torch.Tensor | None
    lengths: torch.Tensor
    labels: torch.Tensor
    weights: torch.Tensor
    groups: Groups


class Method(Settings, ABC):
    """A method that trains on verified responses: a subclass has its settings as fields, and its loss.

    The update is L = (1/N) sum_i losses_i, N the rows that count. Its gradient is taken by autograd, through the whole
    groups of a micro-batch (`update.strategy=grouped`) or by way of A_i = -dlosses/dlog pi(o_i) (`cached`).
    """

    #: When the reference is replaced.
    reference: ReferenceConfig = ReferenceConfig()
    #: How the gradient is taken.
    update: UpdateConfig = UpdateConfig()
    #: Which of the signals that cost something are calculated.
    metrics: MetricsConfig = MetricsConfig()

    #: Names of what `columns` adds to the table of rows.
    COLUMNS: ClassVar[tuple[str, ...]] = ()

    @property
    def smallest_group(self) -> int:
        """The fewest responses to a prompt that can be compared; a prompt with fewer is left out."""
        return 1

    @property
    def compares_with_sampler(self) -> bool:
        """Whether the reference has to be the policy that sampled, so that `reference.reset_every` is 1."""
        return False

    @property
    def soft_labels(self) -> bool:
        """Whether labels may be anything in [0, 1], or 0 and 1 alone."""
        return False

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

    def token_values(self, log_ratios: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """(B, T) f(d_t) of (B, T) log-ratios d_t of a token, for rows of (B, 1) weights; by default d_t itself.

        f'(0) is 1, so that `effective_advantage` is what it is elsewhere where policy and reference agree.
        """
        return log_ratios

    def counted(self, labels: torch.Tensor, groups: Groups) -> Groups:
        """The groups with only the rows that count in N, for (B,) labels."""
        return groups

    def weights(self, labels: torch.Tensor, counted: Groups) -> torch.Tensor:
        """(B,) w_i, 0 in rows that do not count; calculated once over the whole train batch, before it is split."""
        return counted.rows.to(labels.dtype)

    @abstractmethod
    def losses(self, rows: Rows) -> torch.Tensor:
        """(B,) losses, with the gradient. A group's may depend on all of its rows, and on no other group's.

        Rows of weight 0 are left out of the sum, and a group without any weight reaches no gradient; other weights act
        as far as the losses multiply by `rows.weights`.
        """

    def columns(self, rows: Rows) -> dict[str, torch.Tensor]:
        """(B,) values by the names of `COLUMNS`, for the metrics; without a gradient."""
        return {}
