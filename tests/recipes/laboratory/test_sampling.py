"""Sampling beside `model.generate`, and beside the exact probability of every response."""

import itertools
from typing import Any

import pytest
import torch
from scipy.stats import chisquare
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from recipes.arithmetic.measure import MAX_RESPONSE_TOKENS, generate, response_logits
from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer
from recipes.laboratory import sampling
from recipes.laboratory.sampling import joined, log_probs, sample

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


@pytest.mark.parametrize("chunk", [512, 10_000])
def test_responses_are_drawn_with_their_probabilities(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts of two lengths, and responses that end at every length."""
    monkeypatch.setattr(sampling, "CHUNK_ROWS", chunk)
    model, prompts, draws = small_model(4), [[2, 3, 3, 2, 2], [3]], 4000
    generator = torch.Generator().manual_seed(0)
    drawn = sample(model, Numbers(), prompts, samples=draws, max_tokens=3, generator=generator)
    ids = drawn.ids[:, -3:].tolist()
    counted = [tuple(row[: int(mask.sum())]) for row, mask in zip(ids, drawn.response_mask, strict=True)]
    for i, prompt in enumerate(prompts):
        exact = exact_probabilities(model, prompt, most=3)
        assert sum(exact.values()) == pytest.approx(1)
        seen = counted[i * draws : (i + 1) * draws]
        assert set(seen) <= set(exact)
        likely = [response for response, chance in exact.items() if chance * draws >= 5]
        assert len(likely) > 8
        found = [seen.count(response) for response in likely]
        expected = [exact[response] * draws for response in likely]
        found, expected = [*found, draws - sum(found)], [*expected, draws - sum(expected)]
        if expected[-1] < 5:
            found, expected = [*found[:-2], sum(found[-2:])], [*expected[:-2], sum(expected[-2:])]
        assert chisquare(found, expected).pvalue > 1e-3
        lengths = {len(response) for response in seen}
        assert lengths == {1, 2, 3}


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


MESSAGES = [[{"role": "user", "content": text}] for text in ("1+1", "12345+678", "7", *(f"{n}-{n}" for n in range(29)))]


def test_greedy_responses_are_those_of_generate() -> None:
    model, tokenizer = sharp_model()
    expected = generate(model, tokenizer, MESSAGES, samples=1, greedy=True)
    found = sample(model, tokenizer, MESSAGES, samples=1, max_tokens=MAX_RESPONSE_TOKENS, generator=None)
    lengths = found.response_mask.sum(1)
    assert len(set(lengths.tolist())) > 2
    assert found.texts == expected.texts
    width = found.response_mask.shape[1]
    prompt = expected.ids.shape[1] - expected.response_mask.shape[1]
    assert torch.equal(found.ids, expected.ids[:, : prompt + width])
    assert torch.equal(found.response_mask, expected.response_mask[:, :width])
    assert not expected.response_mask[:, width:].any()
    assert torch.equal(found.attention_mask, expected.attention_mask[:, : prompt + width])


def test_what_is_kept_of_each_token_is_what_a_whole_pass_gives() -> None:
    model, tokenizer = sharp_model()
    generator = torch.Generator().manual_seed(1)
    samples = sample(model, tokenizer, MESSAGES, samples=3, max_tokens=20, generator=generator)
    with torch.no_grad():
        known = response_logits(model, samples).double().log_softmax(-1)
        mask, tokens = samples.response_mask, samples.ids[:, -samples.response_mask.shape[1] :]
        expected = torch.where(mask, known.gather(-1, tokens[:, :, None])[:, :, 0], 0)
        entropies = torch.where(mask, -(known.exp() * known).sum(-1), 0)
        assert len(set(mask.sum(1).tolist())) > 3
        assert torch.allclose(samples.log_probs.double(), expected, atol=1e-4)
        assert torch.allclose(samples.entropies.double(), entropies, atol=1e-4)
        assert torch.allclose(torch.where(mask, log_probs(model, samples), 0).double(), expected, atol=1e-4)


def test_a_part_is_trimmed_and_parts_are_joined() -> None:
    model, tokenizer = sharp_model()
    generator = torch.Generator().manual_seed(1)
    samples = sample(model, tokenizer, MESSAGES, samples=2, max_tokens=20, generator=generator)
    short = (samples.response_mask.sum(1) < 12).nonzero()[:, 0]
    rows = [*[row for row in short.tolist() if row >= 6][:5], 0]  # prompts of fewer tokens than the longest
    part = samples.of(torch.tensor(rows))
    assert part.texts == [samples.texts[row] for row in rows]
    assert part.response_mask.sum(1).tolist() == samples.response_mask.sum(1)[rows].tolist()
    assert part.attention_mask.any(0).all()
    assert part.ids.shape[1] < samples.ids.shape[1] - 4
    width = part.response_mask.shape[1]
    with torch.no_grad():
        whole = log_probs(model, samples)[rows, :width]
        assert torch.allclose(log_probs(model, part)[part.response_mask], whole[part.response_mask], atol=1e-5)
    assert torch.equal(part.log_probs, samples.log_probs[rows, :width])
    assert torch.equal(part.entropies, samples.entropies[rows, :width])

    both = joined([part, samples])
    assert len(both) == len(part) + len(samples)
    again = both.of(torch.arange(len(part)))
    for name in ("ids", "attention_mask", "response_mask", "log_probs", "entropies", "texts"):
        expected = getattr(part, name)
        found = getattr(again, name)
        assert found == expected if name == "texts" else torch.equal(found, expected), name


def test_the_generator_decides_and_nothing_else_does() -> None:
    model, tokenizer = sharp_model()

    def ids(seed: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(seed)
        return sample(model, tokenizer, MESSAGES[:4], samples=4, max_tokens=12, generator=generator).ids

    first, state = ids(0), torch.random.get_rng_state()
    torch.manual_seed(5)
    assert torch.equal(ids(0), first)
    assert not torch.equal(ids(1)[:, -12:], first[:, -12:])
    torch.random.set_rng_state(state)
    ids(0)
    assert torch.equal(torch.random.get_rng_state(), state)
