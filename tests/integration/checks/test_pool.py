"""What a pool of prompts asks of the config, the data's rates and the model."""

from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from pacs.base.files import file_sha256
from pacs.data.rates import Rates, rates_file, write_rates
from pacs.evaluation.model import model_sha256
from pacs.integration.checks.pool import note_rated_model, pool_problems, rates_problems
from pacs.runs.settings import PoolSettings

POOL = PoolSettings(weights="sqrt").model_dump()


def config(**pool: Any) -> Any:
    return OmegaConf.create(
        {
            "data": {"shuffle": True, "train_files": ["nowhere.parquet"], "custom_cls": {"path": None}},
            "actor_rollout_ref": {"model": {"path": "my/model"}},
            "run": {"rollouts": {"pool": POOL | pool}},
        }
    )


TARGETS = {"weights": "target", "final_target": 0.3, "curriculum_steps": 100}


def test_what_it_needs_is_there() -> None:
    for pool in ({}, {"low": 0.5}, {"rates": True, "low": 0.6}, TARGETS, {"weights": "target", "target": 0.3}):
        assert list(pool_problems(config(**pool))) == []
    assert list(pool_problems(config(weights=None))) == []
    assert list(pool_problems(config(low="few"))) == []  # said of the section `run`


@pytest.mark.parametrize(
    ("pool", "said"),
    [
        ({"low": 0.8, "high": 0.2, "rates": True}, ["low=0.8 is not below run.rollouts.pool.high=0.2", "lower it"]),
        ({"low": 0.6}, ["low=0.6", "high=1.0 leave out 0.5", "rates=true (after `pacs data rate`)", "widen them"]),
        ({"high": 0.4}, ["high=0.4 leave out 0.5"]),
        ({"target": 0.3}, ["target=0.3 is not read with run.rollouts.pool.weights=sqrt", "set weights=target"]),
        ({"curriculum_steps": 9}, ["curriculum_steps=9 is not read with"]),
        (TARGETS | {"curriculum_steps": None}, ["final_target=0.3 and", "curriculum_steps=null go together"]),
        (TARGETS | {"final_target": None}, ["final_target=null and", "curriculum_steps=100 go together"]),
        (TARGETS | {"weights": None}, ["final_target=0.3 is not read without run.rollouts.pool.weights"]),
        ({"weights": None, "rates": True}, ["rates=true is not read without", "uniform, sqrt or target"]),
    ],
)
def test_what_does_not_go_together_is_refused(pool: dict[str, Any], said: list[str]) -> None:
    problem = next(iter(pool_problems(config(**pool))))
    assert [words for words in said if words not in problem] == []


def test_data_in_its_own_order_or_of_another_dataset_is_refused() -> None:
    ordered, own = config(), config(rates=True)
    ordered.data.shuffle = False
    own.data.custom_cls.path = "mine.py"
    assert "data.shuffle=false asks for the data's own order" in next(pool_problems(ordered))
    assert "this run has data.custom_cls.path=mine.py" in next(pool_problems(own))
    own.run.rollouts.pool.rates = False
    assert list(pool_problems(own)) == []


@pytest.fixture
def rated(tmp_path: Path) -> Any:
    """A config whose data is rated by its model."""
    made, data = config(rates=True), tmp_path / "train.parquet"
    data.write_bytes(b"problems")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    made.data.train_files = [str(data)]
    made.actor_rollout_ref.model.path = str(tmp_path / "model")
    digest = model_sha256(tmp_path / "model")
    write_rates(rates_file(data), Rates(file_sha256(data), "rated/model", digest, {}, {}, {}, []))
    return made


def noted(made: Any) -> list[str]:
    notes: list[str] = []
    note_rated_model(made, notes.append)
    return notes


def test_rates_of_this_data_by_this_model_are_taken(rated: Any) -> None:
    assert (list(rates_problems(rated)), noted(rated)) == ([], [])


def test_other_data_is_refused_and_another_model_warned_of(rated: Any, tmp_path: Path) -> None:
    (tmp_path / "model" / "config.json").write_text("{ }")
    (note,) = noted(rated)
    assert note.startswith(
        "warning: run.rollouts.pool.rates=true: the rates are of another model (rated/model, sha256 "
    )
    rated.actor_rollout_ref.model.path = "a/name"  # of the Hub, which has no folder here to compare
    assert noted(rated) == []
    (tmp_path / "train.parquet").write_bytes(b"other problems")
    (problem,) = rates_problems(rated)
    for words in ("train.rates.jsonl is of other data (sha256 ", "`pacs data rate a/name --data ", "set it to false"):
        assert words in problem


def test_rates_that_are_not_there_or_not_read_are_refused(rated: Any, tmp_path: Path) -> None:
    (tmp_path / "train.rates.jsonl").write_text("no rates\n")
    (problem,) = rates_problems(rated)
    assert "line 1 is damaged" in problem
    (tmp_path / "train.rates.jsonl").unlink()
    (problem,) = rates_problems(rated)
    assert "train.rates.jsonl: no such file: run `pacs data rate " in problem
    assert noted(rated) == []
    for off in ({"weights": None}, {"rates": False}):
        rated.run.rollouts.pool = POOL | {"rates": True} | off
        assert list(rates_problems(rated)) == []
