"""What an engine makes of a request whose response is begun: what it asks vLLM for, and what it hands back."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from transformers import AutoTokenizer

from pacs.evaluation.engine import Engine, EngineOptions, EngineSettings, Request
from pacs.evaluation.settings import Sampling
from pacs.rewards.reasoning import Reasoning, pair_of

THINKS = Reasoning((pair_of("<think>", "</think>"),), named=True)


@pytest.fixture
def engine(model: Path, tmp_path: Path) -> Engine:
    settings = EngineSettings(str(model), 100, Sampling(max_tokens=40), EngineOptions(), THINKS)
    made = Engine(settings, tmp_path / "log")
    made._tokenizer = AutoTokenizer.from_pretrained(model)
    return made


def finished(engine: Engine, prompt: str, begun: str, said: str) -> Any:
    """What comes of a prompt with the beginning of its response, after which the engine says something."""
    ids = {text: engine._tokenizer.encode(text, add_special_tokens=False) for text in (prompt, begun, said)}
    request = Request("7", ids[prompt] + ids[begun], 3, len(ids[begun]))
    asked = engine._sampling(request)
    assert (asked["seed"], asked["max_tokens"]) == (3, 40 - len(ids[begun]))
    response = SimpleNamespace(token_ids=ids[said], text=said, cumulative_logprob=None, finish_reason="stop")
    found = engine._finished(SimpleNamespace(request_id="7", prompt_token_ids=request.prompt, outputs=[response]))
    assert found.tokens == len(ids[said])
    return found


def test_the_response_has_what_it_was_begun_with(engine: Engine) -> None:
    found = finished(engine, "What is 1+1?", "\\boxed{2} or ", "so")
    assert (found.response, found.answer_begins) == ("\\boxed{2} or so", 0)
    assert engine._begun == {}
    assert finished(engine, "What?", "", "so").response == "so"


def test_its_answer_begins_where_that_of_the_whole_response_does(engine: Engine) -> None:
    """The reasoning was opened by the beginning: it is not the prompt's, and what it boxes is no answer."""
    found = finished(engine, "What is 1+1?", "<think>\\boxed{3}", " no</think>\\boxed{2}")
    assert found.response[found.answer_begins :] == "\\boxed{2}"
    assert finished(engine, "What is 1+1?", "<think>\\boxed{3}", " no").answer_begins == -1
    assert finished(engine, "What is 1+1?", "<think>", "no").answer_begins == -1
    found = finished(engine, "What is 1+1?", "<think>a</think>", "2")
    assert found.response[found.answer_begins :] == "2"


def test_tags_of_the_beginning_are_not_those_that_the_prompt_asks_for(engine: Engine) -> None:
    """Without delimiters of the user's, a prompt that shows a pair of tags asks for it."""
    engine._settings = replace(engine._settings, reasoning=Reasoning(()))
    begun = "<my_thoughts>a</my_thoughts>"
    assert finished(engine, "What is 1+1?", begun, "2").answer_begins == 0
    assert finished(engine, f"Write {begun}.", begun, "2").answer_begins == len(begun)
