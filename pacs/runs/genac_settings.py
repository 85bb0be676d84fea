"""The section `genac` of a config: a critic that reasons before it scores (docs/genac.md)."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from pacs.base.typed_settings import Settings


class _GenacSection(Settings):
    SECTION: ClassVar[str] = "genac"


class SegmentSettings(_GenacSection):
    """How a response is cut into segments, which the critic scores one by one: `genac.segments.`."""

    #: Text that ends a segment.
    delimiter: str = Field(default="\n", min_length=1, description="a text of at least one character")
    #: A shorter segment goes on to the next delimiter.
    least_tokens: int = Field(default=64, ge=1, description="a whole number of at least 1")
    #: A longer one ends here.
    most_tokens: int = Field(default=256, ge=1, description="a whole number of at least 1")


class RateSettings(_GenacSection):
    """The pass rate that the critic is told: `genac.rate.`."""

    #: That of the first step; None (null): of the validation before training.
    first: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="a share, or null for the validation's before training"
    )
    #: How much of it is left after a step.
    decay: float = Field(default=0.9, ge=0, lt=1, description="below 1")


class GenacSettings(_GenacSection):
    """All keys under `genac.`.

    Raises:
        ValueError: by `from_mapping`: an unknown key, or a value that is refused.
    """

    #: What the critic reads: instructions_first, as_printed, or a file with a template.
    template: str = Field(default="instructions_first", description="the name of a shipped template, or a file")
    #: The policy's size, as the critic is told it.
    model_size: str = Field(default="8B", min_length=1, description="a text, as 8B")
    #: Tokens of the template around a problem and a response, at most.
    template_tokens: int = Field(default=384, ge=1, description="a whole number of tokens")
    #: Tokens of a trace, the critic's reasoning and score, at most.
    trace_tokens: int = Field(default=1024, ge=1, description="a whole number of tokens")
    segments: SegmentSettings = SegmentSettings()
    rate: RateSettings = RateSettings()
    #: What a trace's reward is compared with: the mean of the step's others, or none (0).
    baseline: Literal["leave_one_out", "none"] = "leave_one_out"
    #: The critic's updates in a step, each on as many traces.
    updates_per_step: int = Field(default=4, ge=1, description="a whole number of at least 1")
    #: Share of a step's traces without a score above which the run stops.
    unparsable: float = Field(default=0.2, ge=0, le=1, description="a share (1: never stop)")
    #: Prompts that the critic is asked of before the first step, of which it must score 90%; 0: none.
    probe: int = Field(default=64, ge=0, description="a whole number of prompts, or 0 for no probe")
    #: What the critic has in place of the policy's settings: keys below actor_rollout_ref.
    critic: Any = None
