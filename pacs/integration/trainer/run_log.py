"""metrics.jsonl, one JSON object a step, and a line a step on the console.

verl's own file logger starts its file anew at every start; this one goes on where the run went on.
"""

import statistics
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pacs.base.files import to_line
from pacs.base.terminal import print
from pacs.base.units import duration
from pacs.runs.console import MARK
from pacs.runs.listing import GRADED, validation_scores, validation_shares
from pacs.runs.read import go_on_after
from pacs.verl_keys import metrics as verl

#: What the console line shows: label, metric, format.
CONSOLE = (
    ("pass rate", verl.SCORE, "{:.3f}"),
    ("loss", "pacs/loss_mean", "{:.4f}"),
    ("entropy", verl.ENTROPY, "{:.3f}"),
    ("grad norm", verl.GRADIENT_NORM, "{:.2f}"),
    ("length", verl.RESPONSE_LENGTH, "{:.1f}"),
    ("s/step", verl.STEP_SECONDS, "{:.1f}"),
)
#: What it shows beside that of a run on GPUs.
ON_GPUS = (("tokens/s a GPU", verl.THROUGHPUT, "{:,.0f}"), ("peak GiB", verl.MOST_RESERVED, "{:.1f}"))

#: The time that is left is told by the median of so many steps, the last ones.
SECONDS_OF_STEPS = 20
#: Groups whose second stage has found a right response where the first had none.
RESCUED = "pacs/dars/rescued_count"
#: After so many steps in which all responses are right, or all are wrong, the run says what to do.
ALIKE_STEPS = 3
ADVICE = {
    0: "the responses in the run's samples/ show whether the model cannot solve the problems, is cut off by "
    "data.max_response_length, or answers in a form that the verifier does not read",
    1: "the problems are too easy for the model, or the verifier takes any answer",
}


class RunLog:
    """A backend for verl's `Tracking`.

    Args:
        file: `metrics.jsonl` of the run.
        resumed_step: The step a checkpoint was loaded from (0: a new run); later lines of the file, written
            before the run was cut off, are dropped, since those steps are taken again. Damaged lines before them stay.
        resumed_metrics: what the checkpoint says of its step, for a run that was killed before it had written that
            step's line; None of a new run.
        total_steps: For the console.
        on_gpus: the console also says how many tokens a second a step has, and the memory that it took.
    """

    def __init__(
        self,
        file: Path,
        *,
        resumed_step: int,
        resumed_metrics: Mapping[str, float] | None = None,
        total_steps: int,
        on_gpus: bool = False,
    ) -> None:
        self.total_steps, self.on_gpus = total_steps, on_gpus
        file.parent.mkdir(parents=True, exist_ok=True)
        go_on_after(file, resumed_step, resumed_metrics)
        self.stream = file.open("a", encoding="utf-8")
        self.seconds: deque[float] = deque(maxlen=SECONDS_OF_STEPS)
        self.in_a_row = 0
        self.alike: float | None = None

    def log(self, data: Mapping[str, Any], step: int) -> None:
        """Append one step's metrics."""
        values = {key: float(value) for key, value in data.items()}
        self.stream.write(to_line({"step": step, **values}))
        self.stream.flush()
        columns = CONSOLE + ON_GPUS if self.on_gpus else CONSOLE
        said = [f"{label} {form.format(values[key])}" for label, key, form in columns if key in values]
        shown = [line.replace("pass rate", "mean score") for line in said] if values.get(GRADED, 0) > 0 else said
        validated = validation_shares(values) or validation_scores(values)
        shown += [f"{key} {value:.3f}" for key, value in validated.items()]
        if verl.STEP_SECONDS in values:
            self.seconds.append(values[verl.STEP_SECONDS])
            if step < self.total_steps:
                left = statistics.median(self.seconds) * (self.total_steps - step)
                shown.append(f"about {duration(left)} left")
        print(f"{MARK}step {step}/{self.total_steps}: " + ", ".join(shown), flush=True)
        self._warn(values, step)

    def _warn(self, values: Mapping[str, float], step: int) -> None:
        """Say once in a row of such steps that nothing can be learnt: an update needs right and wrong responses."""
        score = values.get(verl.SCORE)
        if score is None:
            return
        alike = score if score in (0, 1) and not values.get(GRADED) and not values.get(RESCUED) else None
        self.in_a_row = self.in_a_row + 1 if alike is not None and alike == self.alike else 1
        self.alike = alike
        if alike is not None and self.in_a_row == ALIKE_STEPS:
            print(
                f"{MARK}warning: step {step}: {'every' if alike else 'no'} answer was right in {ALIKE_STEPS} steps, so "
                f"that there is nothing to learn from: {ADVICE[int(alike)]}",
                flush=True,
            )

    def finish(self) -> None:
        """Close the file."""
        self.stream.close()
