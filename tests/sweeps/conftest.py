"""A sweep, and run folders as finished runs leave them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pacs.rewards.registry import PATH
from pacs.runs.state import Progress, now, write_progress, write_state
from pacs.sweeps.definition import Sweep
from pacs.sweeps.grid import PlannedRun
from tests.runs.states import state_in

MakeRun = Callable[..., PlannedRun]
INFO = {"started": "2026-01-02T03:04:05+00:00", "git_commit": "c0ffee", "python": "3.11", "versions": {"verl": "0.9.1"}}


@pytest.fixture
def sweep() -> Sweep:
    return Sweep("beta", "What beta does.", ["pacs"], "arithmetic", {"method.beta": [1, 10], "data.seed": [0, 1, 2]})


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(
        beta: str,
        seed: int,
        *,
        rates: Sequence[float] = (0.2, 0.4, 0.6),
        validation: float | None = None,
        state: str = "finished",
        total: int = 3,
        cause: str | None = None,
    ) -> PlannedRun:
        """A run with these shares of right answers a step, and 2 s a step; `validation`: pass@1 at the end."""
        folder = tmp_path / "sweep" / f"beta_{beta}-seed_{seed}"
        lines = [
            {"step": step, "critic/score/mean": rate, "timing_s/step": 2.0} for step, rate in enumerate(rates, start=1)
        ]
        if validation is not None:
            lines.insert(0, {"step": 0, "pacs/validation/a/b/pass@1": 0.125, "pacs/validation/a/b/pass@4": 0.25})
            lines[-1] |= {"pacs/validation/a/b/pass@1": validation, "pacs/validation/a/b/pass@4": 2 * validation}
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (folder / "run.json").write_text(json.dumps(INFO))
        write_state(folder, state_in(folder, state, cause=cause, ended=now()))
        write_progress(folder, Progress(len(rates), total, "end"))
        settings = {"method.beta": beta, "data.seed": str(seed)}
        config = OmegaConf.create(
            {
                "actor_rollout_ref": {"model": {"path": "tiny"}},
                "data": {"train_files": ["a.parquet"], "val_files": "b.parquet", "seed": seed},
                "trainer": {"total_training_steps": total},
                "reward": {"custom_reward_function": {"path": PATH, "name": "compute_score"}},
            }
        )
        overrides = ["recipe=arithmetic", *(f"{key}={value}" for key, value in settings.items())]
        step = len(rates) if state == "finished" else 0
        return PlannedRun("pacs", settings, folder, overrides, config, step)

    return make
