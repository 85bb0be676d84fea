"""Which signals that cost something a run calculates."""

from typing import Annotated

from pydantic import Field

from pacs.base.typed_settings import Settings

NEVER = "a whole number of steps, or null for never"


class MetricsConfig(Settings):
    """Signals that cost something: the keys under `method.metrics.`."""

    #: Calculate the entropy, in the update's own passes, every so many steps; None (null) never does.
    entropy_every: Annotated[int, Field(ge=1)] | None = Field(default=1, description=NEVER)
    #: Calculate the effective rank of each response's hidden states, in a pass of its own, every so many steps.
    effective_rank_every: Annotated[int, Field(ge=1)] | None = Field(default=None, description=NEVER)
    #: Run verl's old-log-probability pass, for its metrics alone, every so many steps; None (null) never does.
    old_log_prob_every: Annotated[int, Field(ge=1)] | None = Field(default=None, description=NEVER)
