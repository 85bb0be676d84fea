"""What a token weight is: settings, and one function from the train batch to what each token's gradient is worth."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import torch

from pacs.base.typed_settings import Settings

Streams = Mapping[str, torch.Tensor]
Advantages = Callable[[], torch.Tensor]
Memory = Mapping[str, float]


class TokenWeight(Settings, ABC):
    """A weight: a subclass has its settings as fields, and its name is that of a field of `TokenWeightConfig`."""

    #: Streams that `weights` reads, as of `Method.READS`.
    READS: ClassVar[tuple[str, ...]] = ()
    #: Pairs of settings of which the first is to be below the second.
    ASCENDING: ClassVar[tuple[tuple[str, str], ...]] = ()
    #: Whether it has `penalties`, which are of the way from the policy that sampled.
    PENALIZES: ClassVar[bool] = False
    #: Whether `weights` or `penalties` ask for advantages, which some methods have of log pi_old alone.
    BY_ADVANTAGES: ClassVar[bool] = False
    #: Numbers that `remember` carries from step to step: among the streams, 0-dimensional, NaN in a run's first step.
    REMEMBERS: ClassVar[tuple[str, ...]] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """`READS` of these settings."""
        return self.READS

    @abstractmethod
    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) lambda, float or bool; outside the (B, T) mask of the tokens that count in N it is not read.

        `streams` are (B, T) of the policy that sampled, hidden states (B, T, H), 0 outside the mask; `advantages()` is
        (B, T), -N dL/dlog pi of each token where policy and reference agree.
        """

    def penalties(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor | None:
        """(B, T) c of `drift_penalty`, from the same; None: the loss has no such term."""
        return None

    def remember(self, mask: torch.Tensor, streams: Streams, memory: Memory) -> dict[str, float]:
        """What a next step reads of those that `REMEMBERS` names, from this step's and what was before it."""
        return {}
