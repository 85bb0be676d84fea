"""The reward that verl calls: which verifier grades a row, and with what settings."""

import asyncio
import json
import re
import sys
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from omegaconf import OmegaConf
from verl import DataProto
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
from verl.trainer.ppo.reward import get_custom_reward_fn

from pacs import cli
from pacs.rewards.registry import VERIFIERS, check_settings, compute_score, resolved_settings

TESTS = json.dumps({"fn_name": None, "inputs": ["7\n"], "outputs": ["7\n"]})
PROGRAM = "```python\nprint(input())\n```"


@pytest.mark.parametrize(
    ("verifier", "response", "gold"),
    [
        ("math", "\\boxed{0.5}", "1/2"),
        (None, "\\boxed{0.5}", "1/2"),
        ("multiple_choice", "Answer: C", "C"),
        ("exact_match", "\\boxed{Monday}", "monday"),
        ("code", PROGRAM, TESTS),
        ("countdown", "\\boxed{3*7}", '{"numbers": [3, 7], "target": 21}'),
    ],
)
def test_each_verifier(verifier: str | None, response: str, gold: str) -> None:
    result = compute_score("test", response, gold, {"verifier": verifier, "index": 1})
    assert (set(result), result["score"], result["status"]) == ({"score", "predicted", "status"}, 1.0, "correct")
    assert compute_score("test", "", gold, {"verifier": verifier})["status"] == "no_answer"


def test_rows_without_a_name_are_mathematics() -> None:
    for extra_info in (None, {}, {"index": 1}):
        assert compute_score("test", "\\boxed{0.5}", "1/2", extra_info)["score"] == 1.0


def test_an_unknown_name_is_no_silent_0() -> None:
    said = "extra_info.verifier=maths in a row of data source gsm8k: no such verifier. There are math, multiple_choice,"
    with pytest.raises(ValueError, match=re.escape(said)):
        compute_score("gsm8k", "\\boxed{1}", "1", {"verifier": "maths"})


def test_settings_reach_their_verifier() -> None:
    def status(**settings: Any) -> Any:
        return compute_score("test", "\\boxed{Monday}", "monday", {"verifier": "exact_match"}, **settings)["status"]

    assert status(exact_match={"ignore_case": True}, code={"test_seconds": 1}) == "correct"
    assert status(exact_match={"ignore_case": False}, multiple_choice={}) == "wrong"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"cod": {}},
            "reward_kwargs.cod: no such verifier. There are math, multiple_choice, code, exact_match, countdown, "
            "reference_probability.",
        ),
        (
            {"code": {"timeout": 3}},
            "reward_kwargs.code.timeout is not a setting",
        ),
        ({"code": {"timeout": 3}}, "reward_kwargs.code has test_seconds, total_seconds,"),
        ({"code": {"extra_info": {}}}, "reward_kwargs.code.extra_info is not a setting"),
        ({"exact_match": True}, "reward_kwargs.exact_match=True: give the settings of exact_match by their names."),
        ({"reward_rooter": "a"}, "reward_kwargs.reward_rooter: no such verifier."),
        ({"cod": {}}, "Did you mean code?"),
        ({"code": {"test_second": 3}}, "did you mean reward.custom_reward_function.reward_kwargs.code.test_seconds?"),
        ({"math": {"timeout_seconds": "3"}}, "reward_kwargs.math.timeout_seconds='3' must be a valid number"),
        ({"math": {"workers": True}}, "reward_kwargs.math.workers=True must be a valid integer"),
        ({"math": {"accept_unevaluated": 1}}, "reward_kwargs.math.accept_unevaluated=1 must be true or false"),
    ],
)
def test_settings_that_nothing_takes_are_refused_by_name(settings: dict[str, Any], said: str) -> None:
    for check in (lambda: check_settings(settings), lambda: compute_score("t", "", "1", None, **settings)):
        with pytest.raises(ValueError, match=re.escape(said)):
            check()


def test_resolved_settings_are_what_a_verifier_is_called_with() -> None:
    given = {"exact_match": {"ignore_case": False}, "math": {"timeout_seconds": 9}}
    resolved = resolved_settings(given)
    assert resolved.keys() == VERIFIERS.keys()
    assert resolved["exact_match"] == {"unboxed": False, "ignore_case": False, "ignore_white_space": True}
    assert resolved["math"]["timeout_seconds"] == 9
    check_settings(resolved)
    for name, settings in resolved.items():
        function = resolve_name(VERIFIERS[name])
        bound = signature(function).bind("", "", "", None, **given.get(name, {}))
        bound.apply_defaults()
        assert dict([*bound.arguments.items()][4:]) == settings


def test_adding_one_is_a_function_and_a_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The example of CONTRIBUTING.md, as it stands there."""
    page = Path(__file__).parents[2] / "CONTRIBUTING.md"
    code, line = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
    module = ModuleType("pacs.rewards.word_count")
    exec(code, module.__dict__)
    monkeypatch.setitem(sys.modules, "pacs.rewards.word_count", module)
    ((name, path),) = eval("{" + line.strip() + "}").items()
    monkeypatch.setitem(VERIFIERS, name, path)
    extra_info = {"verifier": name}
    assert compute_score("test", "one two three", "3", extra_info)["status"] == "correct"
    assert compute_score("test", "one two three", "4", extra_info)["status"] == "wrong"
    assert compute_score("test", "one two three", "4", extra_info, word_count={"tolerance": 1})["status"] == "correct"
    assert compute_score("test", "", "4", extra_info)["status"] == "no_answer"
    problems = tmp_path / "mine.jsonl"
    problems.write_text('{"problem": "Write three words.", "answer": "3"}\n')
    assert cli.main(["data", "prepare", str(problems), "--verifier", name, "--out", str(tmp_path / "mine")]) == 0
    (row,) = pq.read_table(tmp_path / "mine" / "train.parquet").to_pylist()
    assert row["extra_info"]["verifier"] == name
    assert [message["content"] for message in row["prompt"]] == ["Write three words."]


class Tokenizer:
    """Letters for tokens: all that the reward manager asks of a tokenizer."""

    def decode(self, ids: torch.Tensor, skip_special_tokens: bool) -> str:
        return "".join(map(chr, ids.tolist()))


def test_as_verl_loads_and_calls_it() -> None:
    """verl's own loader and reward manager, with nested settings and with what they add to the row."""
    config = OmegaConf.create(
        {
            "reward": {
                "custom_reward_function": {
                    "path": "pkg://pacs.rewards.registry",
                    "name": "compute_score",
                    "reward_kwargs": {"exact_match": {"ignore_case": False}, "code": {"test_seconds": 2}},
                }
            }
        }
    )
    reward = get_custom_reward_fn(config)

    async def grade(verifier: str, response: str, gold: str) -> dict[str, Any]:
        ids = torch.tensor([[ord(letter) for letter in response]])
        row = DataProto.from_dict(
            tensors={"responses": ids, "attention_mask": torch.ones_like(ids)},
            non_tensors={
                "data_source": np.array(["test"], dtype=object),
                "reward_model": np.array([{"ground_truth": gold}], dtype=object),
                "extra_info": np.array([{"verifier": verifier, "choices": None}], dtype=object),
            },
        )
        return await NaiveRewardManager(config, Tokenizer(), reward).run_single(row)  # type: ignore[no-any-return]

    for verifier, response, gold, score in (
        ("code", PROGRAM, TESTS, 1.0),
        ("exact_match", "\\boxed{a}", "a", 1.0),
        ("exact_match", "\\boxed{A}", "a", 0.0),
        ("multiple_choice", "\\boxed{B}", "B", 1.0),
    ):
        result = asyncio.run(grade(verifier, response, gold))
        assert result["reward_score"] == score
        assert set(result["reward_extra_info"]) == {"score", "predicted", "status"}
    with pytest.raises(ValueError, match="no such verifier"):
        asyncio.run(grade("none", "x", "x"))
