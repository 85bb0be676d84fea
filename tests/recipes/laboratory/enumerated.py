"""Models whose responses are easily told apart, and the exact probability of each response."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
import torch
from scipy.stats import chisquare
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer

PAD, END = 0, 1


class Numbers:
    """A tokenizer of prompts that are lists of numbers already."""

    eos_token_id, pad_token_id = END, PAD

    def apply_chat_template(self, messages: list[list[int]], **_: Any) -> dict[str, torch.Tensor]:
        width = max(map(len, messages))
        rows = [[PAD] * (width - len(prompt)) + prompt for prompt in messages]
        mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in messages]
        return {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(mask)}

    def batch_decode(self, ids: torch.Tensor, **_: Any) -> list[str]:
        return [" ".join(str(token) for token in row if token not in (PAD, END)) for row in ids.tolist()]


def small_model(vocabulary: int) -> PreTrainedModel:
    """Of random weights, with an output far from uniform."""
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        max_position_embeddings=64,
        tie_word_embeddings=False,
        eos_token_id=END,
        pad_token_id=PAD,
    )
    torch.manual_seed(0)
    model = Qwen3ForCausalLM(config).eval()
    with torch.no_grad():
        for value in model.parameters():
            value.mul_(4 if value.dim() == 2 else 1)
    return model


def exact_probabilities(model: PreTrainedModel, prompt: list[int], most: int) -> dict[tuple[int, ...], float]:
    """Of every response of at most so many tokens, each by passes of its own over all that stands before a token."""

    def of(response: tuple[int, ...]) -> float:
        chance = 1.0
        for t, token in enumerate(response):
            with torch.no_grad():
                logits = model(torch.tensor([[*prompt, *response[:t]]])).logits[0, -1]
            chance *= float(logits.double().softmax(-1)[token])
        return chance

    others = [token for token in range(model.config.vocab_size) if token != END]
    ended = [(*start, END) for length in range(most) for start in itertools.product(others, repeat=length)]
    return {response: of(response) for response in [*ended, *itertools.product(others, repeat=most)]}


def assert_drawn(found: Mapping[tuple[int, ...], int], exact: Mapping[tuple[int, ...], float]) -> None:
    """Responses, by how often each was drawn, have these probabilities (chi-square)."""
    assert sum(exact.values()) == pytest.approx(1)
    assert set(found) <= set(exact)
    draws = sum(found.values())
    likely = [response for response, chance in exact.items() if chance * draws >= 5]
    assert len(likely) > 8
    seen = [found.get(response, 0) for response in likely]
    expected = [exact[response] * draws for response in likely]
    seen, expected = [*seen, draws - sum(seen)], [*expected, draws - sum(expected)]
    if expected[-1] < 5:
        seen, expected = [*seen[:-2], sum(seen[-2:])], [*expected[:-2], sum(expected[-2:])]
    assert chisquare(seen, expected).pvalue > 1e-3


def sharp_model() -> tuple[PreTrainedModel, Any]:
    """The arithmetic model untrained, with all of its weights far from what they are when new, and its tokenizer."""
    tokenizer = build_tokenizer(4096)
    model = build_model(tokenizer, seed=0).eval()
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for value in model.parameters():
            value.mul_(3 if value.dim() == 2 else 0.5 + torch.rand(value.shape, generator=random))
        model.lm_head.weight.mul_(10)
        model.lm_head.weight[tokenizer.eos_token_id] *= 2  # so that some responses end
    return model, tokenizer
