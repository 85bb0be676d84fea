"""What vLLM is told of an evaluation's settings, at other values than the default, and what is read from its answer."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pacs.evaluation.engine import Engine, EngineOptions, EngineSettings
from pacs.evaluation.settings import Sampling


def settings(**sampling: Any) -> EngineSettings:
    reasoning: Any = SimpleNamespace(of_tokens=lambda *given: 3)
    return EngineSettings("model", 777, Sampling(**sampling), EngineOptions(tensor_parallel=2), reasoning)


def test_samples_are_drawn_as_the_settings_say() -> None:
    given = settings(temperature=0.9, top_p=0.7, max_tokens=50, token_entropy=True).sampling_arguments()
    assert given == {"temperature": 0.9, "top_p": 0.7, "max_tokens": 50, "logprobs": 0}


@pytest.mark.parametrize(("entropy", "mode"), [(True, "processed_logprobs"), (False, "raw_logprobs")])
def test_an_engine_has_the_context_and_the_log_probabilities_of_what_is_drawn(entropy: bool, mode: str) -> None:
    given = settings(max_tokens=50, token_entropy=entropy, dtype="float16").engine_arguments()
    assert (given["max_model_len"], given["logprobs_mode"]) == (777, mode)
    assert (given["dtype"], given["tensor_parallel_size"]) == ("float16", 2)


@pytest.mark.parametrize(("reason", "truncated"), [("length", True), ("stop", False)])
def test_a_response_s_entropy_is_a_token_s_and_its_end_is_vllms_word(reason: str, truncated: bool) -> None:
    engine = Engine(settings(), Path("log"))
    engine._tokenizer = None
    response = SimpleNamespace(token_ids=[5, 6, 7, 8], text="text", cumulative_logprob=-2.0, finish_reason=reason)
    finished = engine._finished(SimpleNamespace(request_id="0", prompt_token_ids=[1], outputs=[response]))
    assert (finished.tokens, finished.token_entropy, finished.truncated) == (4, 0.5, truncated)
