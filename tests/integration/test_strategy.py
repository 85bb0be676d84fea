"""When groups are taken whole, and why not: at the edges of a micro-batch and of the ranks."""

from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from verl.trainer.ppo.padding_utils import SYNTHETIC_PADDING_SEQ_LEN

from pacs.base.paths import config_dir
from pacs.integration.strategy import choose, outlook
from pacs.verl_keys.config import PADDING_TOKENS

ACTOR = "actor_rollout_ref.actor"


def run(**changed: Any) -> DictConfig:
    """A run of 4 responses a prompt, 8 prompts a mini-batch, 2 ranks, and 1,000 tokens a micro-batch and rank."""
    settings = {
        "actor_rollout_ref.rollout.n": 4,
        f"{ACTOR}.ppo_mini_batch_size": 8,
        f"{ACTOR}.use_dynamic_bsz": True,
        f"{ACTOR}.ppo_max_token_len_per_gpu": 1000,
        "trainer.n_gpus_per_node": 2,
    }
    overrides = [f"{key}={value}" for key, value in (settings | changed).items()]
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose("pacs", overrides=["recipe=arithmetic", *overrides])


@pytest.mark.parametrize(("tokens", "strategy"), [(1000, "grouped"), (1001, "cached")])
def test_auto_takes_groups_that_just_fit(tokens: int, strategy: str) -> None:
    choice = choose(run(), tokens)
    assert choice.strategy == strategy
    assert str(tokens) in choice.reason


def test_ranks_that_share_a_sequence_share_the_room() -> None:
    parallel = {f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size": 2}
    assert choose(run(**parallel), 2000).strategy == "grouped"
    assert choose(run(**parallel), 2001).strategy == "cached"


@pytest.mark.parametrize(("prompts", "strategy"), [(8, "grouped"), (9, "cached")])
def test_ranks_must_have_whole_groups(prompts: int, strategy: str) -> None:
    assert choose(run(**{f"{ACTOR}.ppo_mini_batch_size": prompts}), 10).strategy == strategy


@pytest.mark.parametrize(("rows", "strategy"), [(4, "grouped"), (8, "grouped"), (6, "cached"), (2, "cached")])
def test_static_micro_batches_must_hold_whole_groups(rows: int, strategy: str) -> None:
    static = {f"{ACTOR}.use_dynamic_bsz": False, f"{ACTOR}.ppo_micro_batch_size_per_gpu": rows}
    assert choose(run(**static), 10**6).strategy == strategy


@pytest.mark.parametrize("strategy", ["grouped", "cached"])
def test_what_is_set_is_taken(strategy: str) -> None:
    assert choose(run(**{"method.update.strategy": strategy}), 10).strategy == strategy


def test_the_outlook_says_what_is_known_before_the_run() -> None:
    """A group may have 512 tokens: 4 rows of 128."""
    small = run(**{f"{ACTOR}.ppo_max_token_len_per_gpu": 511})
    assert "grouped in steps whose groups all fit 511 tokens" in outlook(small)
    assert outlook(run(**{f"{ACTOR}.ppo_max_token_len_per_gpu": 512})).startswith("update strategy grouped:")
    assert outlook(run(**{"method.update.strategy": "cached"})).startswith("update strategy cached:")


def test_padding_rows_are_as_long_as_verl_makes_them() -> None:
    assert PADDING_TOKENS == SYNTHETIC_PADDING_SEQ_LEN
