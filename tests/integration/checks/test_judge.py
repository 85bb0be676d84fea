"""A judge that would judge nothing, or that nobody would start, is refused before Ray is."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from pacs.integration.checks.composite import composite_problems
from pacs.integration.checks.judge import asked_judge_problems, judge_place_problems
from pacs.integration.checks.machine import _machine_problems
from pacs.integration.checks.switches import untried
from pacs.verl_keys.algorithm_changes import algorithm_changes
from tests.evaluation.conftest import write_model
from tests.integration.checks.test_composite import CLIP, config_of
from tests.rewards.judges import MODEL, serving

CRITERIA = {"judge.criteria": {"clear": {"question": "Is it clear?"}}}
JUDGED = CLIP | {"judge.weight": 0.5} | CRITERIA
URL = {"judge.base_url": "http://127.0.0.1:9/v1", "judge.model": MODEL}
OWN_POOL = {
    "reward.reward_model.enable": True,
    "reward.reward_model.enable_resource_pool": True,
    "reward.reward_model.nnodes": 1,
    "reward.reward_model.n_gpus_per_node": 1,
    "reward.reward_model.model_path": "a/judge",
}
MODEL_PATH = "reward.reward_model.model_path"


@pytest.mark.parametrize(("reward", "others"), [({}, {}), (JUDGED | URL, {}), (JUDGED, OWN_POOL)])
def test_what_can_be_asked(reward: dict[str, Any], others: dict[str, Any]) -> None:
    config = config_of(reward, "grpo", others)
    assert [*asked_judge_problems(config), *composite_problems(config)] == []
    assert not any("no test of ours" in said for said in untried(config))


@pytest.mark.parametrize(
    ("reward", "others", "said"),
    [
        (JUDGED, {}, ["nobody is there to judge", "enable_resource_pool=true", "or name a server"]),
        (JUDGED, OWN_POOL | {MODEL_PATH: None}, ["nobody is there to judge"]),
        (JUDGED, OWN_POOL | {"reward.reward_model.enable_resource_pool": False}, ["GPUs of its own", "base_url"]),
        (
            JUDGED,
            OWN_POOL | {"reward.reward_model.rollout.free_cache_engine": True},
            ["reward.reward_model.rollout.free_cache_engine=true", "never wakes it"],
        ),
        (
            JUDGED,
            OWN_POOL | {"reward.reward_model.rollout.max_model_len": 50},
            ["reward.reward_model.rollout.max_model_len=50: a question may have some", "raise it"],
        ),
        (JUDGED | {"judge.model": "x"}, OWN_POOL, ["run.reward.judge.model=x is of an outside server"]),
        (JUDGED | URL, OWN_POOL, ["nobody would ask verl's reward model: leave out either"]),
        (JUDGED | URL | {"judge.model": None}, {}, ["without run.reward.judge.model: say which"]),
        (JUDGED | URL | {"judge.base_url": "localhost:8000"}, {}, ["give it as http://HOST:PORT/v1"]),
        (CLIP | {"judge.weight": 0.5} | URL, {}, ["without run.reward.judge.criteria: say what is judged"]),
    ],
)
def test_what_cannot_be_asked_is_refused(reward: dict[str, Any], others: dict[str, Any], said: list[str]) -> None:
    (problem,) = asked_judge_problems(config_of(reward, "pacs", others))
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


def test_criteria_without_a_weight_are_not_read() -> None:
    (problem,) = composite_problems(config_of(CLIP | CRITERIA))
    assert (
        "run.reward.judge.criteria.clear.question=Is it clear? is not read without run.reward.judge.weight" in problem
    )


def test_a_server_must_answer_and_have_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: "1") as server:
        there = JUDGED | URL | {"judge.base_url": f"http://{server.address}/v1"}
        assert list(judge_place_problems(config_of(there))) == []
        (problem,) = judge_place_problems(config_of(there | {"judge.model": "another"}))
        assert "run.reward.judge.model=another: the server has a/judge: name one of these." in problem
        (problem,) = judge_place_problems(config_of(there | {"judge.key_variable": "NO_SUCH_KEY"}))
        assert "key_variable=NO_SUCH_KEY: the environment has no such variable" in problem
    (problem,) = judge_place_problems(config_of(there))
    assert "no judge answers there" in problem
    assert "start its server" in problem


def test_the_judges_folder_must_be_there_and_be_a_model(tmp_path: Path) -> None:
    (problem,) = judge_place_problems(config_of(JUDGED, "pacs", OWN_POOL | {MODEL_PATH: str(tmp_path / "none")}))
    assert "none: no such folder: name one that is there" in problem
    (problem,) = judge_place_problems(config_of(JUDGED, "pacs", OWN_POOL | {MODEL_PATH: str(tmp_path)}))
    assert f"{MODEL_PATH}={tmp_path} holds no config.json" in problem
    assert list(judge_place_problems(config_of({}))) == []


def test_the_judge_must_read_what_its_tokenizer_says(tmp_path: Path) -> None:
    config = config_of(JUDGED, "pacs", OWN_POOL | {MODEL_PATH: str(write_model(tmp_path, seed=1))})
    assert list(judge_place_problems(config)) == []
    named = tmp_path / "tokenizer_config.json"
    named.write_text(json.dumps(json.loads(named.read_text()) | {"tokenizer_class": "Qwen2Tokenizer"}))
    (problem,) = judge_place_problems(config)
    assert problem.startswith(f"{MODEL_PATH}={tmp_path} has a tokenizer.json that transformers does not heed")
    (tmp_path / "tokenizer.json").write_text("{}")
    (problem,) = judge_place_problems(config)
    assert problem.startswith(f"{MODEL_PATH}={tmp_path}: its tokenizer does not load")


def test_where_a_judge_is_asked_is_no_change_of_the_algorithm_and_what_is() -> None:
    before = config_of(JUDGED | URL)
    elsewhere = config_of(JUDGED | URL | {"judge.base_url": "http://other:8/v1", "judge.retries": 5})
    assert algorithm_changes(before, elsewhere) == []
    other = {"judge.criteria": {"clear": {"question": "Is it short?"}}}
    (change,) = algorithm_changes(before, config_of(JUDGED | URL | other))
    assert change.startswith("run.reward.judge.criteria.clear.question: Is it clear? in the checkpoint")
    (change,) = algorithm_changes(before, config_of(JUDGED | URL | {"judge.model": "b/judge"}))
    assert change.startswith("run.reward.judge.model")


@pytest.mark.parametrize(("there", "refused"), [(1, True), (2, False)])
def test_a_judge_s_gpus_come_on_top_of_the_policys(there: int, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    said = list(_machine_problems(config_of(JUDGED, "pacs", OWN_POOL | {"trainer.device": "cuda"})))
    assert (said != []) == refused
    assert all("with the 1 of trainer.n_gpus_per_node these are more than the 1 GPUs" in problem for problem in said)
