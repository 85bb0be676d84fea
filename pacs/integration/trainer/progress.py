"""verl's synchronous trainer, which says what it is at: a hang is what goes on for too long."""

import statistics
import time
from collections.abc import Callable
from typing import Any

from omegaconf import DictConfig
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from pacs.runs.state import Progress


class ProgressTrainer(PPOTrainerSync):
    """A synchronous trainer with a phase: start, rollouts, the passes over them, update, save, validate, end.

    Args:
        config: verl's.
    """

    def __init__(self, config: DictConfig) -> None:
        self.phase = "start"
        self.trained_steps = self.last_step = 0
        self.step_times: list[float] = []
        self.prompts_resampled = 0
        self.most_finished, self.moment = 0, (0, "start")
        super().__init__(config)

    def progress(self) -> Progress:
        """How far the trainer is; called from another thread."""
        # verl clears and refills these while it looks; what is finished stays so within a phase.
        finished, failed = self.replay_buffer.finished_keys, self.replay_buffer.failure_keys
        now = sum(len(keys.get(part, ())) for keys in (finished, failed) for part in ("train", "val"))
        moment = (self.trained_steps, self.phase)
        self.most_finished = max(now, self.most_finished if moment == self.moment else 0)
        self.moment = moment
        return Progress(
            step=self.trained_steps,
            total_steps=self.last_step,
            phase=self.phase,
            # Where groups are filtered, those that are sampled anew show that it goes on.
            count=self.most_finished + self.prompts_resampled,
            step_seconds=statistics.median(self.step_times) if self.step_times else None,
        )

    def on_train_begin(self) -> None:
        """The first step's time begins."""
        super().on_train_begin()
        self.step_started = time.monotonic()

    def on_step_begin(self) -> None:
        """Note the phase."""
        super().on_step_begin()
        self.phase = "rollouts"

    def on_sample_end(self) -> None:
        """Note the phase."""
        super().on_sample_end()
        self.phase = "update"

    def on_step_end(self) -> None:
        """The step is done."""
        super().on_step_end()
        self.trained_steps = self.global_steps
        self.step_times.append(time.monotonic() - self.step_started)
        self.step_started = time.monotonic()

    def on_validate_begin(self) -> None:
        """Note the phase; before the first step, there is nothing yet that a stop would have to finish."""
        super().on_validate_begin()
        self.phase = "start" if self.phase == "start" else "validate"

    def _compute_old_log_prob(self, batch: Any, metrics: dict[str, Any]) -> Any:
        return self._within("log_probs", super()._compute_old_log_prob, batch, metrics)

    def _compute_values(self, batch: Any, metrics: dict[str, Any]) -> Any:
        return self._within("values", super()._compute_values, batch, metrics)

    def _update_critic(self, batch: Any, metrics: dict[str, Any]) -> Any:
        return self._within("update_critic", super()._update_critic, batch, metrics)

    def _within(self, phase: str, do: Callable[..., Any], *args: Any) -> Any:
        """One of the calls before the update, each of which may take as long: its begin and its end are progress."""
        self.phase = phase
        result = do(*args)
        self.phase = "update"
        return result
