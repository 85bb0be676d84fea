"""Which groups a step trains on where those that hardly differ are left out: verl's batch, over a queue in memory."""

import random
import statistics
from pathlib import Path
from typing import Any

import pytest
import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.utils import tensordict_utils as tu

from pacs.integration.exchange import FINGERPRINT
from pacs.integration.trainer.std_filter import STATE
from pacs.rewards.verdict import VerifierFailure
from tests.integration.trainer.test_baseline_trainer import jagged
from tests.integration.trainer.test_baseline_trainer import trainer as baseline
from tests.integration.trainer.test_update_step import make_trainer

PROMPTS, N, STEPS, FIRST, SHARE, DECAY = 6, 3, 9, 3, 0.5, 0.8
SETTINGS = (
    f"run.rlpr.std_filter.share={SHARE}",
    f"run.rlpr.std_filter.decay={DECAY}",
    f"run.rlpr.std_filter.first_step={FIRST}",
    f"actor_rollout_ref.rollout.n={N}",
)
#: What is told of a response.
STATUS = "graded"


def rewards_of(step: int, prompt: int) -> list[float]:
    dice = random.Random(f"{step} {prompt}")
    scale = dice.random() ** 3
    return [scale * dice.random() for _ in range(N)]


class World:
    """A queue whose groups are done in an order of their own."""

    def __init__(self, trainer: Any, monkeypatch: pytest.MonkeyPatch, seed: int, status: str = STATUS) -> None:
        self.trainer, self.dice, self.status, self.cleared = trainer, random.Random(seed), status, list[str]()
        monkeypatch.setattr(tq, "kv_batch_get", self.get)
        monkeypatch.setattr(tq, "kv_clear", lambda keys, partition_id: self.cleared.extend(keys))
        # In verl's place, below the filter.
        trainer.std_filter.verls_sample = self.verls_sample

    def verls_sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[KVBatchMeta, dict[str, Any]]:
        keys = [f"{global_steps}-{prompt}_{i}_0" for prompt in range(batch_size) for i in range(N)]
        self.dice.shuffle(keys)
        tags = [{"response_len": 2 + int(key.split("_")[1]), "seq_len": 9} for key in keys]
        return KVBatchMeta(keys, tags, partition_id), {"of verl's": 1.0}

    def get(self, keys: list[str], partition_id: str, select_fields: list[str]) -> Any:
        assert not set(keys) & set(self.cleared)
        rows = [
            (int(step), int(prompt), int(i)) for step, prompt, i in (k.replace("_", "-").split("-")[:3] for k in keys)
        ]
        rewards = [rewards_of(step, prompt)[i] for step, prompt, i in rows]
        fields = {
            "rm_scores": jagged([[0.0] * (1 + i) + [r] for r, (_, _, i) in zip(rewards, rows, strict=True)]),
            "response_mask": jagged([[1.0] * (2 + i) for _, _, i in rows]),
            "extra_fields": [
                {"reward_extra_info": {"score": r, "status": self.status}, FINGERPRINT: i}
                for r, (_, _, i) in zip(rewards, rows, strict=True)
            ],
        }
        return tu.get_tensordict({name: fields[name] for name in select_fields})

    def step(self, number: int) -> tuple[set[int], dict[str, Any]]:
        """The prompts that a step trains on, and its metrics."""
        self.trainer.global_steps, self.cleared = number, []
        self.trainer.prompts.begin_step(number)
        batch, metrics = self.trainer.replay_buffer.sample(
            global_steps=number, partition_id="train", batch_size=PROMPTS
        )
        assert len(batch.keys) + len(self.cleared) == PROMPTS * N
        metrics |= self.trainer.grading.metrics(self.trainer.grading.grade(batch))
        return {int(key.split("_")[0].split("-")[1]) for key in batch.keys}, metrics


def expected() -> list[tuple[set[int], float]]:
    """By the definition, of each step: the prompts that are kept, and what is usual after it."""
    found, usual = [], 0.0
    for step in range(1, STEPS + 1):
        stds = [statistics.stdev(rewards_of(step, prompt)) for prompt in range(PROMPTS)]
        kept = {prompt for prompt, std in enumerate(stds) if step < FIRST or std >= SHARE * usual}
        mean = statistics.fmean(stds)
        usual = mean if step == 1 else DECAY * usual + (1 - DECAY) * mean
        found.append((kept or {stds.index(max(stds))}, usual))
    return found


@pytest.mark.parametrize("algorithm", ["pacs", "grpo"])
def test_groups_that_hardly_differ_are_not_trained_on_and_are_counted(
    algorithm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, usual = expected(), []
    for seed in range(3):
        made = make_trainer(tmp_path, *SETTINGS) if algorithm == "pacs" else baseline(algorithm, *SETTINGS)
        world = World(made, monkeypatch, seed)
        for step, (kept, mean) in enumerate(wanted, start=1):
            prompts, metrics = world.step(step)
            assert prompts == kept
            assert metrics["pacs/std_filter/dropped_count"] == PROMPTS - len(kept)
            assert metrics["pacs/std_filter/usual_mean"] == pytest.approx(mean, rel=1e-5)
            assert metrics["of verl's"] == 1.0
            # What is logged is of all groups.
            assert metrics["pacs/rows/graded_count"] == PROMPTS * N
            assert metrics["pacs/response_tokens/generated_sum"] == PROMPTS * sum(range(2, 2 + N))
        usual.append(metrics["pacs/std_filter/usual_mean"])
    assert len(set(usual)) == 1  # to the bit, in whatever order they are done
    assert sum(PROMPTS - len(kept) for kept, _ in wanted) > 5


def test_it_goes_on_with_what_was_usual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = World(make_trainer(tmp_path, *SETTINGS), monkeypatch, 0)
    steps = [whole.step(step) for step in range(1, STEPS + 1)]
    first = World(make_trainer(tmp_path, *SETTINGS), monkeypatch, 1)
    for step in range(1, 5):
        first.step(step)
    first.trainer.std_filter.save(tmp_path)
    again = World(make_trainer(tmp_path, *SETTINGS), monkeypatch, 2)
    again.trainer.std_filter.load(tmp_path)
    for step in range(5, STEPS + 1):
        assert again.step(step) == steps[step - 1]
    assert "learned anew" not in capsys.readouterr().out
    (tmp_path / STATE).unlink()
    again.trainer.std_filter.load(tmp_path)
    assert "the checkpoint has none: what is usual is learned anew" in capsys.readouterr().out


def test_a_verifier_that_does_not_work_ends_the_run_before_its_groups_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(make_trainer(tmp_path, *SETTINGS), monkeypatch, 0, status="error")
    with pytest.raises(VerifierFailure, match="could not grade"):
        world.step(1)


def test_without_a_share_nothing_is_changed(tmp_path: Path) -> None:
    made = make_trainer(tmp_path)
    assert made.replay_buffer.sample.__func__ is type(made.replay_buffer).sample
    made.std_filter.save(tmp_path)
    assert not (tmp_path / STATE).exists()
