"""A judge's questions, what is read of its replies, and the mean of them, beside a server that the test is."""

import asyncio
import re
import threading
import time
from typing import Any

import pytest

from pacs.rewards import judge as module
from pacs.rewards.composite import Composite, Response, RewardSettings
from pacs.rewards.judge import FAILED, UNREAD, Asked, Judge, JudgeSettings, as_text, judge_problems, read_reply
from tests.rewards.judges import MODEL, serving

CRITERIA = {"clear": {"question": "Is it clear?", "weight": 3}, "short": {"question": "Is it short?", "scale": [1, 5]}}
ASKED = Asked("What is 2+3?", "It is five.", "5")


def settings(**others: Any) -> JudgeSettings:
    return JudgeSettings.from_mapping({"weight": 1.0, "criteria": CRITERIA, "base_url": "http://there", **others})


def judged(address: str, asked: Asked | None = ASKED, **others: Any) -> tuple[float, dict[str, float], str]:
    return asyncio.run(Judge(settings(**others), f"http://{address}/v1/", MODEL).judge(asked))


@pytest.mark.parametrize(
    ("reply", "scale", "value"),
    [
        ("7", [0, 10], 0.7),
        (" 7.5\n", [0, 10], 0.75),
        ("Score: 8.", [0, 10], 0.8),
        ("8/10", [0, 10], 0.8),
        ("I give it 8 out of 10", [0, 10], 0.8),
        ("**3**", [1, 5], 0.5),
        ("1", [1, 5], 0.0),
        ("-1", [-1, 1], 0.0),
        ("<think>1 or 2 or 9?</think>4", [0, 10], 0.4),
        ("<think>it is 4", [0, 10], None),
        ("", [0, 10], None),
        ("very good", [0, 10], None),
        ("7 or 8", [0, 10], None),
        ("8/20", [0, 10], None),
        ("11", [0, 10], None),
        ("-3", [0, 10], None),
        ("0", [1, 5], None),
    ],
)
def test_a_reply_is_one_number_of_the_scale_or_nothing(reply: str, scale: list[float], value: float | None) -> None:
    found = read_reply(reply, scale)
    assert found is None if value is None else found == pytest.approx(value)


def test_each_criterion_is_a_question_and_the_mean_is_by_weight() -> None:
    with serving(lambda body: "8" if "Is it clear?" in body["messages"][0]["content"] else "2/5") as server:
        value, told, failure = judged(server.address, request={"seed": 3, "max_tokens": 5})
    assert told == {"judge_clear": 0.8, "judge_short": 0.25, UNREAD: 0.0, FAILED: 0.0}
    assert (value, failure) == (pytest.approx((3 * 0.8 + 0.25) / 4), "")
    assert len(server.bodies) == 2
    assert set(server.keys) == {None}
    for body in server.bodies:
        assert (body["model"], body["temperature"], body["seed"], body["max_tokens"]) == (MODEL, 0.0, 3, 5)
        (message,) = body["messages"]
        assert message["role"] == "user"
        assert "What is 2+3?" in message["content"]
        assert "It is five." in message["content"]
        assert "reference" not in message["content"]
        low, high = (0, 10) if "Is it clear?" in message["content"] else (1, 5)
        assert f"from {low} (not at all) to {high} (fully)" in message["content"]


def test_the_right_answer_is_told_where_it_is_asked_for() -> None:
    with serving(lambda _: "1") as server:
        judged(server.address, reference=True)
    assert ["# The reference answer\n5\n" in body["messages"][0]["content"] for body in server.bodies] == [True] * 2


def test_what_cannot_be_read_is_worth_nothing_and_is_counted() -> None:
    with serving(lambda body: "8" if "Is it clear?" in body["messages"][0]["content"] else "short") as server:
        value, told, failure = judged(server.address)
    assert told == {"judge_clear": 0.8, "judge_short": 0.0, UNREAD: 1.0, FAILED: 0.0}
    assert (value, failure) == (pytest.approx(0.6), "")


def test_a_response_without_an_answer_is_not_asked_about() -> None:
    with serving(lambda _: "8") as server:
        value, told, _ = judged(server.address, None)
    assert (value, set(told.values()), server.bodies) == (0.0, {0.0}, [])


@pytest.mark.parametrize(
    ("statuses", "retries", "asked", "failed"),
    [([500, 503], 2, 3, 0.0), ([429], 1, 2, 0.0), ([500, 500, 500], 2, 3, 1.0), ([400], 2, 1, 1.0), ([404], 0, 1, 1.0)],
)
def test_a_question_without_a_reply_is_asked_again(
    statuses: list[int], retries: int, asked: int, failed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    left: list[int] = list(statuses)
    one = {"clear": CRITERIA["clear"]}
    with serving(lambda _: left.pop(0) if left else "10") as server:
        value, told, failure = judged(server.address, criteria=one, retries=retries)
    assert len(server.bodies) == asked
    assert (value, told[FAILED], told[UNREAD]) == (1.0 - failed, failed, 0.0)
    assert (str(statuses[-1]) in failure) == bool(failed)


def test_nobody_there_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSE", 0.0)
    value, told, failure = judged("127.0.0.1:9")
    assert (value, told[FAILED]) == (0.0, 1.0)
    assert "ConnectError" in failure


def test_a_slow_judge_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda _: time.sleep(0.5) or "8") as server:
        _, told, failure = judged(server.address, retries=0, seconds=0.1)
    assert told[FAILED] == 1.0
    assert "ReadTimeout" in failure


def test_a_key_of_the_environment_goes_with_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_THE_JUDGE", "hush")
    with serving(lambda _: "1") as server:
        judged(server.address, key_variable="KEY_OF_THE_JUDGE")
    assert set(server.keys) == {"Bearer hush"}


def test_no_more_questions_are_under_way_than_are_allowed() -> None:
    lock, now, most = threading.Lock(), [0], [0]

    def reply(_: Any) -> str:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return "1"

    async def many(address: str) -> None:
        judge = Judge(settings(at_once=3), f"http://{address}/v1", MODEL)
        await asyncio.gather(*(judge.judge(ASKED) for _ in range(10)))

    with serving(reply) as server:
        asyncio.run(many(server.address))
    assert (most[0], len(server.bodies)) == (3, 20)


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        (None, "run.reward.judge.weight=1 without run.reward.judge.criteria: say what is judged"),
        ({}, "say what is judged"),
        ({"clear": {"question": "x", "weight": 0}}, "their weights sum to 0"),
        ({"clear": {"question": "x", "scale": [5, 1]}}, "scale=[5.0, 1.0]: give the least number, and then a greater"),
        ({"so clear": {"question": "x"}}, "criteria.so clear: its name is to be of letters"),
        ({"failed": {"question": "x"}}, "criteria.failed: its name"),
    ],
)
def test_criteria_that_judge_nothing_are_refused(criteria: Any, said: str) -> None:
    (problem,) = judge_problems(settings(criteria=criteria))
    assert said in problem


@pytest.mark.parametrize(
    ("criteria", "said"),
    [
        ({"clear": {}}, "run.reward.judge.criteria.clear.question is needed and not there"),
        ({"clear": {"question": "x", "wieght": 1}}, "run.reward.judge.criteria.clear.wieght is not a setting"),
        ({"clear": {"question": "x", "weight": -1}}, "run.reward.judge.criteria.clear.weight=-1"),
        ({"clear": {"question": "x", "scale": [1]}}, "two numbers, as [0,10]"),
        ({"clear": "x"}, "run.reward.judge.criteria.clear='x': it is a section"),
        ("clear", "run.reward.judge.criteria='clear'"),
    ],
)
def test_what_is_no_criterion_is_refused(criteria: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        settings(criteria=criteria)


def test_a_judge_is_a_part_of_the_reward() -> None:
    made = Composite(
        RewardSettings.from_mapping(
            {"total": "sum", "correctness": 0.5, "judge": {"weight": 0.4, "criteria": CRITERIA}}
        ),
        10,
    )
    response = Response(1.0, "five", 0, range(3), judged=0.7)
    assert made.parts(response) == {"judge": 0.7}
    assert made.total(1.0, made.parts(response)) == pytest.approx(0.5 + 0.28)
    assert made.bounds((0.0, 1.0)) == (0.0, pytest.approx(0.9))
    assert "0.4 * judge (clear 3, short 1)" in made.formula()


def test_a_conversation_as_text() -> None:
    one = [{"role": "user", "content": "2+3?"}]
    assert as_text(one) == "2+3?"
    assert as_text([{"role": "system", "content": "Be brief."}, *one]) == "system: Be brief.\n\nuser: 2+3?"
