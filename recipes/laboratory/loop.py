"""A run from a start: sample, grade, update, reset, as recipes/minimal.py has it, by any method; and evaluate."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from recipes.laboratory.adapters import adapt
from recipes.laboratory.beginning import read_beginning
from recipes.laboratory.evaluation import Evaluation, evaluate
from recipes.laboratory.learner import Learner
from recipes.laboratory.methods import method_named
from recipes.laboratory.pool import pool_of
from recipes.laboratory.rollouts import Rollouts
from recipes.laboratory.seconds import Clock
from recipes.laboratory.settings import Settings
from recipes.laboratory.signals import Calibration, point
from recipes.laboratory.starts import start_digest
from recipes.laboratory.teacher import read_teacher

#: Of a run: what keeps the seeds of two runs' evaluations apart.
MOST_STEPS = 1_000_000


def run(start: Path, settings: Settings, evaluation: Evaluation, report: Callable[[str], None]) -> dict[str, Any]:
    """Train from a start. One thread calculates, so that the same settings and start give the same numbers.

    Args:
        start: a folder as `recipes.starts.make` makes it, or `recipes.arithmetic.make`; left as it is.
        settings: of the run.
        evaluation: at the end, and after every `settings.evaluate_every` steps and before the first.
        report: is given a line a step, and one an evaluation.

    Returns:
        A result as JSON, without NaN; all seconds are this process's processor seconds, and those of points and
        evaluations, like their rollouts and tokens, what training has taken so far without evaluations.

        - `curve`: a point a step: `step`, what `signals.point` has, `rollouts`, `tokens`, `seconds`;
        - `evaluations`: `step`, `rollouts`, `tokens`, `seconds`, and what `evaluation.evaluate` has;
        - `bands`: the band of each evaluated problem;
        - `calibration`: of PACS, what `signals.Calibration` has, else None;
        - `seconds`: of `sample` (with grading), `update`, `reference` and `evaluate`;
        - `start`: the digest of the start.

    Raises:
        UserError: the start lacks something, or has fewer problems than are asked for.
        ValueError: the policy has diverged: a log-probability is not finite.
    """
    torch.set_num_threads(1)
    method, clock, calibration = method_named(settings.method, settings.options), Clock(), Calibration()
    begun = read_beginning(
        start,
        prompts=settings.prompts,
        split=evaluation.split,
        problems=evaluation.problems,
        train_problems=settings.train_problems,
    )
    adapt(begun.policy, settings.adapters, settings.seed)
    rollouts = Rollouts(begun, settings, method, pool_of(start, begun, settings))
    teacher = read_teacher(start, settings, report)
    learner = Learner(begun.policy, settings, method, begun.max_response_tokens, clock, teacher=teacher)
    curve: list[dict[str, Any]] = []
    evaluations: list[dict[str, Any]] = []
    so_far: dict[str, Any] = {"step": 0, "rollouts": 0, "tokens": 0, "seconds": 0.0}

    def look(samples: int) -> None:
        with clock.of("evaluate"):
            measured = evaluate(
                begun.policy,
                begun.tokenizer,
                begun.evaluated,
                samples=samples,
                max_tokens=begun.max_response_tokens,
                # Other samples in each run, also where the policies are the same, as they are before the first step.
                seed=settings.seed * MOST_STEPS + so_far["step"],
            )
        evaluations.append(so_far | measured)
        pass_at_1 = sum(measured["right"]) / (samples * len(measured["right"]))
        report(f"step {so_far['step']}: greedy {measured['greedy']:.3f}, pass@1 {pass_at_1:.3f}")

    if settings.evaluate_every:
        look(evaluation.samples_between)
    for step in range(1, settings.steps + 1):
        with clock.of("sample"):
            batch = rollouts.next()
        with clock.of("update"):
            updated = learner.step(step, batch)
        so_far = {
            "step": step,
            "rollouts": so_far["rollouts"] + batch.rollouts,
            "tokens": so_far["tokens"] + batch.tokens,
            "seconds": clock.training,
        }
        curve.append(so_far | point(batch, updated))
        if "score" in updated.columns:
            scores, first = updated.columns["score"], batch.first
            calibration.add(scores[first], batch.labels[first], settings.responses)
        report(f"step {step}/{settings.steps}: " + ", ".join(f"{k} {curve[-1][k]:.3f}" for k in ("reward", "loss")))
        if step == settings.steps:
            look(evaluation.samples)
        elif settings.evaluate_every and step % settings.evaluate_every == 0:
            look(evaluation.samples_between)
    return {
        "curve": curve,
        "evaluations": evaluations,
        "bands": begun.evaluated.bands,
        "calibration": calibration.bins() if "critic_accuracy" in curve[-1] else None,
        "seconds": clock.seconds,
        "start": start_digest(start),
    }
