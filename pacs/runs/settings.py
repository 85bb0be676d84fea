"""The keys of `pacs` that are about a run's life, not about what is trained."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

#: The default of `no_progress_limit`.
LONG_SECONDS, FIRST_STEP_SECONDS, LEAST_SECONDS, STEPS = 3600.0, 10800.0, 600.0, 4


@dataclass(frozen=True)
class FaultSettings:
    """When a run is taken for broken: the keys under `pacs.faults.`.

    Raises:
        ValueError: a value out of bounds or of another type.
    """

    #: Updates in a row, each skipped since its gradient was not finite, after which the run stops.
    skipped_updates: int = 3
    #: Seconds without progress after which the run is ended; None (null): `no_progress_limit` decides.
    no_progress_seconds: float | None = None
    #: Share of a step's responses that the verifier may fail to grade; above it the run stops.
    verifier_errors: float = 0.1

    def __post_init__(self) -> None:
        count, seconds = self.skipped_updates, self.no_progress_seconds
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise ValueError(f"pacs.faults.skipped_updates={count!r} must be a whole number of at least 1")
        number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
        if seconds is not None and not (number and math.isfinite(seconds) and seconds > 0):
            raise ValueError(
                f"pacs.faults.no_progress_seconds={seconds!r} must be a number of seconds above 0, or null to have it "
                "follow from the median step"
            )
        share = self.verifier_errors
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
            raise ValueError(f"pacs.faults.verifier_errors={share!r} must be a share from 0 to 1 (1: never stop)")

    def no_progress_limit(self, phase: str, step_seconds: float | None) -> float:
        """Seconds without progress that are too long in a phase.

        While models load and compile, and in a save, which shows none: an hour, or the setting if that is longer.
        Else the setting; without one three hours in the first step (an update of long responses is silent for more than
        one), then four median steps, but at least ten minutes.

        Args:
            phase: of `state.Progress`.
            step_seconds: the median step; None before the first is done.
        """
        if phase in ("start", "save"):
            return max(LONG_SECONDS, self.no_progress_seconds or 0)
        if self.no_progress_seconds is not None:
            return self.no_progress_seconds
        return FIRST_STEP_SECONDS if step_seconds is None else max(LEAST_SECONDS, STEPS * step_seconds)


def check_life_settings(section: Mapping[str, Any]) -> FaultSettings:
    """Check `pacs.faults`, `pacs.resume` and `pacs.rollouts`, as they stand under `pacs`; return the first.

    Raises:
        ValueError: naming the key.
    """
    for part, key in (("resume", "accept_changes"), ("rollouts", "seeded")):
        if not isinstance(section[part][key], bool):
            raise ValueError(f"pacs.{part}.{key}={section[part][key]!r} must be true or false")
    return FaultSettings(**section["faults"])
