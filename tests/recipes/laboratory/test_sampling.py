"""Sampling beside `model.generate`, and beside the exact probability of every response."""

from collections import Counter

import pytest
import torch

from recipes.arithmetic.measure import MAX_RESPONSE_TOKENS, generate, response_logits
from recipes.laboratory import sampling
from recipes.laboratory.reading import log_probs
from recipes.laboratory.sampling import joined, sample
from tests.recipes.laboratory.enumerated import Numbers, assert_drawn, exact_probabilities, sharp_model, small_model


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
        seen = counted[i * draws : (i + 1) * draws]
        assert_drawn(Counter(seen), exact_probabilities(model, prompt, most=3))
        lengths = {len(response) for response in seen}
        assert lengths == {1, 2, 3}


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
