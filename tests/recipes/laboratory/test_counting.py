"""Counted responses beside the exact probability of every response, and beside passes that read each of them alone."""

from collections import Counter
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from recipes.laboratory import counting
from recipes.laboratory.counting import count, count_behind
from tests.recipes.laboratory.enumerated import (
    END,
    Numbers,
    assert_drawn,
    exact_probabilities,
    small_model,
)


class Told(Numbers):
    """Numbers, whose text tells all tokens of a response."""

    def batch_decode(self, ids: list[list[int]], **_: Any) -> list[str]:
        return [" ".join(map(str, row)) for row in ids]


def tokens_of(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split()))


def entropies(model: PreTrainedModel, prompt: list[int], response: tuple[int, ...]) -> float:
    """The sum over a response of the entropies, by a pass of its own over all of it."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *response]])).logits[0, len(prompt) - 1 : -1].double()
    known = logits.log_softmax(-1)
    return float(-(known.exp() * known).sum())


@pytest.mark.parametrize(("chunk", "draws"), [(10_000, 4000), (512, 4000), (60, 20)])
def test_responses_are_drawn_with_their_probabilities(chunk: int, draws: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Prompts of two lengths, of a few samples each or of many, and responses that end at every length."""
    monkeypatch.setattr(counting, "CHUNK_SAMPLES", chunk)
    model, prompts, times = small_model(4), [[2, 3, 3, 2, 2], [3]], 4000 // draws
    generator = torch.Generator().manual_seed(0)
    counted = count(model, Told(), prompts * times, samples=draws, max_tokens=3, generator=generator)
    assert [texts.total() for texts in counted.texts] == [draws] * 2 * times
    length, entropy = 0, 0.0
    for i, prompt in enumerate(prompts):
        drawn: Counter[tuple[int, ...]] = Counter()
        for texts in counted.texts[i :: len(prompts)]:
            drawn.update({tokens_of(text): number for text, number in texts.items()})
        assert_drawn(drawn, exact_probabilities(model, prompt, most=3))
        assert {len(response) for response in drawn} == {1, 2, 3}
        assert all(END not in response[:-1] for response in drawn)
        length += sum(len(response) * number for response, number in drawn.items())
        entropy += sum(entropies(model, prompt, response) * number for response, number in drawn.items())
    assert counted.tokens == length
    assert counted.entropy == pytest.approx(entropy, rel=1e-5)


def test_what_goes_on_behind_a_beginning_is_drawn_with_its_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beginnings of several lengths, some of them in one batch."""
    monkeypatch.setattr(counting, "CHUNK_SAMPLES", 8000)
    model, begun = small_model(4), [[2, 3, 3, 2, 2], [3], [2, 3, 2]]
    generator = torch.Generator().manual_seed(0)
    prefixes = [torch.tensor(each) for each in begun]
    counted = count_behind(model, Told(), prefixes, samples=4000, max_tokens=3, generator=generator)
    for texts, each in zip(counted.texts, begun, strict=True):
        drawn = Counter({tokens_of(text): number for text, number in texts.items()})
        assert_drawn(drawn, exact_probabilities(model, each, most=3))


def test_samples_of_a_prompt_are_independent() -> None:
    """The number of samples that begin with a token is binomial: its variance, over many trees, is that of one."""
    model, draws, trees = small_model(4), 20, 2000
    generator = torch.Generator().manual_seed(0)
    counted = count(model, Told(), [[3]] * trees, samples=draws, max_tokens=2, generator=generator)
    exact = exact_probabilities(model, [3], most=2)
    for second in (False, True):  # the first token alone, and both
        response = max(exact, key=exact.__getitem__)[: 2 if second else 1]
        chance = sum(each for other, each in exact.items() if other[: len(response)] == response)
        numbers = torch.tensor(
            [
                sum(n for text, n in texts.items() if tokens_of(text)[: len(response)] == response)
                for texts in counted.texts
            ]
        ).double()
        assert float(numbers.mean()) == pytest.approx(draws * chance, rel=0.05)
        assert float(numbers.var()) == pytest.approx(draws * chance * (1 - chance), rel=0.15)


def test_long_responses_of_many_branches_are_read_as_a_whole_pass_reads_them() -> None:
    """Rows branch, end and change places over 40 tokens; what is summed up is that of whole passes."""
    model = small_model(10)
    prompts = [[5, 6, 7], [8], [9, 5, 5, 6, 7, 8]] * 4
    generator = torch.Generator().manual_seed(1)
    counted = count(model, Told(), prompts, samples=12, max_tokens=40, generator=generator)
    responses = [[(tokens_of(text), n) for text, n in texts.items()] for texts in counted.texts]
    assert len({len(response) for each in responses for response, _ in each}) > 3
    assert any(n > 1 for each in responses for _, n in each)
    expected = sum(
        entropies(model, prompt, response) * n
        for prompt, each in zip(prompts, responses, strict=True)
        for response, n in each
    )
    assert counted.entropy == pytest.approx(expected, rel=1e-4)
    assert counted.tokens == sum(len(response) * n for each in responses for response, n in each)
