"""Token weights: (B, T) constants, made of the whole train batch so that any split of it is exact, whatever the method.

log pi becomes detach(log pi) + lambda (log pi - detach(log pi)): scores, ratios, clips, loss and N stay as they are.
"""

from typing import Literal, Self

import torch
from pydantic import Field, model_validator

from pacs.algorithm.covariance_weights import ClipCov, KlCov
from pacs.algorithm.delta import Delta
from pacs.algorithm.era import Era
from pacs.algorithm.oar import Oar
from pacs.algorithm.pooled_entropy import PooledEntropy
from pacs.algorithm.token_weight import Advantages, Streams, TokenWeight
from pacs.base.typed_settings import Settings

Name = Literal[
    "steer",
    "entropy_top",
    "probability",
    "surprisal_band",
    "position",
    "clip_cov",
    "kl_cov",
    "pooled_entropy",
    "era",
    "delta",
    "oar",
]


class Steer(TokenWeight):
    """STEER (arXiv 2510.10150): e^(-k |Omega|), k = -ln(least) / max(max |Omega|, 0.02), maximum over all tokens.

    Omega is what a token of advantage A changes H by, f = pi (ln pi + H): `public`, the authors' code at pi_old (but
    their maximum is over a micro-batch), A (1 - pi) (ln pi + H); `exact`, to first order of a step along
    A dln pi / dlogits, -A (f - sum_k pi_k f_k).
    """

    READS = ("old_log_probs", "entropy")
    BY_ADVANTAGES = True
    form: Literal["public", "exact"] = "public"
    least: float = Field(default=0.8, gt=0, lt=1, description="a weight below 1; the authors use 0.8")

    @property
    def reads(self) -> tuple[str, ...]:
        """ln pi and H; for `exact` the sum over the vocabulary, too."""
        return self.READS if self.form == "public" else (*self.READS, "mean_entropy_slope")

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) from `least` to 1."""
        surplus, likely = streams["old_log_probs"] + streams["entropy"], streams["old_log_probs"].exp()
        change = (1 - likely) * surplus if self.form == "public" else likely * surplus - streams["mean_entropy_slope"]
        sizes = torch.where(mask, (advantages() * change).abs(), 0)
        return self.least ** (sizes / sizes.max().clamp(min=0.02))


class EntropyTop(TokenWeight):
    """The 80/20 rule (arXiv 2506.01939): 1 for the share of tokens of highest H, and for ties with the last; else 0."""

    READS = ("entropy",)
    share: float = Field(default=0.2, gt=0, le=1, description="a share above 0, of 1 at most; the authors use 0.2")

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) bool."""
        of_all = streams["entropy"][mask].sort(descending=True).values
        kept = max(1, round(self.share * len(of_all)))
        return streams["entropy"] >= of_all[kept - 1] if len(of_all) else mask


class Probability(TokenWeight):
    """TR-GRPO (arXiv 2511.00066): clip(scale (sigmoid(pi / temperature) - offset), least, most), pi as vLLM gave it."""

    READS = ("rollout_log_probs",)
    ASCENDING = (("least", "most"),)
    scale: float = Field(default=2.0, gt=0, description="a number above 0, as 2.0")
    temperature: float = Field(default=0.25, gt=0, description="a number above 0, as 0.25")
    offset: float = 0.5
    least: float = Field(default=0.2, ge=0, description="a weight of 0 or more")
    most: float = Field(default=1.0, gt=0, description="a weight above 0")

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) from `least` to `most`."""
        shaped = (streams["rollout_log_probs"].exp() / self.temperature).sigmoid()
        return (self.scale * (shaped - self.offset)).clamp(self.least, self.most)


class SurprisalBand(TokenWeight):
    """RSI selection (arXiv 2606.31575): 1 where low <= -ln pi / H <= high, else 0."""

    READS = ("old_log_probs", "entropy")
    ASCENDING = (("low", "high"),)
    low: float = Field(default=0.5, ge=0, description="a ratio of 0 or more; 1 is the mean of every place")
    high: float = Field(default=2.0, gt=0, description="a ratio above 0; 1 is the mean of every place")

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) bool."""
        relative = -streams["old_log_probs"] / streams["entropy"].clamp(min=1e-12)
        return (relative >= self.low) & (relative <= self.high)


class Position(TokenWeight):
    """An example: 1 + (last - 1) u, or last^u; u from 0 at a response's first token to 1 at its last, 0 of a single."""

    shape: Literal["linear", "exponential"] = "linear"
    last: float = Field(default=0.5, gt=0, description="a weight above 0, as 0.5")

    def weights(self, mask: torch.Tensor, streams: Streams, advantages: Advantages) -> torch.Tensor:
        """(B, T) between 1 and `last`."""
        places = mask.cumsum(dim=1, dtype=torch.float32)
        u = ((places - 1) / (places[:, -1:] - 1).clamp(min=1)).clamp(min=0)
        return self.last**u if self.shape == "exponential" else 1 + (self.last - 1) * u


class TokenWeightConfig(Settings):
    """The table of names, with the settings of each: the keys under `method.token_weight.`; None (null): no weight."""

    name: Name | None = None
    steer: Steer = Steer()
    entropy_top: EntropyTop = EntropyTop()
    probability: Probability = Probability()
    surprisal_band: SurprisalBand = SurprisalBand()
    position: Position = Position()
    clip_cov: ClipCov = ClipCov()
    kl_cov: KlCov = KlCov()
    pooled_entropy: PooledEntropy = PooledEntropy()
    era: Era = Era()
    delta: Delta = Delta()
    oar: Oar = Oar()

    @property
    def chosen(self) -> TokenWeight | None:
        """The weight that `name` names."""
        weight: TokenWeight | None = None if self.name is None else getattr(self, self.name)
        return weight

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for name, weight in [each for each in self if each[0] != "name"]:
            section, values = f"method.token_weight.{name}", dict(weight)
            for low, high in weight.ASCENDING:
                if values[low] >= values[high]:
                    refused = f"{section}.{low}={values[low]:g} is not below {section}.{high}={values[high]:g}"
                    raise ValueError(f"{refused}: lower it, or raise that")
            for key in [key for key, default in type(weight)() if default != values[key] and name != self.name]:
                mend = f"set method.token_weight.name={name}, or leave it out"
                raise ValueError(f"{section}.{key}={values[key]}: nothing reads it; {mend}")
        return self
