"""What the trainer of verl's own algorithms adds to verl's loop, as far as that shows without Ray."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import transfer_queue as tq
from hydra import compose, initialize_config_dir
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1 import replay_buffer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.workers.engine_workers import TrainingWorker

from pacs.base.paths import config_dir
from pacs.integration.exchange import FINGERPRINT
from pacs.integration.trainer.baselines import BaselineTrainer
from pacs.integration.trainer.grading import without_shaping
from pacs.integration.worker.not_finite import PoisonError
from pacs.integration.worker.training import SKIPPED_IN_A_ROW, BaselineTrainingWorker
from pacs.metrics.reduce import gradient_metrics
from recipes.arithmetic.tokenizer import build_tokenizer


def trainer(algorithm: str, *overrides: str) -> BaselineTrainer:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return BaselineTrainer(compose(algorithm, overrides=["recipe=arithmetic", *overrides]))


@pytest.mark.parametrize(
    ("algorithm", "overrides", "roles"),
    [
        ("ppo", [], {Role.ActorRollout, Role.Critic}),
        ("grpo", [], {Role.ActorRollout}),
        ("grpo", ["actor_rollout_ref.actor.use_kl_loss=true"], {Role.ActorRolloutRef}),
        # The reference is the actor's model without its adapters.
        (
            "grpo",
            ["actor_rollout_ref.actor.use_kl_loss=true", "actor_rollout_ref.model.lora_rank=8"],
            {Role.ActorRollout},
        ),
    ],
)
def test_every_role_has_a_worker_of_ours(algorithm: str, overrides: list[str], roles: set[Role]) -> None:
    made = trainer(algorithm, *overrides)
    made._init_resource_pool_mgr()
    assert made.role_worker_mapping.keys() == roles
    for remote in made.role_worker_mapping.values():
        worker = remote.__ray_metadata__.modified_class
        trained = worker if issubclass(worker, TrainingWorker) else worker.actor_worker_cls
        assert issubclass(trained, BaselineTrainingWorker)


def test_tokens_that_are_thrown_away_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """verl's own buffer, which clears a filtered group and a surplus one."""
    made, cleared = trainer("dapo"), []
    monkeypatch.setattr(replay_buffer.tq, "kv_clear", lambda **words: cleared.append(words))
    buffer = made.replay_buffer
    rows = {"7-1_0_0": 5, "7-1_1_0": 7, "7-10_0_0": 100, "7-2_0_0": 11}
    buffer.partitions["train"] = {key: {"response_len": tokens} for key, tokens in rows.items()}
    buffer.partitions["val"] = {"7-1_0_0": {"response_len": 1000}}
    made.prompts.begin_step(7)
    for partition, uids in (("train", {"7-1"}), ("val", {"7-1"}), ("train", {"7-2", "7-3"}), ("train", set())):
        buffer._clear_groups(partition, uids)
    assert made.prompts.discarded_tokens == 5 + 7 + 11
    assert buffer.partitions["train"].keys() == {"7-10_0_0"}
    assert len(cleared) == 3
    made.prompts.begin_step(7)
    assert made.prompts.discarded_tokens == 0


def test_skipped_updates_stop_the_run() -> None:
    made = trainer("ppo", "run.faults.skipped_updates=2")
    made.global_steps = 4
    norms = [0.5, float("nan"), 3.0]
    told = {f"actor/{name}": value for name, value in gradient_metrics(norms, 1.0).items()}
    metrics = {"actor/grad_norm": 1.0, "critic/pacs/other": 0.0, **told, f"actor/{SKIPPED_IN_A_ROW}": 1}
    ours = made._gradients("actor", metrics)
    assert ours["pacs/gradient/skipped_count"] == 1
    assert ours["pacs/gradient/clipped_fraction"] == pytest.approx(1 / 3)
    assert metrics == {"actor/grad_norm": 1.0, "critic/pacs/other": 0.0}
    with pytest.raises(PoisonError, match=r"2 updates in a row were skipped.* step 4$"):
        made._gradients("critic", {f"critic/{SKIPPED_IN_A_ROW}": 2})


def test_scores_are_the_verifier_s_where_it_gives_one() -> None:
    assert without_shaping([0.5, 1.0, 0.25], [{"score": 1.0}, {"acc": 1.0}, {"score": None}]) == [1.0, 1.0, 0.25]


def test_a_score_that_the_function_returned_alone_is_its_own_too() -> None:
    """verl keeps such a number as `acc`, and takes DAPO's punishment off the reward."""
    assert without_shaping([0.75, -0.5, 0.25], [{"acc": 1.0}, {"acc": 0.0}, {}]) == [1.0, 0.0, 0.25]


@dataclass
class Sampled:
    """A batch as verl's trainer has it: the keys and the tags of its rows."""

    keys: list[str]
    tags: list[dict[str, Any]]
    partition_id: str = "train"

    def __len__(self) -> int:
        return len(self.keys)


@pytest.fixture
def rewarded(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[float]], tuple[BaselineTrainer, Sampled]]:
    """A trainer whose queue holds two prompts' responses with these rewards, and a row of padding.

    The TransferQueue, which needs Ray, is replaced by its one batch; tests of real runs go through it.
    """

    def make(rewards: list[float]) -> tuple[BaselineTrainer, Sampled]:
        made = trainer("grpo")
        made.global_steps, made.tokenizer = 7, build_tokenizer(64)
        keys = [f"7-{row // 2}_{row % 2}_0" for row in range(len(rewards))] + ["7-0_0_0"]
        tags = [{"response_len": 2, "is_padding": row == len(rewards)} for row in range(len(rewards) + 1)]
        prompts = [made.tokenizer.encode(f"{row // 2}+1")[:3] for row in range(len(keys))]
        fields = {
            "rm_scores": jagged([[0.0, reward] for reward in [*rewards, 0.0]]),
            "response_mask": jagged([[1.0, 1.0]] * len(rewards) + [[0.0, 0.0]]),
            "prompts": jagged(prompts),
            "extra_fields": [
                {"reward_extra_info": {"acc": r}, FINGERPRINT: row} for row, r in enumerate([*rewards, 0.0])
            ],
            "data_source": [f"source{row // 2}" for row in range(len(keys))],
        }
        monkeypatch.setattr(
            tq,
            "kv_batch_get",
            lambda keys, partition_id, select_fields: tu.get_tensordict({name: fields[name] for name in select_fields}),
        )
        monkeypatch.setattr(PPOTrainerSync, "_compute_advantage", lambda self, batch, metrics: batch)
        return made, Sampled(keys, tags)

    return make


def jagged(rows: list[list[float]]) -> torch.Tensor:
    return torch.nested.as_nested_tensor([torch.tensor(row) for row in rows], layout=torch.jagged)


def test_graded_rewards_are_named_and_not_counted_as_wrong(
    rewarded: Callable[..., tuple[BaselineTrainer, Sampled]], capsys: pytest.CaptureFixture[str]
) -> None:
    made, batch = rewarded([0.9, 0.2, 1.0, 0.0])
    for step in (7, 8):
        metrics: dict[str, Any] = {}
        made.global_steps = step
        made._compute_advantage(batch, metrics)
        assert metrics == {
            "pacs/rows/graded_count": 2.0, "pacs/rows/alone_count": 0.0, "pacs/truncated_fraction": 0.0,
            "pacs/response_tokens/generated_sum": 8.0, "pacs/duplicates/responses_fraction": 0.0,
            "pacs/duplicates/distinct_mean": 2.0, "pacs/duplicates/repeated_per_token": 0.0,
        }  # fmt: skip
    said = capsys.readouterr().out
    assert said.count("scores other than 0 and 1 (pacs/rows/graded_count=2)") == 1
    made._compute_advantage(rewarded([1.0, 0.0, 1.0, 1.0])[1], metrics := {})
    assert (metrics["pacs/rows/correct_count"], metrics["pacs/rows/wrong_count"]) == (3, 1)
    assert (metrics["pacs/groups/mixed_fraction"], metrics["pacs/rows/graded_count"]) == (0.5, 0)


@pytest.mark.parametrize("reward", [float("nan"), float("inf"), -float("inf")])
def test_a_reward_that_is_not_finite_is_refused_with_its_source_and_prompt(
    rewarded: Callable[..., tuple[BaselineTrainer, Sampled]], reward: float
) -> None:
    made, batch = rewarded([1.0, 0.0, reward, 0.0])
    message = rf"step 7: 1 of 5 scores are not finite. The first is {reward}, of data source source1, for .*1\+1"
    with pytest.raises(ValueError, match=message):
        made._compute_advantage(batch, {})


def test_a_validation_of_graded_scores_has_no_pass_at_k(capsys: pytest.CaptureFixture[str]) -> None:
    made = trainer("grpo")
    made.global_steps = 3
    metrics = validate(made, [0.9, 0.2, 1.0, 0.0])
    assert {key: value for key, value in metrics.items() if key.startswith("pacs/")} == {
        "pacs/validation/a/graded_count": 2, "pacs/validation/b/pass@1": 0.5, "pacs/validation/b/pass@2": 1.0
    }  # fmt: skip
    assert metrics["val-core/a/reward/mean@2"] == pytest.approx(0.55)
    assert "(pacs/validation/a/graded_count=2)" in capsys.readouterr().out
    made.config.trainer.log_val_generations = 0
    made._maybe_log_val_generations(["1+1", "1+1", "2+2", "2+2"], [""] * 4, [0.0] * 4)
    message = r"the validation at step 3: 1 of 4 scores are not finite. .* of data source b, for the prompt '2\+2'"
    with pytest.raises(ValueError, match=message):
        validate(made, [0.9, 0.2, float("nan"), 0.0])


def validate(made: BaselineTrainer, scores: list[float]) -> dict[str, float]:
    """The metrics of a problem of two sources each, with two responses."""
    return made._val_metrics_update(
        ["a", "a", "b", "b"], ["1", "1", "2", "2"], {"reward": scores}, [2] * 4, {("a", "1"): 2, ("b", "2"): 2}
    )
