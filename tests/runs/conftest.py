"""A run's folder as a start leaves it, with round numbers that a test can name."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pacs.checkpoints.folder import SAVING, publish, seal, step_folder
from pacs.runs.state import Progress, write_progress, write_state
from tests.runs.states import state_in

MakeRun = Callable[..., Path]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(
        name: str = "run",
        *,
        steps: int = 6,
        state: str | None = "finished",
        progress: bool = True,
        saved: tuple[int, ...] = (),
        info: bool = True,
        **more: Any,
    ) -> Path:
        """`more`: fields of the state."""
        folder = tmp_path / name
        folder.mkdir(parents=True)
        lines: list[dict[str, float]] = [{"step": 0, "pacs/validation/arithmetic/pass@1": 0.25}]
        for step in range(1, steps + 1):
            line = {
                "step": step,
                "critic/score/mean": step / 10,
                "pacs/loss_mean": 1.0 - step / 10,
                "timing_s/step": 4.0 + step,
                "actor/entropy": 0.3,
            }
            lines.append(line | ({"pacs/validation/arithmetic/pass@1": step / 8} if step % 5 == 0 else {}))
        (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        if info:
            (folder / "run.json").write_text(json.dumps({"started": "2026-01-02T03:04:05+00:00"}))
        if state is not None:
            write_state(folder, state_in(folder, state, **more))
        if progress:
            write_progress(folder, Progress(steps, 20, "rollouts", step_seconds=9.5))
        for step in saved:
            save(folder, step)
        return folder

    return make


def save(run: Path, step: int) -> Path:
    """A complete checkpoint."""
    checkpoints = run / "checkpoints"
    aside = checkpoints / SAVING / f"global_step_{step}"
    aside.mkdir(parents=True)
    (aside / "model.pt").write_text("weights")
    seal(aside, step=step, ranks=1)
    publish(aside, step_folder(checkpoints, step))
    return step_folder(checkpoints, step)
