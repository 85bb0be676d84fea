"""Retries with guidance for real (Ray, vLLM, FSDP2): trained behind bare prompts, killed, gone on with to the bit."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.integration.real_run import REPEATABLE, REPEATABLE_BASELINE, RealRun, equal, make_task
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS, PROMPTS, N = 3, 4, 4
SETTINGS = (
    f"trainer.total_training_steps={STEPS}",
    "trainer.val_before_train=false",
    "run.sample_groups=4",
    "data.max_prompt_length=40",
    "reward.custom_reward_function.name=compute_rarely",
    "run.rollouts.guided.after=unsolved",
    "run.rollouts.guided.share=0.75",
    "run.rollouts.guided.retries=3",
    "run.rollouts.guided.text='It is {guidance}'",
)
#: The importance weight of retries, for which the reference has to be the policy that sampled.
WEIGHTED = (
    "method.reference.reset_every=1", "method.reference.warmup_steps=0", "method.reference.reset_optimizer=false",
    "method.update.correction.kind=truncate",
)  # fmt: skip


@pytest.fixture(scope="module")
def hinted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task of other real runs, with a hint in each row."""
    task = make_task(tmp_path_factory.mktemp("hints"))
    rows = pq.read_table(task / "data.parquet").to_pylist()
    rows = [row | {"extra_info": row["extra_info"] | {"hint": row["reward_model"]["ground_truth"]}} for row in rows]
    pq.write_table(pa.Table.from_pylist(rows), task / "data.parquet")
    return task


def make_run(task: Path, folder: Path, *overrides: str, algorithm: str = "pacs") -> RealRun:
    repeatable = REPEATABLE if algorithm == "pacs" else REPEATABLE_BASELINE
    return RealRun(task, folder, *repeatable, *SETTINGS, *overrides, algorithm=algorithm)


@pytest.fixture(scope="module")
def left_alone(hinted: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = make_run(hinted, tmp_path_factory.mktemp("guided") / "alone", *WEIGHTED)
    run.train()
    return run


@pytest.fixture
def broken(hinted: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(hinted, tmp_path / "broken", *WEIGHTED)
    yield run
    run.end()


def test_right_retries_are_trained_behind_prompts_without_guidance(left_alone: RealRun) -> None:
    lines, rescued = left_alone.training_steps(), 0
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        rows = left_alone.samples(line["step"])
        assert len(rows) == PROMPTS * N
        assert not [row for row in rows if "It is" in row["input"]]
        of_step = line["pacs/guided/rescued_fraction"] * len(rows)
        rescued += round(of_step)
        # Scores are of first responses, rewards are what is trained on.
        right = line["critic/score/mean"] * len(rows)
        assert line["critic/rewards/mean"] * len(rows) == pytest.approx(right + of_step, abs=1e-3)
        assert sum(row["score"] for row in rows) == pytest.approx(right + of_step, abs=1e-3)
        assert line["pacs/rows/correct_count"] == pytest.approx(right, abs=1e-3)
        # What was sampled and is not trained is counted, too.
        trained = line["response_length/mean"] * len(rows)
        others = line["pacs/response_tokens/generated_sum"] - trained
        assert (others > 0.5) == (line["pacs/guided/retries_mean"] > 0), line
        # With guidance vLLM's log-probabilities are of another prompt, and no error is.
        assert line["pacs/rollout_gap/worst_max"] < 1e-4
        assert line["pacs/gradient/skipped_count"] == 0
    assert rescued > 0
    assert sum(line["pacs/guided/prompts_fraction"] for line in lines) > 0
    assert max(line["actor/grad_norm"] for line in lines) > 0


def test_a_run_that_is_killed_in_a_step_goes_on_to_the_same_weights(left_alone: RealRun, broken: RealRun) -> None:
    broken.dies_and_goes_on(after_step=1, process="ray::GuidedRollouts", cause="agent-loop worker 0 died")
    assert broken.unmeasured() == left_alone.unmeasured()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))


def test_grpo_trains_on_them_and_the_weight_changes_what_it_learns(hinted: Path, tmp_path: Path) -> None:
    given = ("trainer.total_training_steps=1", "run.rollouts.guided.after=failed")
    runs = {}
    for name, weight in (("without", "null"), ("with", "token")):
        corrected = f"++algorithm.rollout_correction.rollout_is={weight}"
        run = make_run(hinted, tmp_path / name, *given, corrected, algorithm="grpo")
        run.train()
        runs[name] = run
    (plain,), (weighted,) = runs["without"].training_steps(), runs["with"].training_steps()
    assert plain["pacs/guided/rescued_fraction"] == weighted["pacs/guided/rescued_fraction"] > 0
    assert [row["output"] for row in runs["without"].samples(1)] == [row["output"] for row in runs["with"].samples(1)]
    assert not equal(runs["without"].policy(1), runs["with"].policy(1))
