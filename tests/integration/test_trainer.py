"""What the trainer makes verl's loop do, as far as that shows without Ray."""

import copy
import inspect
import re
from pathlib import Path

import pytest
import torch
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1 import get_trainer_cls, trainer_base
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from pacs.integration.trainer import PacsTrainer, check_labels, dense_ids, final_metrics, loaded_checkpoint
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


def test_the_worker_group_holds_a_reference_without_any_kl(trainer: PacsTrainer) -> None:
    trainer._init_resource_pool_mgr()
    assert trainer.use_reference_policy
    assert set(trainer.role_worker_mapping) == {Role.ActorRolloutRef}
    assert trainer.mapping[Role.ActorRolloutRef] == "global_pool"
    assert Role.ActorRollout not in trainer.mapping


def test_the_reference_is_read_from_the_checkpoint_that_was_resumed(config: DictConfig) -> None:
    own = loaded_checkpoint(config, 20)
    assert own == Path(config.trainer.default_local_dir) / "global_step_20"
    told = copy.deepcopy(config)
    told.trainer.resume_mode = "resume_path"
    told.trainer.resume_from_path = "/elsewhere/global_step_20"
    assert loaded_checkpoint(told, 20) == Path("/elsewhere/global_step_20")


def test_rewards_other_than_0_and_1_are_refused() -> None:
    check_labels(torch.tensor([0.0, 1.0]))
    with pytest.raises(ValueError, match=r"returned \[0.5\].*reward.custom_reward_function"):
        check_labels(torch.tensor([0.0, 0.5]))


def test_prompts_are_numbered_in_order_of_appearance() -> None:
    assert dense_ids(["b", "a", "b", "c"]).tolist() == [0, 1, 0, 2]


def test_class_means_are_ratios_of_sums() -> None:
    metrics = {
        "actor/pacs/score_sum_correct": 6.0,
        "actor/pacs/rows_correct": 3.0,
        "actor/pacs/score_sum_wrong": 0.0,
        "actor/pacs/rows_wrong": 0.0,
        "actor/pacs/loss": 0.7,
        "actor/lr": 1e-3,
    }
    assert final_metrics(metrics) == {
        "pacs/score/correct/mean": 2.0,
        "pacs/rows/correct": 3.0,
        "pacs/rows/wrong": 0.0,
        "pacs/loss": 0.7,
    }
    assert metrics == {"actor/lr": 1e-3}
