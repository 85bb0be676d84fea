"""A generated run folder, with round numbers that a test can name."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from pacs.report import figures

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
    "pacs/critic/residual_mean": lambda step: 0.3,
    "pacs/residual_mean": lambda step: 0.4,
    "pacs/critic/calibration_error_mean": lambda step: 0.1,
    "pacs/log_ratio/sequence_mean": lambda step: 0.01 * step,
    "pacs/groups/mixed_fraction": lambda step: 0.6,
    "pacs/groups/all_correct_fraction": lambda step: 0.3,
    "pacs/groups/all_wrong_fraction": lambda step: 0.1,
    "pacs/response_tokens/correct_mean": lambda step: 12.0 + step,
    "pacs/response_tokens/wrong_mean": lambda step: 20.0,
    "pacs/effective_advantage_rms": lambda step: 0.5,
    "pacs/saturated_fraction": lambda step: 0.05 * step,
    "pacs/gradient/clipped_fraction": lambda step: 1.0,
    "pacs/rollout_gap/per_token": lambda step: 1e-5,
    "pacs/verifier/correct_fraction": lambda step: 0.3 + 0.05 * step,
    "pacs/verifier/wrong_fraction": lambda step: 0.6 - 0.05 * step,
    "pacs/verifier/no_answer_fraction": lambda step: 0.1,
    "pacs/verifier/timeout_fraction": lambda step: 0.0,
    **{f"pacs/score/correct_q{q}": lambda step, q=q: 0.01 * q + 0.1 * step for q in (10, 50, 90)},
    **{f"pacs/score/wrong_q{q}": lambda step, q=q: 0.01 * q - 0.2 * step for q in (10, 50, 90)},
    # Of 100 responses 80 have sigma(psi) = 0.55, and half of these are right; 20 have 0.95, and all are.
    **{f"pacs/critic/bin_{k}/rows_count": lambda step, k=k: {5: 80, 9: 20}.get(k, 0) for k in range(10)},
    "pacs/critic/bin_5/probability_mean": lambda step: 0.55,
    "pacs/critic/bin_5/correct_fraction": lambda step: 0.5,
    "pacs/critic/bin_9/probability_mean": lambda step: 0.95,
    "pacs/critic/bin_9/correct_fraction": lambda step: 1.0,
}
VALIDATION = ("pacs/validation/arithmetic/pass@1", "pacs/validation/arithmetic/pass@8")
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
def quick_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """All alike: for tests of what is written, not of what is drawn, which takes a second a report."""
    picture = figures.render_png(Figure())
    monkeypatch.setattr(figures, "render_png", lambda figure: picture)


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    def make(
        name: str = "run",
        *,
        steps: int = 6,
        pacs: bool = True,
        resets: Iterable[int] = (),
        validation: Iterable[str] = VALIDATION,
        more: Mapping[str, Callable[[int], float]] | None = None,
        config: str | None = CONFIG,
        info: Mapping[str, Any] | None = INFO,
    ) -> Path:
        own = PACS_ONLY if pacs else {}
        metrics = BOTH | own | dict(more or {})
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
