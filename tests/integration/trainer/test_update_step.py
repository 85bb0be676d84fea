"""What a step tells the workers, what follows from a reset, and what a reset does: without Ray and without a model."""

import copy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hydra import compose, initialize_config_dir
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from verl.trainer.ppo.v1.trainer_base import KVBatchMeta
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from pacs.algorithm import Pacs, row_columns
from pacs.base.paths import config_dir
from pacs.checkpoints import folder as checkpoints
from pacs.integration import exchange
from pacs.integration.strategy import choose
from pacs.integration.trainer import arrangement as arrangements
from pacs.integration.trainer.arrangement import Arrangement, arrange
from pacs.integration.trainer.grades import Grades
from pacs.integration.trainer.method_trainer import MethodTrainer
from pacs.integration.trainer.step import wants_old_log_probs
from pacs.integration.trainer.update import log, reset, update
from pacs.integration.worker.method_worker import MethodWorker


class Workers:
    """Notes what the workers of a run are told; of an update, the settings that came with the batch."""

    world_size = 1

    def __init__(self) -> None:
        self.resets: list[bool] = []
        self.saved: list[str] = []
        self.updates: list[dict[str, Any]] = []

    def update_actor(self, batch: Any) -> dict[str, Any]:
        self.updates.append(dict(batch.extra_info))
        names = row_columns(Pacs())
        return {
            "metrics": {
                exchange.TABLES: [(names, torch.zeros(len(names), 1))],
                "grad_norm": [1.0],
                "learning_rate": 1e-3,
                "mfu": [0.1],
                "loss": [1.0],
                "lr": [1e-3],
                "timing_s/reference_pass": 0.0,
                "timing_s/policy_pass": 0.0,
            }
        }

    def reset_reference(self, reset_optimizer: bool) -> None:
        self.resets.append(reset_optimizer)

    def save_reference(self, folder: str) -> None:
        self.saved.append(folder)


def make_trainer(folder: Path, *overrides: str) -> MethodTrainer:
    with initialize_config_dir(str(config_dir()), version_base=None):
        config = compose("pacs", overrides=["recipe=arithmetic", f"run.dir={folder}", *overrides])
    trainer = MethodTrainer(config)
    trainer.actor_rollout_wg = Workers()
    return trainer


def train(trainer: MethodTrainer, steps: int) -> list[str | None]:
    """Take steps as verl's loop does, a checkpoint after each; which reference each checkpoint names."""
    named = []
    for step in range(1, steps + 1):
        trainer.global_steps = step
        choice, metrics = choose(trainer.config, 0), {}
        roles = trainer.config.actor_rollout_ref
        rows = roles.actor.ppo_mini_batch_size * roles.rollout.n
        arrangement = Arrangement(choice, block_rows=roles.rollout.n, mini_batch_rows=rows)
        metrics |= log(trainer, choice, update(trainer, SimpleNamespace(extra_info={}), arrangement))
        reset(trainer, metrics)
        aside = checkpoints.step_folder(trainer.saving.folder / checkpoints.SAVING, step)
        aside.mkdir(parents=True)
        named.append(trainer.save_algorithm_state(aside))
    return named


RESETS = ("method.reference.reset_every=4", "method.reference.warmup_steps=2")


def test_the_kth_of_w_steps_after_a_reset_has_k_of_w_plus_1_of_the_learning_rate(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, *RESETS)
    train(trainer, 8)
    told = [update["pacs_learning_rate_factor"] for update in trainer.actor_rollout_wg.updates]
    assert told == pytest.approx([1, 1, 1, 1, 1 / 3, 2 / 3, 1, 1])


def test_the_reference_is_the_policy_in_the_first_step_and_after_each_reset(tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, *RESETS)
    train(trainer, 6)
    told = [update["pacs_reference_is_policy"] for update in trainer.actor_rollout_wg.updates]
    assert told == [True, False, False, False, True, False]


@pytest.mark.parametrize("reset_optimizer", [True, False])
def test_a_reset_forgets_the_optimizer_if_it_is_to(reset_optimizer: bool, tmp_path: Path) -> None:
    trainer = make_trainer(tmp_path, *RESETS, f"method.reference.reset_optimizer={str(reset_optimizer).lower()}")
    train(trainer, 8)
    assert trainer.actor_rollout_wg.resets == [reset_optimizer] * 2


def test_the_reference_after_a_reset_is_stored_anew(tmp_path: Path) -> None:
    """A checkpoint that named the weights of the reference before would go on with those."""
    trainer = make_trainer(tmp_path, *RESETS)
    first, *same, at_reset, second, third = train(trainer, 6)
    assert first is not None
    assert same == [first] * 2
    assert at_reset is None
    assert second is not None
    assert second != first
    assert third == second
    assert len(trainer.actor_rollout_wg.saved) == 2


def test_the_update_is_told_what_the_responses_were_sampled_with(tmp_path: Path) -> None:
    trainer = make_trainer(
        tmp_path,
        "actor_rollout_ref.rollout.temperature=0.7",
        "method.metrics.entropy_every=2",
        "actor_rollout_ref.actor.ppo_epochs=3",
        "actor_rollout_ref.actor.data_loader_seed=11",
    )
    train(trainer, 2)
    rollout, actor = trainer.config.actor_rollout_ref.rollout, trainer.config.actor_rollout_ref.actor
    rows = actor.ppo_mini_batch_size * rollout.n
    for step, told in enumerate(trainer.actor_rollout_wg.updates, start=1):
        assert told["temperature"] == 0.7
        assert told["mini_batch_size"] == told["global_batch_size"] == rows
        assert (told["epochs"], told["seed"]) == (3, 11)
        assert told["dataloader_kwargs"] == {"shuffle": False}
        assert told["calculate_entropy"] == (step == 2)


def test_old_log_probs_are_taken_in_every_so_many_steps(tmp_path: Path) -> None:
    for every, steps in ((3, [3, 6]), (1, [1, 2, 3, 4, 5, 6, 7]), (None, [])):
        trainer = make_trainer(tmp_path, f"method.metrics.old_log_prob_every={'null' if every is None else every}")
        taken = []
        for trainer.global_steps in range(1, 8):
            if wants_old_log_probs(trainer):
                taken.append(trainer.global_steps)
        assert taken == steps


@pytest.mark.parametrize(("strategy", "grouped"), [("grouped", True), ("cached", False)])
def test_groups_are_kept_together_where_autograd_goes_through_them(
    strategy: str, grouped: bool, tmp_path: Path
) -> None:
    """With forced groups verl counts a static micro-batch in groups."""
    actor = "actor_rollout_ref.actor"
    trainer = make_trainer(
        tmp_path,
        f"method.update.strategy={strategy}",
        f"{actor}.use_dynamic_bsz=false",
        f"{actor}.ppo_micro_batch_size_per_gpu=16",
    )
    train(trainer, 1)
    n = trainer.config.actor_rollout_ref.rollout.n
    (told,) = trainer.actor_rollout_wg.updates
    assert told["pacs_strategy"] == strategy
    assert told.get("force_group_size") == (n if grouped else None)
    assert told.get("micro_batch_size_per_gpu") == (16 // n if grouped else None)


class Policy:
    """What a worker holds of a policy: a model, Adam, and a schedule that warms up over four steps."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.module = torch.nn.Linear(3, 2)
        parts = [{"params": [self.module.weight]}, {"params": [self.module.bias], "lr": 0.01}]
        self.optimizer = AdamW(parts, lr=0.1)
        self.lr_scheduler = LambdaLR(self.optimizer, lambda step: min(1.0, (step + 1) / 4))

    def train(self) -> None:
        self.module(torch.ones(1, 3)).square().sum().backward()
        self.optimizer.step()


def test_a_steps_learning_rate_is_verls_times_the_factor_and_only_of_that_step() -> None:
    policy = Policy()
    worker = SimpleNamespace(actor=SimpleNamespace(engine=policy))
    rates = []
    for factor in (1.0, 0.5, 1.0):
        returned = MethodWorker._scale_learning_rate(worker, factor)
        rates.append([group["lr"] for group in policy.optimizer.param_groups])
        assert returned == rates[-1][0]
        assert MethodWorker._scale_learning_rate(worker, factor) == returned  # not of a rate that has a factor already
        policy.train()
        policy.lr_scheduler.step()
    expected = [[0.1 / 4, 0.01 / 4], [0.1 / 4, 0.01 / 4], [0.1 * 3 / 4, 0.01 * 3 / 4]]
    assert rates == [pytest.approx(rate) for rate in expected]


@pytest.mark.parametrize("reset_optimizer", [True, False])
@pytest.mark.parametrize("has_reference", [True, False])
def test_a_reset_copies_the_policy_and_forgets_the_moments_if_it_is_to(
    has_reference: bool, reset_optimizer: bool
) -> None:
    policy = Policy()
    reference = copy.deepcopy(policy.module)
    policy.train()
    trained = copy.deepcopy(policy.module.state_dict())
    assert not torch.equal(trained["weight"], reference.weight)
    ref = SimpleNamespace(engine=SimpleNamespace(module=reference)) if has_reference else None
    MethodWorker.reset_reference(SimpleNamespace(actor=SimpleNamespace(engine=policy), ref=ref), reset_optimizer)
    for name, value in policy.module.state_dict().items():
        assert torch.equal(value, trained[name])
        assert torch.equal(reference.state_dict()[name], value) == has_reference
    assert len(policy.optimizer.state) == (0 if reset_optimizer else 2)


def test_the_reference_is_saved_and_loaded_and_the_policy_stays(tmp_path: Path, process_group: None) -> None:
    policy, reference = torch.nn.Linear(3, 2), torch.nn.Linear(3, 2)
    start = [copy.deepcopy(model.state_dict()) for model in (policy, reference)]
    worker = SimpleNamespace(
        actor=SimpleNamespace(engine=SimpleNamespace(module=policy)),
        ref=SimpleNamespace(engine=SimpleNamespace(module=reference)),
    )
    MethodWorker.save_reference(worker, str(tmp_path / "reference"))
    with torch.no_grad():
        reference.weight.zero_()
    MethodWorker.load_reference(worker, str(tmp_path / "reference"))
    for model, expected in zip((policy, reference), start, strict=True):
        assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize(("longest", "strategy"), [(150, "grouped"), (151, "cached")])
def test_the_strategy_is_chosen_by_the_largest_group_and_rows_are_in_the_order_of_sampling(
    longest: int, strategy: str, tmp_path: Path
) -> None:
    """Two groups of two in a micro-batch of 200 tokens; they arrive in another order."""
    trainer = make_trainer(
        tmp_path,
        "actor_rollout_ref.rollout.n=2",
        "actor_rollout_ref.actor.ppo_mini_batch_size=2",
        "actor_rollout_ref.actor.use_dynamic_bsz=true",
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=200",
    )
    trainer.data_parallel_size, trainer.global_steps = 1, 1
    keys = ["3-10_1_0", "3-2_0_0", "3-10_0_0", "3-2_1_0"]
    tags = [{"seq_len": length} for length in (50, 10, longest, 10)]
    batch, arrangement = arrange(trainer, KVBatchMeta(partition_id="train", keys=keys, tags=tags), {})
    assert arrangement.choice.strategy == strategy
    assert (arrangement.block_rows, arrangement.mini_batch_rows) == (2, 4)
    assert batch.keys == ["3-2_0_0", "3-2_1_0", "3-10_0_0", "3-10_1_0"]
    assert [tag["seq_len"] for tag in batch.tags] == [10, 10, longest, 50]


@pytest.mark.parametrize(("budget", "strategy"), [(900, "grouped"), (899, "cached")])
def test_uneven_groups_share_blocks_and_the_budget_decides_on_them(
    budget: int, strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of four prompts one has six responses, another four, and two have two, as a second stage leaves them."""
    trainer = make_trainer(
        tmp_path,
        "actor_rollout_ref.rollout.n=2",
        "run.rollouts.dars.schedule=hardness",
        "run.rollouts.dars.most=7",
        "actor_rollout_ref.actor.ppo_mini_batch_size=4",
        f"actor_rollout_ref.actor.ppo_max_token_len_per_gpu={budget}",
    )
    trainer.data_parallel_size, trainer.global_steps, trainer.tokenizer = 1, 1, SimpleNamespace(eos_token_id=0)
    sizes = {"3-0": 2, "3-1": 6, "3-2": 2, "3-3": 4}
    keys = [f"{uid}_{session}_0" for uid, size in sizes.items() for session in range(size)]
    tags = [{"seq_len": 150 if key.startswith("3-1") else 100} for key in keys]

    def padded(batch: KVBatchMeta, rows: int, _: int) -> KVBatchMeta:
        keys = [f"pad_{place}_0" for place in range(rows - len(batch))]
        tags = [{"seq_len": 128, "is_padding": True} for _ in keys]
        return KVBatchMeta(partition_id="train", keys=batch.keys + keys, tags=batch.tags + tags)

    monkeypatch.setattr(arrangements, "upsample_batch_to_divisible_size", padded)
    batch, arrangement = arrange(trainer, KVBatchMeta(partition_id="train", keys=keys, tags=tags), {})
    assert arrangement.choice.strategy == strategy  # 6 x 150 tokens fit 900
    # Blocks of 6, of 4 and 2, and of 2 with padding; one by one the 14 rows need none.
    assert (arrangement.block_rows, arrangement.mini_batch_rows) == (6, 18 if strategy == "grouped" else 14)
    update(trainer, batch, arrangement)
    (told,) = trainer.actor_rollout_wg.updates
    assert told["mini_batch_size"] == told["global_batch_size"] == len(batch)
    assert told.get("force_group_size") == (6 if strategy == "grouped" else None)
    for uid, size in sizes.items():
        places = [place for place, key in enumerate(batch.keys) if key.startswith(f"{uid}_")]
        assert len(places) == size
        assert strategy == "cached" or len({place // 6 for place in places}) == 1


def test_scores_are_the_verifiers_and_rewards_what_is_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With parts added to a reward; of first responses, without padding."""

    def verls(self: PPOTrainerSync, batch: Any, metrics: dict[str, Any]) -> None:
        metrics |= {"critic/score/mean": 9.0, "critic/rewards/mean": 9.0, "critic/advantages/mean": 0.0}

    monkeypatch.setattr(PPOTrainerSync, "_compute_metrics", verls)
    made, metrics = make_trainer(tmp_path), {}
    rows = torch.tensor([0.0, 0.0, 1.0, 1.0, 2.0])
    made.grades = Grades(
        rewards=torch.tensor([0.5, 0.0, 0.75, 0.0, 7.0]),
        scores=torch.tensor([1.0, 0.0, 1.0, 1.0, 7.0]),
        group_ids=rows.long(),
        sampled=rows < 2,
        first=torch.tensor([True, True, True, False, False]),
        tokens=rows,
        truncated=rows < 0,
        fingerprints=rows.long(),
        infos=[{}] * 4,
    )
    made._compute_metrics(SimpleNamespace(), metrics)
    assert metrics["critic/score/mean"] == pytest.approx(2 / 3)
    assert metrics["critic/rewards/mean"] == pytest.approx(1.25 / 3)
    assert not any("advantages" in name for name in metrics)
