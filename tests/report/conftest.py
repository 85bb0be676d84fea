"""A generated run folder, with round numbers that a test can name."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

MakeRun = Callable[..., Path]

BOTH = {
    "critic/score/mean": lambda step: 0.3 + 0.05 * step,
    "actor/entropy": lambda step: 1.0 / step,
    "actor/grad_norm": lambda step: 10.0 - 0.1 * step,
    "response_length/mean": lambda step: 14.0 + step,
    "timing_s/step": lambda step: 4.0,
    "timing_s/gen": lambda step: 1.0,
    "timing_s/update_actor": lambda step: 1.5,
}
PACS_ONLY = {
    "pacs/score/correct_mean": lambda step: 0.1 * step,
    "pacs/score/wrong_mean": lambda step: -0.2 * step,
    "pacs/critic/accuracy_fraction": lambda step: 0.75,
    "pacs/residual_mean": lambda step: 0.4,
    "pacs/critic/calibration_error_mean": lambda step: 0.1,
    "pacs/log_ratio/sequence_mean": lambda step: 0.01 * step,
    "pacs/groups/mixed_fraction": lambda step: 0.6,
    "pacs/saturated_fraction": lambda step: 0.05 * step,
    "pacs/gradient/clipped_fraction": lambda step: 1.0,
    "pacs/rollout_gap/per_token": lambda step: 1e-5,
}
CONFIG = """\
actor_rollout_ref:
  rollout: {'n': 8, temperature: 1.0}
  actor:
    optim: {lr: 1.0e-06}
data:
  train_files: [data/train.parquet]
  shuffle: true
"""
INFO = {
    "versions": {"torch": "2.13.0", "verl": "0.9.1"},
    "git_commit": "c0ffee",
    "command": ["pacs", "train", "--config-name", "pacs", "data.train_files=[a b]"],
    "started": "2026-01-02T03:04:05+00:00",
}


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(
        name: str = "run",
        *,
        steps: int = 6,
        pacs: bool = True,
        resets: Iterable[int] = (),
        validation: Iterable[str] = ("val-core/arithmetic/reward/mean@8",),
        more: Mapping[str, Callable[[int], float]] | None = None,
        config: str | None = CONFIG,
        info: Mapping[str, Any] | None = INFO,
    ) -> Path:
        metrics = BOTH | (PACS_ONLY if pacs else {}) | dict(more or {})
        lines: list[dict[str, float]] = [{"step": 0} | dict.fromkeys(validation, 0.25)]
        for step in range(1, steps + 1):
            line = {"step": step} | {key: value(step) for key, value in metrics.items()}
            if step in set(resets):
                line["pacs/reference/reset_count"] = 1.0
            lines.append(line)
        lines[-1] |= dict.fromkeys(validation, 0.5)
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        if config is not None:
            (folder / "config.yaml").write_text(config)
        if info is not None:
            (folder / "run.json").write_text(json.dumps(info))
        return folder

    return make
