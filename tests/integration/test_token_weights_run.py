"""Each token weight, and mini-batches of like rewards, for real (Ray, vLLM, FSDP2): killed, and gone on with.

ERA, which carries numbers from step to step, has a file of its own.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.real_run import REPEATABLE_BASELINE, RealRun, equal
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS = 3
SHORT = (
    *REPEATABLE_BASELINE,
    f"trainer.total_training_steps={STEPS}",
    "trainer.val_before_train=false",
    "method.reference.reset_every=1",
    "method.reference.reset_optimizer=false",
    "method.metrics.effective_rank_every=1",  # which no weight here reads
)
WEIGHT = "pacs/token_weight"
#: Name -> settings, and what each step's metrics are to be.
WEIGHTS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, float]], bool]]] = {
    "steer": ((), lambda line: line[f"{WEIGHT}/least_min"] == pytest.approx(0.8) and line[f"{WEIGHT}/per_token"] < 1),
    "steer, exact": (
        ("form=exact",),
        lambda line: 0.8 <= line[f"{WEIGHT}/least_min"] < line[f"{WEIGHT}/per_token"] < 1,
    ),
    "entropy_top": (("share=0.5",), lambda line: line[f"{WEIGHT}/carrying_per_token"] == pytest.approx(0.5, abs=0.02)),
    # A model that knows nothing gives all tokens about the same small probability, and so the same surprisal.
    "probability": (("least=0.0",), lambda line: 0 <= line[f"{WEIGHT}/least_min"] < line[f"{WEIGHT}/per_token"] < 1),
    "surprisal_band": (("low=1.0", "high=1.2"), lambda line: 0 < line[f"{WEIGHT}/carrying_per_token"] < 1),
    "pooled_entropy": (("strength=1.0",), lambda line: 0 <= line[f"{WEIGHT}/least_min"] < 1),
    "clip_cov": (("share=0.1", "low=0.0"), lambda line: line[f"{WEIGHT}/carrying_per_token"] < 1),
    "kl_cov": (
        ("share=0.1",),
        lambda line: 0.05 < line[f"{WEIGHT}/penalized_per_token"] < 0.2 and line[f"{WEIGHT}/per_token"] == 1,
    ),
}


def trained_and_broken(task: Path, folder: Path, *settings: str) -> list[dict[str, float]]:
    """The steps of a run that was left alone; one that was killed in a step has ended as it did."""
    alone, broken = (RealRun(task, folder / name, *SHORT, *settings) for name in ("alone", "broken"))
    alone.train()
    try:
        broken.dies_and_goes_on(after_step=1)
    finally:
        broken.end()
    assert broken.unmeasured() == alone.unmeasured()
    assert equal(broken.policy(STEPS), alone.policy(STEPS))
    assert not equal(alone.policy(STEPS), alone.policy(STEPS - 1))
    lines = alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    assert all(line["actor/grad_norm"] > 0 for line in lines)
    return lines


@pytest.mark.parametrize("name", WEIGHTS)
def test_a_weighed_run_is_killed_and_ends_in_the_same_weights(name: str, task: Path, tmp_path: Path) -> None:
    settings, holds = WEIGHTS[name]
    section = name.split(",")[0]
    given = [f"method.token_weight.{section}.{setting}" for setting in settings]
    lines = trained_and_broken(task, tmp_path, f"method.token_weight.name={section}", *given)
    for line in lines:
        assert holds(line), line
        assert line["timing_s/old_log_prob"] > 0
        assert line["pacs/effective_rank/rank_wrong_mean"] > 1


def test_mini_batches_of_like_rewards_are_killed_and_end_in_the_same_weights(task: Path, tmp_path: Path) -> None:
    for line in trained_and_broken(task, tmp_path, "run.balance_rewards=true"):
        assert not any(key.startswith(WEIGHT) for key in line)
        assert line["pacs/effective_rank/rank_wrong_mean"] > 1
