"""Results as the loop would give them, made here without torch, which takes seconds to import."""

from collections.abc import Mapping
from typing import Any

PROBLEMS = 6


def right_of(settings: Mapping[str, Any], samples: int, step: int) -> list[int]:
    """How many samples of each problem are right: the best learning rate is 2e-4, and `pacs` is the better method."""
    rate = 0.1 + 0.02 * step
    if step:  # before the first all runs are at the start
        rate += {2e-4: 0.2, 4e-4: 0.1}.get(settings["lr"], 0.0) + 0.1 * (settings["method"] == "pacs")
        rate += 0.04 * (settings["seed"] % 4)
    return [round(samples * (rate + 0.03 * problem)) for problem in range(PROBLEMS)]


def evaluation(settings: Mapping[str, Any], samples: int, step: int) -> dict[str, Any]:
    """One evaluation as the loop gives it."""
    right = right_of(settings, samples, step)
    costs = {"rollouts": 4 * step, "tokens": 100 * step, "seconds": 30.0 * step}
    means = {"greedy": 0.5, "entropy": 1.0 / (step + 1), "response_tokens_mean": 12.5, "right_entropy": None}
    return {
        "step": step,
        **costs,
        **means,
        "right": right,
        "samples": samples,
        "distinct": [min(each, 3) for each in right],
    }


def result(asked: Mapping[str, Any]) -> dict[str, Any]:
    """A result as the loop gives it, for the settings and the evaluation of a run."""
    settings, how = asked["settings"], asked["evaluation"]
    steps, every = settings["steps"], settings["evaluate_every"]
    between = [evaluation(settings, how["samples_between"], s) for s in range(0, steps, every)] if every else []
    signals = {"reward": 0.5, "entropy": 1.0, "gradient_norm": 2.0, "residual_mean": None, "critic_accuracy": None}
    return {
        "curve": [{"step": step, **signals, "loss": 1 / 3, "reset": False} for step in range(1, steps + 1)],
        "evaluations": [*between, evaluation(settings, how["samples"], steps)],
        "seconds": {"sample": 1.0, "update": 1.0, "reference": 0.0, "evaluate": 1.0},
        "start": "abc",
        "bands": ["easy", "easy", "easy", "hard", "hard", "hard"],
    }
