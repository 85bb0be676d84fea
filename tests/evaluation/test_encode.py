"""The prompts of an evaluation, as the model's own chat template makes them, and the context that they need."""

import json

import pytest
from transformers import PreTrainedTokenizerFast

from pacs.base.errors import UserError
from pacs.evaluation.evaluate import encode
from pacs.evaluation.model import Model
from pacs.evaluation.sample import Problem
from pacs.evaluation.settings import Sampling
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.data.conftest import NO_THINKING

CONTEXT = 64
PROBLEMS = {
    task: [Problem(text, [{"role": "user", "content": text}], "sums", "2", {}) for text in texts]
    for task, texts in {"short": ["1+1"], "long": ["2+2", "1+2+3+4+5+6", "7"]}.items()
}


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    made = build_tokenizer(1 << 20)
    made.chat_template += NO_THINKING
    return made


@pytest.fixture(scope="module")
def model(tokenizer: PreTrainedTokenizerFast, tmp_path_factory: pytest.TempPathFactory) -> Model:
    folder = tmp_path_factory.mktemp("model")
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3", "max_position_embeddings": CONTEXT}))
    return Model("tiny", folder)


@pytest.mark.parametrize("thinking", [True, False])
def test_every_prompt_is_the_template_s(thinking: bool, model: Model, tokenizer: PreTrainedTokenizerFast) -> None:
    named: list[list[str]] = [["<think>", "</think>"]]
    prompts, context, _ = encode(model, PROBLEMS, Sampling(thinking=thinking, max_tokens=9, reasoning=named))
    rendered = {
        (task, problem.id): tokenizer.apply_chat_template(
            problem.prompt, add_generation_prompt=True, return_dict=False, enable_thinking=thinking
        )
        for task, some in PROBLEMS.items()
        for problem in some
    }
    assert prompts == rendered
    assert context == max(map(len, rendered.values())) + 9


def test_the_longest_prompt_of_all_tasks_and_its_response_are_to_fit(model: Model) -> None:
    longest = len(encode(model, PROBLEMS, Sampling(max_tokens=1, reasoning=[]))[0]["long", "1+2+3+4+5+6"])
    fits = CONTEXT - longest
    assert encode(model, PROBLEMS, Sampling(max_tokens=fits, reasoning=[]))[1] == CONTEXT
    with pytest.raises(UserError, match=f"--max-tokens {fits} fits"):
        encode(model, PROBLEMS, Sampling(max_tokens=fits + 1, reasoning=[]))
