"""verl's own algorithms as runs of ours: trained for real, and (those with a critic) killed and gone on with."""

import json
import math
import re
from collections import defaultdict
from pathlib import Path

import pytest
from safetensors.torch import load_file

from pacs import cli
from pacs.checkpoints.folder import read_checkpoint
from pacs.integration.schema import BASELINES
from tests.integration.real_run import REPEATABLE_BASELINE, START_SECONDS, RealRun, equal
from tests.integration.real_run import STEPS as LAST
from tests.metrics.page import find

#: Each takes a minute or two.
pytestmark = [
    pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1800), pytest.mark.usefixtures("process_group")
]  # fmt: skip

STEPS = 3
SHORT = (f"trainer.total_training_steps={STEPS}", "trainer.val_before_train=false", "run.sample_groups=16")


@pytest.mark.parametrize("algorithm", BASELINES)
def test_each_baseline_trains(algorithm: str, task: Path, tmp_path: Path) -> None:
    warmup = [f"trainer.critic_warmup={STEPS}"] if algorithm == "vcppo" else []
    run = RealRun(task, tmp_path / algorithm, *SHORT, *warmup, algorithm=algorithm)
    run.train(f"trainer.test_freq={STEPS}")
    lines = [line for line in run.steps() if "timing_s/step" in line]
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    assert sorted({key for line in lines for key in line if key != "step" and find(key) is None}) == []
    for line in lines:
        groups = sampled_groups(run, line["step"])
        right, mixed = mean([s > 0 for g in groups for s in g]), [0 < sum(s > 0 for s in g) < len(g) for g in groups]
        assert line["critic/score/mean"] == line["pacs/verifier/correct_fraction"]
        assert line["pacs/reward/half/mean"] == pytest.approx(line["critic/score/mean"] / 2)
        assert line["pacs/reward/rare/mean"] == 3
        assert "pacs/reward/places/mean" not in line
        assert 0 < line["actor/entropy"] < math.log(4096)  # nats a token, however the loss is aggregated
        if line.get("pacs/critic/pretraining_count") == 1:
            assert algorithm == "vcppo"
            assert line["step"] < STEPS
            assert "actor/grad_norm" not in line
        else:
            assert line["pacs/gradient/norm_max"] >= line["actor/grad_norm"] > 0
            assert line["pacs/gradient/skipped_count"] == 0
        generated = line["pacs/response_tokens/generated_sum"]
        kept = line["response_length/mean"] * sum(len(group) for group in groups)
        if algorithm == "dapo":
            assert all(mixed)
            filtered = line["training/filter_groups/evicted_samples"]
            assert line["pacs/groups/mixed_fraction"] == pytest.approx(len(groups) / (len(groups) + filtered))
            assert generated > kept if filtered else generated >= pytest.approx(kept)
            assert line["critic/rewards/mean"] < right  # all of these responses are long
        else:
            assert generated == pytest.approx(kept)
            assert line["pacs/groups/mixed_fraction"] == mean(mixed)
            assert line["pacs/verifier/correct_fraction"] == pytest.approx(right)
    assert lines[-1]["val-aux/sums/half/mean@8"] > 0
    assert not any(key.startswith("val-aux/sums/places") for key in lines[-1])
    assert not equal(run.policy(STEPS), run.policy(STEPS - 1))
    checkpoint = read_checkpoint(run.checkpoints / f"global_step_{STEPS}")
    assert checkpoint.reference is None
    assert (checkpoint.folder / "critic").is_dir() == (algorithm in ("ppo", "vcppo"))
    if algorithm == "vcppo":
        assert equal(run.policy(STEPS - 1), load_file(task / "model" / "model.safetensors"))
    if algorithm in ("ppo", "vcppo"):
        assert not equal(run.policy(STEPS, "critic"), run.policy(STEPS - 1, "critic"))
        exported = ["export", str(checkpoint.folder), "--part", "critic", "--out", str(tmp_path / "critic")]
        assert cli.main([*exported, "--dtype", "float32"]) == 0
        assert equal(run.policy(STEPS, "critic"), load_file(tmp_path / "critic" / "model.safetensors"))
    if algorithm == "dapo":  # validation tells right from wrong, whatever was taken off for length
        validated = [json.loads(line) for line in (run.folder / f"samples/validation/{STEPS}.jsonl").open()]
        assert lines[-1]["val-core/sums/reward/mean@8"] == pytest.approx(
            mean([row["status"] == "correct" for row in validated])
        )


@pytest.mark.parametrize(("algorithm", "warmup"), [("ppo", ()), ("vcppo", ("trainer.critic_warmup=4",))])
def test_a_run_goes_on_with_its_critic(algorithm: str, warmup: tuple[str, ...], task: Path, tmp_path: Path) -> None:
    """Killed in a step (of VC-PPO one of the critic alone), it ends in the same two networks as one left alone."""
    overrides = (*REPEATABLE_BASELINE, "trainer.val_before_train=false", *warmup)
    alone = RealRun(task, tmp_path / "alone", *overrides, algorithm=algorithm)
    alone.train()
    broken = RealRun(task, tmp_path / "broken", *overrides, algorithm=algorithm)
    broken.dies_and_goes_on(after_step=1)
    for part in ("actor", "critic"):
        assert equal(alone.policy(LAST, part), broken.policy(LAST, part))
    for name in ("critic/vf_loss", "critic/vf_explained_var", "critic/grad_norm", "actor/grad_norm"):
        assert alone.steps()[-1][name] == broken.steps()[-1][name]
    assert alone.steps()[-1]["critic/score/mean"] == broken.steps()[-1]["critic/score/mean"]


def test_graded_scores_are_trained_on_and_counted_as_neither_right_nor_wrong(task: Path, tmp_path: Path) -> None:
    graded = "reward.custom_reward_function.name=compute_graded_score"
    run = RealRun(task, tmp_path / "graded", *SHORT, graded, algorithm="grpo")
    printed = run.train(f"trainer.test_freq={STEPS}")
    assert run.starts[0].console.count("the reward function gives scores other than 0 and 1") == 1
    assert "mean score" in printed
    assert "pass rate" not in printed
    lines = [line for line in run.steps() if "timing_s/step" in line]
    for line in lines:
        scores = [score for group in sampled_groups(run, line["step"]) for score in group]
        assert line["pacs/rows/graded_count"] == sum(score not in (0, 1) for score in scores) > 0
        assert line["critic/score/mean"] == pytest.approx(sum(scores) / len(scores))
        assert not any(name.startswith(("pacs/groups/", "pacs/rows/correct", "pacs/rows/wrong")) for name in line)
        assert sorted(key for key in line if key != "step" and find(key) is None) == []
    assert lines[-1]["pacs/validation/sums/graded_count"] > 0
    assert "pacs/validation/sums/pass@1" not in lines[-1]
    assert "val-core/sums/acc/mean@8" in lines[-1]


@pytest.mark.parametrize("when", ["step 1", "the validation at step 0"])
def test_a_score_that_is_no_number_ends_the_run_with_its_prompt(when: str, task: Path, tmp_path: Path) -> None:
    validate = f"trainer.val_before_train={str('validation' in when).lower()}"
    nan = ("reward.custom_reward_function.name=compute_nan", "data.train_batch_size=96", "data.val_max_samples=-1")
    start = RealRun(task, tmp_path / "nan", *SHORT, *nan, algorithm="grpo").start(validate)
    assert start.process.wait(START_SECONDS) == 1
    said = re.search(
        rf"{when}: \d+ of \d+ scores are not finite. The first is nan, of data source sums, for.*", start.printed
    )
    assert said, start.printed[-6000:]
    assert re.search(r"\d\+\d", said[0])


def sampled_groups(run: RealRun, step: int) -> list[list[float]]:
    """The scores of each prompt's responses."""
    groups: dict[str, list[float]] = defaultdict(list)
    for row in (json.loads(line) for line in (run.folder / f"samples/train/{step}.jsonl").open()):
        groups[row["input"]].append(row["score"])
    return list(groups.values())


def mean(values: list[bool]) -> float:
    return sum(values) / len(values)
