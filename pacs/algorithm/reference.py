"""When the reference becomes the policy, and what follows from it for the steps after."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from pacs.base.typed_settings import Settings


class ReferenceConfig(Settings):
    """When the reference policy is replaced by the current one: the keys under `method.reference.`.

    Each trigger that is set is looked at after the last update of a step (the thresholds not in warm-up steps); the
    first that fires resets.
    """

    #: Replace the reference after the last update of every so many steps; None (null) never does.
    reset_every: Annotated[int, Field(ge=1)] | None = Field(
        default=1, description="a whole number of steps, 1 to reset after every step, or null for never"
    )
    #: Replace it after a step in which at least this share of the rows was saturated, |sigma(psi) - R| < 0.01.
    reset_at_saturation: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="a share of the rows (0.5: half of them), or null to leave this trigger out"
    )
    #: Replace it after a step in which the mean log-ratio of a response reached this many nats.
    reset_at_log_ratio: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="a number of nats, or null to leave this trigger out"
    )
    #: Re-initialise the optimizer's state whenever the reference is replaced.
    reset_optimizer: bool = False
    #: Steps after a reset with a reduced learning rate: the k-th of W has k/(W+1) of it.
    warmup_steps: int = Field(default=0, ge=0, description="a whole number of steps")

    @model_validator(mode="after")
    def _triggers_can_fire(self) -> Self:
        for name in ("reset_at_saturation", "reset_at_log_ratio"):
            if self.reset_every == 1 and getattr(self, name) is not None:
                raise ValueError(
                    f"method.reference.{name}={getattr(self, name)} with method.reference.reset_every=1: every step "
                    "resets anyway; set method.reference.reset_every=null, or to a longer period"
                )
        return self

    @model_validator(mode="after")
    def _rate_comes_back(self) -> Self:
        if self.reset_every is not None and self.warmup_steps >= self.reset_every:
            raise ValueError(
                f"method.reference.warmup_steps={self.warmup_steps} with reset_every={self.reset_every}: "
                "the learning rate would never come back to its full value; use fewer warm-up steps, or reset less "
                "often"
            )
        return self


@dataclass(frozen=True)
class ResetEvent:
    """The reference became the policy after the last update of a step.

    Attributes:
        step: that step.
        trigger: the setting of `method.reference` that fired.
        value: what it fired at: the step, the saturated share, or the mean log-ratio in nats.
    """

    step: int
    trigger: str
    value: float


class ReferenceSchedule:
    """The state of the reference over a run.

    Args:
        config: the triggers.

    Attributes:
        is_policy: the reference equals the policy: before the first update, and between a reset and the next
            update. Then every log-ratio is 0, and the policy itself gives the reference's log-probabilities.
        events: the resets so far, in order.
    """

    def __init__(self, config: ReferenceConfig) -> None:
        self.config = config
        self.is_policy = True
        self.events: list[ResetEvent] = []

    @property
    def needs_model(self) -> bool:
        """Whether the reference is ever anything but the policy at a step's start (`reset_every=1`: never)."""
        return self.config.reset_every != 1

    def after_updates(self, step: int, *, saturated: float, log_ratio: float) -> ResetEvent | None:
        """Note that `step` has updated the policy; return the reset that is now due, if one is.

        Args:
            step: the global step, from 1.
            saturated: share of the step's rows with |sigma(psi) - R| < 0.01.
            log_ratio: mean over the step's rows of sum_t m * (log pi_theta - log pi_ref), in nats.
        """
        self.is_policy = False
        event = self._due(step, saturated, log_ratio)
        if event is not None:
            self.events.append(event)
            self.is_policy = True
        return event

    def learning_rate_factor(self, step: int) -> float:
        """What the learning rate of `step` is multiplied by: k/(W+1) in the k-th of W warm-up steps, else 1."""
        if not self.events:
            return 1.0
        return min(1.0, (step - self.events[-1].step) / (self.config.warmup_steps + 1))

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold, as JSON."""
        return {"is_policy": self.is_policy, "events": [asdict(event) for event in self.events]}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take up the `state()` of the run that is resumed."""
        self.is_policy = state["is_policy"]
        self.events = [ResetEvent(**event) for event in state["events"]]

    def _due(self, step: int, saturated: float, log_ratio: float) -> ResetEvent | None:
        config = self.config
        if config.reset_every is not None and step % config.reset_every == 0:
            return ResetEvent(step, "reset_every", step)
        if self.learning_rate_factor(step) < 1:
            return None  # a threshold that fires at once would keep the learning rate down for ever
        if config.reset_at_saturation is not None and saturated >= config.reset_at_saturation:
            return ResetEvent(step, "reset_at_saturation", saturated)
        if config.reset_at_log_ratio is not None and log_ratio >= config.reset_at_log_ratio:
            return ResetEvent(step, "reset_at_log_ratio", log_ratio)
        return None
