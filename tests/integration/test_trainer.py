"""What the trainer makes verl's loop do, as far as that shows without Ray."""

import copy
import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1 import get_trainer_cls, trainer_base
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from pacs.algorithm import ROW_COLUMNS, PacsConfig, ReferenceConfig, ReferenceSchedule
from pacs.integration import fields
from pacs.integration.reference_checkpoint import (
    drop_references_without_policy,
    load_reference,
    loaded_checkpoint,
    save_reference,
)
from pacs.integration.step_rows import check_labels, dense_ids, row_sums, step_rows
from pacs.integration.trainer import PacsTrainer, verifier_statuses
from pacs.metrics import find
from pacs.paths import config_dir


@pytest.fixture(scope="module")
def config() -> DictConfig:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose("pacs", overrides=["recipe=arithmetic"])


@pytest.fixture
def trainer(config: DictConfig) -> PacsTrainer:
    return PacsTrainer(config)


def test_verl_finds_the_trainer_by_its_name(config: DictConfig) -> None:
    assert get_trainer_cls(config.trainer.v1.trainer_mode) is PacsTrainer


def test_every_place_where_verl_asks_for_the_mode_sees_sync(trainer: PacsTrainer, config: DictConfig) -> None:
    assert config.trainer.v1.trainer_mode == "pacs"
    assert trainer.trainer_mode == "sync"
    # The synchronous replay buffer: exactly this class, and told the synchronous mode.
    assert type(trainer.replay_buffer) is ReplayBuffer
    assert trainer.replay_buffer.trainer_mode == "sync"
    # The other comparisons (data loading, checkpoint, resume, submission) read the same attribute; a new one that
    # reads the config instead would go wrong silently, so it fails here.
    source = inspect.getsource(trainer_base)
    assert len(re.findall(r'self\.trainer_mode [!=]= "sync"', source)) == 6
    assert len(re.findall(r"trainer\.v1\.trainer_mode", source)) == 1  # where self.trainer_mode is set


def test_the_dataloader_is_the_synchronous_one(trainer: PacsTrainer) -> None:
    source = inspect.getsource(trainer_base.PPOTrainer._init_dataloader)
    assert 'requires_exact_refill = self.trainer_mode != "sync" or' in source
    assert trainer.config.data.gen_batch_size is None


@pytest.mark.parametrize(("reset_every", "role"), [(20, Role.ActorRolloutRef), (1, Role.ActorRollout)])
def test_the_worker_group_holds_a_reference_unless_it_is_always_the_policy(
    config: DictConfig, reset_every: int, role: Role
) -> None:
    config = copy.deepcopy(config)
    config.pacs.reference.reset_every = reset_every
    trainer = PacsTrainer(config)
    trainer._init_resource_pool_mgr()
    assert trainer.mapping[role] == "global_pool"
    assert set(trainer.role_worker_mapping) == {role}
    assert not trainer.use_reference_policy  # verl asks for no pass of it


def test_the_reference_is_read_from_the_checkpoint_that_was_resumed(config: DictConfig) -> None:
    own = loaded_checkpoint(config, 20)
    assert own == Path(config.trainer.default_local_dir) / "global_step_20"
    told = copy.deepcopy(config)
    told.trainer.resume_mode = "resume_path"
    told.trainer.resume_from_path = "/elsewhere/global_step_20"
    assert loaded_checkpoint(told, 20) == Path("/elsewhere/global_step_20")


class Workers:
    """Notes what the workers of a run would be told."""

    def __init__(self) -> None:
        self.told: list[tuple] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *arguments: self.told.append((name, *arguments))


def test_the_reference_of_a_checkpoint_is_taken_up(tmp_path: Path) -> None:
    schedule, workers = ReferenceSchedule(ReferenceConfig(reset_every=2)), Workers()
    schedule.after_updates(1, saturated=0.0, log_ratio=0.0)
    save_reference(tmp_path / "global_step_1", schedule, workers)
    schedule.after_updates(2, saturated=0.0, log_ratio=0.0)
    save_reference(tmp_path / "global_step_2", schedule, workers)
    assert workers.told == [("save_reference", str(tmp_path / "global_step_1/reference"))]

    resumed, workers = ReferenceSchedule(ReferenceConfig(reset_every=2)), Workers()
    load_reference(tmp_path / "global_step_1", resumed, workers)
    load_reference(tmp_path / "global_step_2", resumed, workers)
    folder = str(tmp_path / "global_step_1/reference")
    assert workers.told == [("load_reference", folder), ("reset_reference", False)]
    assert resumed.state() == schedule.state()

    always = ReferenceSchedule(ReferenceConfig(reset_every=1))
    with pytest.raises(ValueError, match=r"reset_every=1, but the run that wrote .*global_step_1 had a reference"):
        load_reference(tmp_path / "global_step_1", always, Workers())
    with pytest.raises(FileNotFoundError, match=r"not written by PACS.*trainer.resume_mode=disable"):
        load_reference(tmp_path / "global_step_9", resumed, Workers())


def test_a_reference_goes_with_its_policy(tmp_path: Path) -> None:
    for step in (1, 2):
        (tmp_path / f"global_step_{step}" / "reference").mkdir(parents=True)
        (tmp_path / f"global_step_{step}" / "reference" / "state.json").write_text("{}")
    (tmp_path / "global_step_2" / "actor").mkdir()
    drop_references_without_policy(tmp_path)
    assert not (tmp_path / "global_step_1" / "reference").exists()
    assert (tmp_path / "global_step_2" / "reference" / "state.json").exists()


def test_rows_of_a_jagged_tensor_are_summed() -> None:
    rows = [torch.tensor([1.0, 2.0]), torch.tensor([]), torch.tensor([5.0])]
    assert row_sums(torch.nested.as_nested_tensor(rows, layout=torch.jagged)).tolist() == [3.0, 0.0, 5.0]


def test_rewards_other_than_0_and_1_are_refused() -> None:
    check_labels(torch.tensor([0.0, 1.0]))
    with pytest.raises(ValueError, match=r"returned \[0.5\].*reward.custom_reward_function"):
        check_labels(torch.tensor([0.0, 0.5]))


def test_prompts_are_numbered_in_order_of_appearance() -> None:
    assert dense_ids(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]


def test_rows_are_grouped_weighed_and_counted() -> None:
    uids = ["a", "a", "a", "b", "c", "c", "pad1", "pad2"]
    padding = [False] * 6 + [True] * 2
    rewards = torch.tensor([1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0])
    rows = step_rows(uids, padding, rewards, PacsConfig(single_class_groups="drop"))
    assert rows.alone.tolist() == [False, False, False, True, False, False, False, False]
    assert rows.counted.tolist() == [True, True, True, False, False, False, False, False]
    assert rows.weights.tolist() == [1.5, 0.75, 0.75, 0.0, 0.0, 0.0, 0.0, 0.0]
    written = rows.as_fields()
    assert written[fields.GROUP_SIZES].tolist() == [3, 3, 3, 1, 2, 2, 0, 0]
    assert written[fields.ROW_MASK].tolist() == [True, True, True, False, True, True, False, False]


@pytest.mark.parametrize(
    ("estimator", "alone"), [("rloo", [0, 0, 0, 0, 0, 1]), ("grpo", [0, 0, 0, 1, 1, 1]), ("none", [0] * 6)]
)
def test_a_group_too_small_for_the_estimator_is_dropped(estimator: str, alone: list[int]) -> None:
    rewards = torch.tensor([1.0, 0.0, 0.0, 1.0, 0.0, 1.0])
    rows = step_rows(list("aaabbc"), [False] * 6, rewards, PacsConfig(estimator=estimator))
    assert rows.alone.int().tolist() == alone
    assert rows.counted.int().tolist() == [1 - value for value in alone]


def test_statuses_are_read_of_sampled_rows_and_only_if_all_have_one() -> None:
    def extra(*statuses: str | None) -> list[dict]:
        return [{"reward_extra_info": {} if s is None else {"status": s}} for s in statuses]

    sampled = torch.tensor([True, True, False])
    assert verifier_statuses(extra("correct", "timeout", None), sampled) == ["correct", "timeout"]
    assert verifier_statuses(extra("correct", None, "wrong"), sampled) is None


def returned(norms: list[float]) -> dict:
    row = torch.tensor([1.0])
    names = (*ROW_COLUMNS, "entropy")
    return {
        fields.TABLES: [(names, torch.stack([row] * len(names)))],
        "grad_norm": norms,
        "learning_rate": 1e-3,
        "mfu": [0.1, 0.3],
        "loss": [5.0, 7.0],
        "lr": [2e-3],
        "timing_s/reference_pass": 1.0,
        "timing_s/policy_pass": 0.0,
    }


def test_clipped_and_skipped_updates_are_counted(trainer: PacsTrainer) -> None:
    clip = trainer.config.actor_rollout_ref.actor.optim.clip_grad
    metrics = trainer._update_metrics(returned([clip / 2, 2 * clip, float("nan"), 3 * clip]))
    assert metrics["pacs/gradient/clipped_fraction"] == 0.5
    assert metrics["pacs/gradient/skipped_count"] == 1
    assert metrics["pacs/update/learning_rate_mean"] == 1e-3
    assert metrics["perf/mfu/actor"] == pytest.approx(0.2)
    assert metrics["actor/entropy"] == 1.0
    assert "actor/loss" not in metrics  # the surrogate's value; pacs/loss_mean is Eq. 8's


@pytest.mark.parametrize(
    ("trigger", "threshold", "value"),
    [("reset_at_saturation", 0.5, 1.0), ("reset_at_log_ratio", 2.0, 2.5), ("reset_at_log_ratio", 3.0, None)],
)
def test_a_threshold_sees_what_the_workers_returned(
    config: DictConfig, trigger: str, threshold: float, value: float | None
) -> None:
    """One row that counts, right and sure of it (psi = 6), with a log-ratio of 2.5."""
    config = copy.deepcopy(config)
    config.pacs.reference.reset_every = None
    config.pacs.reference[trigger] = threshold
    trainer = PacsTrainer(config)
    trainer.global_steps, trainer.actor_rollout_wg = 1, Workers()
    row = {"counted": 1, "correct": 1, "loss": 0, "score": 6, "log_ratio": 2.5, "tokens": 3}
    row |= {"effective_advantage": 0, "grpo_fallback": 0}
    given = returned([1.0]) | {fields.TABLES: [(tuple(row), torch.tensor(list(row.values()))[:, None])]}
    metrics = trainer._update_metrics(given)
    trainer._after_updates(metrics)
    assert [(event.trigger, event.value) for event in trainer.reference.events] == ([(trigger, value)] if value else [])
    assert metrics["pacs/reference/reset_count"] == (1 if value else 0)
    assert trainer.actor_rollout_wg.told == ([("reset_reference", True)] if value else [])


def test_every_metric_of_the_update_is_in_the_registry(trainer: PacsTrainer) -> None:
    assert [name for name in trainer._update_metrics(returned([1.0])) if find(name) is None] == []
