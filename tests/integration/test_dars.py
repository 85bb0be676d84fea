"""A second stage of rollouts for real, through Ray, vLLM and FSDP2: killed in its midst, gone on with to the bit."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pacs.checkpoints.folder import newest_checkpoint
from tests.integration.real_run import REPEATABLE, REPEATABLE_BASELINE, RealRun, equal, failed
from tests.metrics.page import find

#: A run takes a minute or two.
pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.usefixtures("process_group")]

STEPS, PROMPTS, N, MOST = 4, 4, 4, 12
DARS = (
    f"trainer.total_training_steps={STEPS}",
    "trainer.val_before_train=false",
    "reward.custom_reward_function.name=compute_rarely",
    "run.rollouts.dars.schedule=hardness",
    f"run.rollouts.dars.most={MOST}",
    "run.rollouts.dars.scale=true",
)
#: GRPO of ours has no config of its own.
GRPO = """
hydra: {searchpath: ["file://${pacs.verl_configs:}"]}
defaults:
  - shared/base
  - shared/method
  - _self_
  - recipe: qwen3_8b
  - override hydra/hydra_logging: none
  - override hydra/job_logging: none
method: {name: pacs.algorithm.aggregated.Grpo}
"""


def make_run(task: Path, folder: Path, *overrides: str, algorithm: str = "pacs") -> RealRun:
    """A run whose reward notes which problem it grades."""
    log = f"+reward.custom_reward_function.reward_kwargs.log={folder}.log"
    repeatable = REPEATABLE if algorithm == "pacs" else REPEATABLE_BASELINE
    return RealRun(task, folder, *repeatable, *DARS, log, *overrides, algorithm=algorithm)


def graded(run: RealRun) -> list[int]:
    """The problem of each response that was graded, in order."""
    log = Path(f"{run.folder}.log")
    return [int(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture(scope="module")
def left_alone(task: Path, tmp_path_factory: pytest.TempPathFactory) -> RealRun:
    run = make_run(task, tmp_path_factory.mktemp("dars") / "alone", "trainer.max_actor_ckpt_to_keep=null")
    run.train()
    return run


@pytest.fixture
def broken(task: Path, tmp_path: Path) -> Iterator[RealRun]:
    run = make_run(task, tmp_path / "broken")
    yield run
    run.end()


def test_hard_prompts_get_more_responses_which_are_trained_on(left_alone: RealRun) -> None:
    lines = left_alone.training_steps()
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        rows = PROMPTS * N + line["pacs/dars/further_count"]
        assert line["pacs/rows/correct_count"] + line["pacs/rows/wrong_count"] == rows
        # The pass rate is of the first responses: a whole number of them.
        right = line["critic/score/mean"] * PROMPTS * N
        assert right == pytest.approx(round(right), abs=1e-3)
        assert line["pacs/verifier/correct_fraction"] == pytest.approx(line["critic/score/mean"], abs=1e-6)
        assert line["critic/rewards/mean"] == line["critic/score/mean"]
        assert line["actor/grad_norm"] > 0
        assert line["pacs/gradient/skipped_count"] == 0
        assert line["pacs/rollout_gap/worst_max"] < 1e-4
    # One right response in eight: of four first ones often none, of twelve most often one.
    assert sum(line["pacs/dars/further_count"] for line in lines) > STEPS * PROMPTS
    assert sum(line["pacs/dars/rescued_count"] for line in lines) > 0
    assert len(graded(left_alone)) == sum(PROMPTS * N + line["pacs/dars/further_count"] for line in lines)
    assert not equal(left_alone.policy(2), left_alone.policy(1))


def test_a_run_that_is_killed_in_a_second_stage_goes_on_to_the_same_weights(
    left_alone: RealRun, broken: RealRun
) -> None:
    """The prompts of the step are drawn again, with the same responses in both stages."""
    start = broken.start()

    def in_a_second_stage() -> bool:
        if newest_checkpoint(broken.checkpoints)[0] is None:
            return False
        problems = graded(broken)
        of_first_step = list(dict.fromkeys(problems))[:PROMPTS]
        later = Counter(problem for problem in problems if problem not in of_first_step)
        return any(responses > N for responses in later.values())

    start.wait_for(in_a_second_stage)
    start.find("ray::DarsRolloutsSeeds").kill()
    failed(start, "agent-loop worker 0 died")
    broken.train()
    assert left_alone.unmeasured() == broken.unmeasured()
    assert equal(left_alone.policy(STEPS), broken.policy(STEPS))


def test_uneven_groups_have_the_same_gradient_by_scores(left_alone: RealRun, task: Path, tmp_path: Path) -> None:
    """Whole groups that share blocks, and rows that are dealt out: the first updates are of the same responses."""
    cached = make_run(task, tmp_path / "cached", "method.update.strategy=cached", "trainer.total_training_steps=1")
    cached.train()
    (one,), first = cached.training_steps(), left_alone.training_steps()[0]
    assert (one["pacs/update/cached_fraction"], first["pacs/update/cached_fraction"]) == (1, 0)
    assert one["pacs/dars/further_count"] == first["pacs/dars/further_count"]
    # The second update begins where Adam's first one has ended, which a gradient's sign decides where it is nearly 0.
    for name in ("actor/grad_norm", "pacs/loss_mean", "pacs/effective_advantage_rms"):
        assert one[name] == pytest.approx(first[name], rel=1e-2)


def test_grpo_s_runs_of_one_seed_have_the_same_responses_and_weights(task: Path, tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "own_grpo.yaml").write_text(GRPO)
    runs = []
    for name in ("one", "other"):
        run = make_run(task, tmp_path / name, "trainer.total_training_steps=2", algorithm="own_grpo")
        run.train("--config-dir", str(tmp_path / "configs"))
        runs.append(run)
    lines = runs[0].training_steps()
    assert all(line["pacs/dars/further_count"] > 0 and line["actor/grad_norm"] > 0 for line in lines)
    assert runs[0].all_samples() == runs[1].all_samples()
    assert runs[0].unmeasured() == runs[1].unmeasured()
    assert equal(runs[0].policy(2), runs[1].policy(2))
    assert not equal(runs[0].policy(2), runs[0].policy(1))
