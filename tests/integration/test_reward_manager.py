"""Rewards of several parts as verl's reward managers give them: labels, rewards, and what is said of each."""

from itertools import pairwise
from typing import Any

import pytest
from omegaconf import OmegaConf
from verl.experimental.reward_loop.reward_manager.dapo import DAPORewardManager
from verl.trainer.ppo.reward import load_reward_manager

from pacs.integration.exchange import TURNS
from pacs.rewards.reasoning import UNFINISHED
from pacs.rewards.verdict import VerifierFailure, check_graded
from tests.rewards.judges import MODEL, serving
from tests.rewards.test_reasoning import config_of, graded
from tests.rewards.tokenizers import tokenizer

LONGEST = 40


def manager_of(reward: dict[str, Any] | None, made: Any, manager: str = "naive", function: str | None = None) -> Any:
    config = config_of(manager)
    config.data.max_response_length = LONGEST
    if reward is not None:
        OmegaConf.update(config, "run.reward", reward)
    if function is not None:
        config.reward.custom_reward_function.path = function
    return load_reward_manager(config, made)


JUDGE = {"weight": 0.5, "criteria": {"clear": {"question": "Clear?", "weight": 3}, "short": {"question": "Short?"}}}


@pytest.mark.parametrize("manager", ["naive", "dapo"])
@pytest.mark.parametrize("of_verl", [False, True])
def test_a_judge_is_asked_of_the_answer_behind_the_reasoning(manager: str, of_verl: bool) -> None:
    """At its own address, or at that of the router that verl hands its managers."""
    made = tokenizer(("<think>", "</think>"), (), "<think>\n")
    with serving(lambda body: "8" if "Clear?" in body["messages"][0]["content"] else "so short") as server:
        config = config_of(manager)
        config.data.max_response_length = LONGEST
        place = {} if of_verl else {"base_url": f"http://{server.address}/v1", "model": MODEL}
        OmegaConf.update(config, "run.reward", {"total": "sum", "correctness": 0.4, "judge": JUDGE | place})
        OmegaConf.update(config, "reward.reward_model", {"model_path": MODEL}, force_add=True)
        of_model = {"reward_router_address": server.address, "reward_model_tokenizer": made} if of_verl else {}
        judged = load_reward_manager(config, made, **of_model)
        said = graded(judged, made, r"five</think>it is \boxed{5}", {"verifier": "math"})
        unended = graded(judged, made, r"maybe \boxed{5}", {"verifier": "math"})
        empty = graded(judged, made, "maybe</think>", {"verifier": "math"})
    info = said["reward_extra_info"]
    assert {name: info[name] for name in info if name.startswith("judge")} == {
        "judge": pytest.approx(0.6),
        "judge_clear": pytest.approx(0.8),
        "judge_short": 0.0,
        "judge_unread": 1.0,
        "judge_failed": 0.0,
    }
    assert (info["score"], info["status"]) == (1.0, "correct")
    assert said["reward_score"] == pytest.approx(0.4 + 0.5 * 0.6)
    # Of the others nothing is asked.
    assert [each["reward_score"] for each in (unended, empty)] == [0.0, 0.0]
    assert unended["reward_extra_info"].keys() == info.keys()
    assert [body["model"] for body in server.bodies] == [MODEL] * 2
    for body in server.bodies:
        assert r"it is \boxed{5}" in body["messages"][0]["content"]
        assert "# The question\n2 + 3?\n" in body["messages"][0]["content"]
        assert "five" not in body["messages"][0]["content"]


def test_a_judge_that_fails_is_a_verifier_that_fails() -> None:
    """So that run.faults.verifier_errors stops the run, whose error says why."""
    made = tokenizer()
    with serving(lambda _: 404) as server:
        place = {"base_url": f"http://{server.address}/v1", "model": MODEL}
        said = graded(manager_of({"total": "sum", "judge": JUDGE | place}, made), made, r"\boxed{5}", {})
    info = said["reward_extra_info"]
    assert (info["judge_failed"], info["judge"], info["status"], said["reward_score"]) == (1.0, 0.0, "error", 1.0)
    with pytest.raises(VerifierFailure, match="the judge: RuntimeError: 404 of http"):
        check_graded([info], 0.1)


def test_the_label_stays_and_the_parts_are_added() -> None:
    made = tokenizer(("<think>", "</think>"), (), "<think>\n")
    parts = {"format": {"weight": 0.2}, "repetition": {"weight": 1.0, "ngram": 2}, "overlong": {"weight": 0.0}}
    manager = manager_of({"total": "sum", "correctness": 0.8, **parts}, made)
    said = graded(manager, made, r"five five five five</think>\boxed{5}", {"verifier": "math"})
    tokens = made(r"five five five five</think>\boxed{5}", add_special_tokens=False)["input_ids"]
    pairs = list(pairwise(tokens))
    repetition = -(1 - len(set(pairs)) / len(pairs))
    info = said["reward_extra_info"]
    assert repetition < 0
    assert (info["score"], info["status"], info["format"], info["overlong"]) == (1.0, "correct", 1.0, 0.0)
    assert info["repetition"] == pytest.approx(repetition, abs=1e-12)
    assert said["reward_score"] == pytest.approx(0.8 + 0.2 + repetition, abs=1e-12)
    unended = graded(manager, made, r"maybe \boxed{5}", {"verifier": "math"})
    assert (unended["reward_score"], unended["reward_extra_info"]["format"]) == (0.0, 0.0)


@pytest.mark.parametrize("reward", [None, {}, {"total": None, "format": {"weight": 0.2}}])
def test_without_a_total_nothing_is_added(reward: dict[str, Any] | None) -> None:
    made = tokenizer()
    manager = manager_of(reward, made)
    said = graded(manager, made, r"\boxed{5}", {})
    assert said["reward_score"] == 1.0
    assert said["reward_extra_info"].keys() == {"score", "predicted", "status", UNFINISHED}


@pytest.mark.parametrize("words", [1, 5, 9, 10])
@pytest.mark.parametrize("answer", ["5", "6"])
def test_the_punishment_is_that_of_verls_dapo_manager(words: int, answer: str) -> None:
    made = tokenizer()
    config = config_of("dapo")
    config.reward.reward_kwargs = {
        "max_resp_len": LONGEST,
        "overlong_buffer_cfg": {"enable": True, "len": 20, "penalty_factor": 0.5, "log": True},
    }
    config.data.max_response_length = LONGEST
    verls = load_reward_manager(config, made)
    assert isinstance(verls, DAPORewardManager)
    ours = manager_of({"total": "sum", "overlong": {"weight": 0.5, "buffer": 20}}, made)
    response = "so " * words + rf"\boxed{{{answer}}}"
    wanted, found = (graded(manager, made, response, {}) for manager in (verls, ours))
    assert found["reward_score"] == pytest.approx(wanted["reward_score"], abs=1e-6)
    punished = float(wanted["reward_extra_info"]["overlong_reward"])
    assert 0.5 * found["reward_extra_info"]["overlong"] == pytest.approx(punished, abs=1e-6)
    assert found["reward_extra_info"]["score"] == wanted["reward_extra_info"]["score"] == float(answer == "5")


def test_a_function_of_ones_own_has_parts_too(tmp_path: Any) -> None:
    file = tmp_path / "own.py"
    file.write_text("def compute_score(*_, **__):\n    return 0.6\n")
    made = tokenizer()
    for total, reward in (("sum", 0.85), ("clip", 0.85), ("threshold", 1.0)):
        settings = {"total": total, "threshold": 0.7, "format": {"weight": 0.25}}
        said = graded(manager_of(settings, made, function=str(file)), made, r"\boxed{5}", {})
        assert said["reward_score"] == pytest.approx(reward, abs=1e-12)
        assert said["reward_extra_info"] == {"acc": 0.6, "format": 1.0, UNFINISHED: 0.0}


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(
    ("turns", "last", "conversation"),
    [
        ([r"so \boxed{5}"], 1.0, 1.0),
        ([r"call</think>five \boxed{5} ", r" that </think>is seven \boxed{6}"], 0.0, 0.0),
        ([r"call</think>six", r" that </think>is \boxed{5}"], 1.0, 1.0),
        ([r"call</think>\boxed{5} ", " that </think>is six"], 0.0, 0.0),
        ([r"call</think>is \boxed{5} ", "it is six"], 0.0, 1.0),  # a tool, or a turn before, has said it
        ([r"call</think>\boxed{5}", "that"], 0.0, 1.0),
    ],
)
def test_the_last_turn_is_graded_unless_the_whole_conversation_is(
    turns: list[str], last: float, conversation: float, lost: bool
) -> None:
    made = tokenizer(("<think>", "</think>") if lost else (), ())
    turns = turns if len(turns) > 1 else [f"</think>{turns[0]}"]
    begins = len(made("".join(turns[:-1]), add_special_tokens=False)["input_ids"])
    for graded_by, wanted in (("last", last), ("conversation", conversation)):
        config = config_of("naive")
        config.run.turns.graded = graded_by
        manager = load_reward_manager(config, made)
        said = graded(manager, made, "".join(turns), {"verifier": "math"}, {TURNS: {"last": begins}})
        assert said["reward_score"] == wanted, (graded_by, said)
