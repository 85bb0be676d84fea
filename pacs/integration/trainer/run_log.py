"""metrics.jsonl, one JSON object a step, and a line a step on the console.

verl's own file logger starts its file anew at every start; this one goes on where the run went on.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pacs.base.files import write_atomically
from pacs.base.terminal import print
from pacs.runs.listing import GRADED, validation_scores, validation_shares
from pacs.runs.metrics_file import read_lines
from pacs.verl_keys.metrics import ENTROPY, GRADIENT_NORM, RESPONSE_LENGTH, SCORE, STEP_SECONDS

#: What the console line shows: label, metric, format.
CONSOLE = (
    ("pass rate", SCORE, "{:.3f}"),
    ("loss", "pacs/loss_mean", "{:.4f}"),
    ("entropy", ENTROPY, "{:.3f}"),
    ("grad norm", GRADIENT_NORM, "{:.2f}"),
    ("length", RESPONSE_LENGTH, "{:.1f}"),
    ("s/step", STEP_SECONDS, "{:.1f}"),
)


class RunLog:
    """A backend for verl's `Tracking`.

    Args:
        file: `metrics.jsonl` of the run.
        resumed_step: The step a checkpoint was loaded from (0: a new run); later lines of the file, written
            before the run was cut off, are dropped, since those steps are taken again. Damaged lines before them stay.
        total_steps: For the console.
    """

    def __init__(self, file: Path, *, resumed_step: int, total_steps: int) -> None:
        self.total_steps = total_steps
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.exists():
            _drop_steps_after(file, resumed_step)
        self.stream = file.open("a", encoding="utf-8")

    def log(self, data: Mapping[str, Any], step: int) -> None:
        """Append one step's metrics."""
        values = {key: float(value) for key, value in data.items()}
        self.stream.write(json.dumps({"step": step, **values}) + "\n")
        self.stream.flush()
        said = [f"{label} {form.format(values[key])}" for label, key, form in CONSOLE if key in values]
        shown = [line.replace("pass rate", "mean score") for line in said] if values.get(GRADED, 0) > 0 else said
        validated = validation_shares(values) or validation_scores(values)
        shown += [f"{key} {value:.3f}" for key, value in validated.items()]
        print(f"step {step}/{self.total_steps}: " + ", ".join(shown), flush=True)

    def finish(self) -> None:
        """Close the file."""
        self.stream.close()


def _drop_steps_after(file: Path, step: int) -> None:
    """Keep the lines up to `step`, damaged ones among them too, since they may be all that is left of something."""
    lines = read_lines(file) if step > 0 else []
    if lines and lines[-1].step is None:
        lines.pop()  # a run that was killed did not write it to its end
    kept = [number + 1 for number, line in enumerate(lines) if line.step is not None and line.step <= step]
    later = [number for number, line in enumerate(lines) if line.step is not None and line.step > step]
    end = max([*kept[-1:], *(later[:1] or [len(lines)])])
    lines = [line for line in lines[:end] if line.step is None or line.step <= step]
    write_atomically(file, b"".join(line.raw + b"\n" for line in lines))
