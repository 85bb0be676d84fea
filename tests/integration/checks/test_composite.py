"""Rewards of several parts that a run cannot train on are refused, and those that it can are said in words."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import DictConfig, OmegaConf

from pacs.composing import compose_run
from pacs.integration.checks.composite import composite_problems, reward_outlook, totals_of
from pacs.rewards.configured import reward_of

LONGEST = 24
SUM, CLIP, THRESHOLD = ({"total": total} for total in ("sum", "clip", "threshold"))
OVERLONG = {"overlong.weight": 0.5}
ANY = {"correctness": 0.9, "format.weight": 0.1}
CLASSES = {"method.weight_scope": "batch"}


@cache
def composed(name: str) -> DictConfig:
    return compose_run(name, ["recipe=arithmetic"])[0]


def config_of(reward: dict[str, Any], name: str = "pacs", others: dict[str, Any] | None = None) -> DictConfig:
    config = copy.deepcopy(composed(name))
    changes = {f"run.reward.{key}": value for key, value in reward.items()} | (others or {})
    for key, value in changes.items():
        OmegaConf.update(config, key, value, force_add=True)
    return config


@pytest.mark.parametrize(
    ("name", "reward"),
    [
        ("pacs", {}),
        ("pacs", CLIP | OVERLONG),
        ("pacs", SUM | ANY),
        ("pacs", SUM | {"length.weight": 1.0}),
        ("pacs", SUM | {"overlong.weight": 0.0, "repetition.weight": 0, "repetition.ngram": 4}),
        ("real", THRESHOLD | OVERLONG),
        ("real", SUM | {"overlong.weight": 0.0}),
        ("gvpo", SUM | OVERLONG),
        ("grpo", SUM | OVERLONG),
        ("ppo", SUM | OVERLONG | {"correctness": 2.0}),
        ("maxrl", CLIP | OVERLONG),
        ("raft", SUM | ANY),
        ("nft", THRESHOLD | OVERLONG | {"threshold": 0.75}),
    ],
)
def test_what_can_be_trained_on(name: str, reward: dict[str, Any]) -> None:
    assert list(composite_problems(config_of(reward, name))) == []


@pytest.mark.parametrize(
    ("name", "reward", "others", "said"),
    [
        ("pacs", OVERLONG, {}, ["run.reward.overlong.weight=0.5 is not read without run.reward.total", "clip"]),
        ("pacs", CLIP | {"overlong.buffer": 3}, {}, ["buffer=3 is not read without run.reward.overlong.weight"]),
        ("pacs", CLIP | OVERLONG | {"threshold": 0.7}, {}, ["run.reward.threshold=0.7 is not read with", "total=clip"]),
        (
            "pacs",
            SUM | OVERLONG,
            {},
            ["total=sum: sums go from -0.5 to 1", "pacs trains on labels from 0 to 1", "clip"],
        ),
        ("maxrl", SUM | OVERLONG, {}, ["maxrl trains on labels from 0 to 1"]),
        ("real", CLIP | OVERLONG, {}, ["real trains on right and wrong responses alone", "run.reward.total=threshold"]),
        ("pacs", CLIP | OVERLONG, CLASSES, ["right and wrong responses alone", "pacs with method.weight_scope=group"]),
        ("real", SUM | {"correctness": 0.5}, {}, ["real trains on right and wrong responses alone"]),
        ("pacs", THRESHOLD | {"threshold": 2.0}, {}, ["threshold=2.0: sums go from 0 to 1, so that no response would"]),
        ("pacs", THRESHOLD | {"threshold": 0.0}, {}, ["so that every response would count as right"]),
        (
            "pacs",
            CLIP | OVERLONG,
            {"method.reference.reset_every": None, "method.reference.reset_at_saturation": 0.5},
            ["method.reference.reset_at_saturation=0.5: with run.reward.total=clip rewards are graded"],
        ),
        ("grpo", SUM | {"correctness": 0.0}, {}, ["correctness=0.0 with no part of a weight above 0"]),
        ("grpo", SUM | OVERLONG | {"overlong.buffer": 25}, {}, ["buffer=25 must be at most", "length=24"]),
        ("grpo", SUM | {"repetition.weight": 1.0}, {}, ["ngram=40 must be below data.max_response_length=24"]),
        (
            "grpo",
            SUM | OVERLONG,
            {"reward.reward_manager.source": "importlib", "reward.reward_manager.name": "Mine"},
            ["reward.reward_manager.name=Mine is a manager of your own, which adds no parts"],
        ),
        ("dapo", SUM | OVERLONG, {}, ["overlong_buffer_cfg.enable=true is verl's own punishment", "set it to false"]),
    ],
)
def test_what_cannot_be_trained_on_is_refused(
    name: str, reward: dict[str, Any], others: dict[str, Any], said: list[str]
) -> None:
    (problem,) = composite_problems(config_of(reward, name, others))
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


def test_of_a_wrong_setting_the_section_s_own_check_tells() -> None:
    assert list(composite_problems(config_of({"total": "mean"}))) == []


def test_with_a_function_of_one_s_own_its_scores_decide() -> None:
    """What they are is known from calls of it alone."""
    own = {"reward.custom_reward_function.path": "mine.py"}
    assert list(composite_problems(config_of(SUM | OVERLONG, "pacs", own))) == []
    assert totals_of(config_of({}), 3.0) == [3.0]
    assert totals_of(config_of(SUM | OVERLONG | {"correctness": 0.5}), 3.0) == [1.0, 1.5]
    assert totals_of(config_of(CLIP | OVERLONG), 3.0) == totals_of(config_of(THRESHOLD), 3.0) == [0.0, 1.0]


def test_the_outlook_says_what_the_first_row_would_earn(tmp_path: Path) -> None:
    row = {
        "data_source": "sums",
        "prompt": [{"role": "user", "content": "1+1"}],
        "reward_model": {"style": "rule", "ground_truth": "2"},
        "extra_info": {"verifier": "math"},
    }
    file = tmp_path / "train.parquet"
    pq.write_table(pa.Table.from_pylist([row]), file)
    reward = CLIP | OVERLONG | {"format.weight": 0.1, "correctness": 0.9, "overlong.buffer": 8}
    said = list(reward_outlook(config_of(reward, "pacs", {"data.train_files": str(file)})))
    assert said == [
        "reward: 0.9 * score + 0.1 * format (an answer in a box) + 0.5 * overlong (to -1 over the last 8 of 24 tokens)"
        ", held to 0 and 1 (run.reward)",
        f"  row 0 of {file}, answered right: 1 with 1 tokens (score 1, format 1, overlong 0) and 0.5 with 24 tokens "
        "(score 1, format 1, overlong -1)",
        f"  row 0 of {file}, answered wrong: 0.1 with 1 tokens (score 0, format 1, overlong 0) and 0 with 24 tokens "
        "(score 0, format 1, overlong -1)",
    ]
    assert list(reward_outlook(config_of({}))) == []


def test_an_evaluation_of_the_run_grades_by_the_verifier_alone() -> None:
    plain, parts = (config_of(reward).reward.custom_reward_function for reward in ({}, SUM | ANY))
    assert reward_of(plain) == reward_of(parts)
