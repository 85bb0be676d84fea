"""How far a trainer is and what it is at, so that a hang can be told: it is what goes on for too long."""

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from pacs.base.terminal import print
from pacs.runs.console import MARK
from pacs.runs.state import Progress

T = TypeVar("T")


#: verl's hook -> the phase that begins after it.
BEGIN = {"on_step_begin": "rollouts", "on_sample_end": "update"}
#: verl's method -> the phase that it is, within the current one.
WITHIN = {"_compute_old_log_prob": "log_probs", "_compute_values": "values", "_update_critic": "update_critic"}


def announced(trainer: type[T]) -> type[T]:
    """A trainer class whose hooks and methods of verl's say by `self.phases` what the trainer is at."""

    def begin(name: str, phase: str) -> Callable[..., Any]:
        def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = getattr(super(trainer, self), name)(*args, **kwargs)
            self.phases.current = phase
            return result

        return hook

    def within(name: str, phase: str) -> Callable[..., Any]:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.phases.within(phase):
                return getattr(super(trainer, self), name)(*args, **kwargs)

        return method

    for name, phase in BEGIN.items():
        setattr(trainer, name, begin(name, phase))
    for name, phase in WITHIN.items():
        setattr(trainer, name, within(name, phase))
    return trainer


class Phases:
    """The phase of a trainer: start, rollouts, the passes over them, update, save, validate, then end or stopped.

    Args:
        replay_buffer: verl's, whose finished rollouts are progress.

    Attributes:
        current: the phase's name.
        trained_steps: steps that are done, those before a resume counted.
        last_step: at which the run ends; 0 before that is known.
    """

    def __init__(self, replay_buffer: Any) -> None:
        self.replay_buffer = replay_buffer
        self.current = "start"
        self.trained_steps = self.last_step = 0
        self.step_times: list[float] = []
        self.most_finished, self.moment = 0, (0, "start")

    def begin_steps(self) -> None:
        """The first step's time begins."""
        self.step_started = time.monotonic()

    def end_step(self, step: int) -> None:
        """`step` is done, and the next one's time begins."""
        self.trained_steps = step
        self.step_times.append(time.monotonic() - self.step_started)
        self.step_started = time.monotonic()

    @contextmanager
    def within(self, name: str) -> Iterator[None]:
        """A phase within the current one, such as a pass before the update: its begin and its end are progress."""
        before, self.current = self.current, name
        yield
        self.current = before

    def progress(self, resampled: int) -> Progress:
        """How far the trainer is; called from another thread.

        Args:
            resampled: prompts sampled in place of filtered groups in this step, which show that it goes on.
        """
        # verl clears and refills these while it looks; what is finished stays so within a phase.
        finished, failed = self.replay_buffer.finished_keys, self.replay_buffer.failure_keys
        now = sum(len(keys.get(part, ())) for keys in (finished, failed) for part in ("train", "val"))
        moment = (self.trained_steps, self.current)
        self.most_finished = max(now, self.most_finished if moment == self.moment else 0)
        self.moment = moment
        return Progress(
            step=self.trained_steps,
            total_steps=self.last_step,
            phase=self.current,
            count=self.most_finished + resampled,
            step_seconds=statistics.median(self.step_times) if self.step_times else None,
        )


def find_last_step(trainer: Any) -> None:
    """Steps and epochs both end verl's loop; only the last step of the first one is saved, whatever save_freq is.

    Raises:
        RuntimeError: the data have too few prompts for one step.
    """
    if trainer.steps_per_epoch == 0:
        data = trainer.config.data
        left = f"after data.filter_overlong_prompts (data.max_prompt_length={data.max_prompt_length})"
        raise RuntimeError(f"data.train_batch_size={data.train_batch_size}: fewer prompts are left {left}")
    epochs = trainer.steps_per_epoch * trainer.config.trainer.total_epochs
    trainer.phases.last_step = trainer.total_training_steps = min(trainer.total_training_steps, epochs)
    trainer.phases.trained_steps = trainer.global_steps
    if trainer.global_steps >= trainer.phases.last_step:
        end = f"{trainer.phases.last_step} (trainer.total_training_steps, trainer.total_epochs)"
        print(f"{MARK}nothing to train: the checkpoint is of step {trainer.global_steps}, the run's last is {end}")
