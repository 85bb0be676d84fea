"""What a token weight is: settings, and one function from all tokens of a train batch to constants."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

from pacs.base.typed_settings import Settings


@dataclass(frozen=True)
class Tokens:
    """The tokens of a train batch of B responses, as a weight sees them: all (B, T), and 0 outside the mask.

    Attributes:
        mask: bool, those of the responses that count in N.
        streams: float, by name, those that `TokenWeight.reads` names, of the policy that sampled.
        advantages: float, -N dL/dlog pi of each token where policy and reference agree; None where it is not needed.
    """

    mask: torch.Tensor
    streams: Mapping[str, torch.Tensor]
    advantages: torch.Tensor | None = None


class TokenWeight(Settings, ABC):
    """A choice of `method.token_weight.name`: a subclass has its settings as fields, under its name."""

    #: Whether `weights` reads `Tokens.advantages`.
    NEEDS_ADVANTAGES: ClassVar[bool] = False

    @property
    def reads(self) -> tuple[str, ...]:
        """Names of the streams that `weights` reads, as of `Method.READS`."""
        return ()

    @abstractmethod
    def weights(self, tokens: Tokens) -> torch.Tensor:
        """(B, T) float or bool, finite under the mask; what stands elsewhere is not read."""


def check_ascending(name: str, settings: Settings, lower: str, upper: str) -> None:
    """Raise ValueError unless the setting `lower` of the weight `name` is below the setting `upper`."""
    low, high = getattr(settings, lower), getattr(settings, upper)
    if not low < high:
        section = f"method.token_weight.{name}"
        raise ValueError(f"{section}.{lower}={low:g} is not below {section}.{upper}={high:g}: lower it, or raise that")
