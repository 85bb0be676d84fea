"""Token weights: constants that multiply the gradient of single tokens, whatever the method; a weight a file.

They are made of the whole train batch before its updates, so that any split of it is exact. They change no value:
neither scores, ratios and clips, nor the loss and N.
"""

from typing import Literal, Self

from pydantic import model_validator

from pacs.algorithm.token_weights.base import TokenWeight
from pacs.algorithm.token_weights.entropy_top import EntropyTop
from pacs.algorithm.token_weights.position import Position
from pacs.algorithm.token_weights.probability import Probability
from pacs.algorithm.token_weights.steer import Steer
from pacs.algorithm.token_weights.surprisal_band import SurprisalBand
from pacs.base.typed_settings import Settings


class TokenWeightConfig(Settings):
    """Which weight multiplies the gradient of each token, and the settings of each: `method.token_weight.`."""

    #: The weight; None (null): 1 everywhere.
    name: Literal["steer", "entropy_top", "probability", "surprisal_band", "position"] | None = None
    steer: Steer = Steer()
    entropy_top: EntropyTop = EntropyTop()
    probability: Probability = Probability()
    surprisal_band: SurprisalBand = SurprisalBand()
    position: Position = Position()

    @property
    def chosen(self) -> TokenWeight | None:
        """The weight that `name` names."""
        weight: TokenWeight | None = None if self.name is None else getattr(self, self.name)
        return weight

    @model_validator(mode="after")
    def _all_is_read(self) -> Self:
        for name, weight in self:
            if name in ("name", self.name) or weight == type(weight)():
                continue
            setting, value = next(each for each in weight if each[1] != getattr(type(weight)(), each[0]))
            raise ValueError(
                f"method.token_weight.{name}.{setting}={value}: nothing reads it with method.token_weight.name="
                f"{self.name or 'null'}; set method.token_weight.name={name}, or leave it out"
            )
        return self
