"""The plan beside what an H200 showed and no rate was taken from (docs/scaling.md has the machines)."""

import json
from pathlib import Path

import pytest

from benchmarks.step.beside_plan import estimate, overrides
from pacs.planning.measured import MEASURED, MeasuredStep
from tests.planning.page import planned_beside

MODEL = "Qwen/Qwen3-0.6B"
RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "nvidia-h200"

#: Of other calls than those of `MEASURED`.
HELD_OUT = (
    MeasuredStep(
        "h200", MODEL, prompts=2, mini_batch=1, responses=8, prompt_tokens=256, response_tokens=2048,
        seconds={"reference pass": 0.346, "policy pass": 0.306, "update": 1.22},
        how="16 rows",
    ),
    MeasuredStep(
        "h200", MODEL, prompts=8, mini_batch=4, responses=8, prompt_tokens=256, response_tokens=2048,
        seconds={"reference pass": 1.57, "policy pass": 1.37, "update": 5.45},
        how="64 rows, on another machine",
    ),
)  # fmt: skip


@pytest.mark.parametrize("step", HELD_OUT, ids=lambda step: step.how)
def test_a_step_whose_rates_were_not_taken_is_planned_within_a_quarter(step: MeasuredStep) -> None:
    assert step.seconds not in [each.seconds for each in MEASURED]
    planned = planned_beside(step).seconds
    found = {phase: planned[phase] for phase in step.seconds}
    assert found == pytest.approx(step.seconds, rel=0.25)
    assert sum(found.values()) == pytest.approx(sum(step.seconds.values()), rel=0.25)


def test_the_smokes_second_step_is_planned_within_a_quarter() -> None:
    """In the third, whose rates the plan has, the policy is the reference; here the update has a pass of it."""
    planned = planned_beside(MEASURED[0]).seconds
    update = planned["reference pass"] + planned["update"]
    assert update == pytest.approx(7.0, rel=0.25)
    assert planned["generation"] + update + planned["weight sync"] == pytest.approx(13.0, rel=0.25)


@pytest.mark.parametrize("head", ["torch", "triton"])
def test_the_memory_of_passes_and_update_is_planned_within_a_quarter(head: str) -> None:
    """Torch's allocations in the training process, whose state stays on the GPU."""
    result = json.loads((RESULTS / f"step_0.6b_{head}_flash.json").read_text(encoding="utf-8"))
    planned = estimate(overrides(result["settings"], Path(MODEL)), None, result["settings"]["response_tokens"])
    peaks = {phase: found["peak_bytes"] for phase, found in result["measured"]["phases"].items()}
    assert {phase: planned[phase]["bytes"] for phase in peaks} == pytest.approx(peaks, rel=0.25)
