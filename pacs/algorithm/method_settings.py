"""Settings that every method has: how its gradient is taken, and which signals are calculated."""

from typing import Annotated, Literal

from pydantic import Field

from pacs.algorithm.correction import CorrectionConfig
from pacs.base.typed_settings import Settings

NEVER = "a whole number of steps, or null for never"


class UpdateConfig(Settings):
    """How the gradient is taken, exact either way: the keys under `method.update.`."""

    #: grouped: autograd through whole groups; cached: effective advantages first; auto: grouped where groups fit.
    strategy: Literal["auto", "grouped", "cached"] = "auto"
    #: Responses of the same tokens pass through the model once, where they meet in a micro-batch.
    merge_duplicates: bool = False
    #: Of the gap between the policy and the engine that sampled.
    correction: CorrectionConfig = CorrectionConfig()


class MetricsConfig(Settings):
    """Signals that cost something: the keys under `method.metrics.`."""

    #: Calculate the entropy, in the update's own passes, every so many steps; None (null) never does.
    entropy_every: Annotated[int, Field(ge=1)] | None = Field(default=1, description=NEVER)
    #: Calculate the effective rank of each response's hidden states, in a pass of its own, every so many steps.
    effective_rank_every: Annotated[int, Field(ge=1)] | None = Field(default=None, description=NEVER)
    #: Run verl's old-log-probability pass, for its metrics alone, every so many steps; None (null) never does.
    old_log_prob_every: Annotated[int, Field(ge=1)] | None = Field(default=None, description=NEVER)
