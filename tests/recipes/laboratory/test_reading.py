"""Responses that share their prompts' passes, beside each sequence read whole and by itself."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from recipes.laboratory import reading
from recipes.laboratory.ppo import Critic
from recipes.laboratory.reading import log_probs, mean_entropy_slopes
from recipes.laboratory.sampling import Samples, sample
from tests.recipes.laboratory.enumerated import Numbers, sharp_model, small_model

MESSAGES = [[{"role": "user", "content": text}] for text in ("1+1", "12345+678", "7", *(f"{n}-{n}" for n in range(9)))]


def assert_as_whole_sequences(
    module: nn.Module,
    samples: Samples,
    together: Callable[[], torch.Tensor],
    alone: Callable[[torch.Tensor, int], torch.Tensor],
) -> None:
    """Values and gradients: of all responses together, and of each sequence by itself, without padding.

    Args:
        module: whose gradients are compared.
        samples: B responses.
        together: to (B, T).
        alone: by (N,) tokens and the length of the response among them, to as many values.
    """
    found = together()
    known = []
    for ids, mask, response in zip(samples.ids, samples.attention_mask, samples.response_mask, strict=True):
        known.append(alone(ids[mask.bool()], int(response.sum())))
    assert torch.allclose(found[samples.response_mask], torch.cat(known), atol=1e-4)
    assert not found[~samples.response_mask].any()
    factors = torch.randn(len(torch.cat(known)), generator=torch.Generator().manual_seed(2))
    parameters = list(module.parameters())
    ours = torch.autograd.grad((found[samples.response_mask] * factors).sum(), parameters)
    theirs = torch.autograd.grad((torch.cat(known) * factors).sum(), parameters)
    for one, other in zip(ours, theirs, strict=True):
        assert other.norm() > 0
        assert (one - other).norm() <= 1e-4 * other.norm()


def shuffled(samples: Samples) -> Samples:
    """Rows of one prompt are no longer neighbours."""
    return samples.of(torch.randperm(len(samples), generator=torch.Generator().manual_seed(3)))


def test_log_probs_and_their_gradients_are_those_of_whole_sequences() -> None:
    model, tokenizer = sharp_model()
    generator = torch.Generator().manual_seed(1)
    samples = shuffled(sample(model, tokenizer, MESSAGES, samples=3, max_tokens=20, generator=generator))
    assert len(samples) > 2 * reading.PASS_ROWS
    assert len(set(samples.response_mask.sum(1).tolist())) > 3

    def alone(ids: torch.Tensor, length: int) -> torch.Tensor:
        known = model(input_ids=ids[None]).logits[0, :-1].log_softmax(-1)
        return known.gather(-1, ids[1:, None])[-length:, 0]

    assert_as_whole_sequences(model, samples, lambda: log_probs(model, samples), alone)


def test_mean_entropy_slopes_are_sums_over_the_vocabulary() -> None:
    """And no gradient is asked for of them."""
    model, tokenizer = sharp_model()
    generator = torch.Generator().manual_seed(1)
    samples = shuffled(sample(model, tokenizer, MESSAGES, samples=2, max_tokens=9, generator=generator))
    with torch.no_grad():
        found = mean_entropy_slopes(model, samples)
        for row in range(len(samples)):
            ids, length = samples.ids[row][samples.attention_mask[row].bool()], int(samples.response_mask[row].sum())
            likely = model(input_ids=ids[None]).logits[0, -length - 1 : -1].double().softmax(-1)
            for place in range(length):
                entropy = -sum(p * math.log(p) for p in likely[place].tolist() if p > 0)
                expected = sum(p * p * (math.log(p) + entropy) for p in likely[place].tolist() if p > 0)
                assert float(found[row, place]) == pytest.approx(expected, abs=1e-4)
            assert entropy == pytest.approx(float(samples.entropies[row, length - 1]), abs=1e-4)
    assert not found[~samples.response_mask].any()


def test_responses_of_one_token_are_read_too() -> None:
    """Alone in a pass, where nothing but their prompts is read, and the padding token among a prompt's."""
    model, prompts = small_model(4), [[2, 3, 0, 2, 2], [3], [0, 3]]
    generator = torch.Generator().manual_seed(0)
    samples = sample(model, Numbers(), prompts, samples=32, max_tokens=3, generator=generator)
    assert (samples.response_mask.sum(1) == 1).sum() > reading.PASS_ROWS

    def alone(ids: torch.Tensor, length: int) -> torch.Tensor:
        known = model(input_ids=ids[None]).logits[0, :-1].log_softmax(-1)
        return known.gather(-1, ids[1:, None])[-length:, 0]

    assert_as_whole_sequences(model, samples, lambda: log_probs(model, samples), alone)


def test_a_critic_s_values_and_their_gradients_are_those_of_whole_sequences() -> None:
    model, tokenizer = sharp_model()
    critic = Critic(model)
    nn.init.normal_(critic.head.weight, generator=torch.Generator().manual_seed(4))
    critic.body.requires_grad_(True)
    generator = torch.Generator().manual_seed(1)
    samples = shuffled(sample(model, tokenizer, MESSAGES, samples=2, max_tokens=20, generator=generator))

    def alone(ids: torch.Tensor, length: int) -> torch.Tensor:
        hidden = critic.body(input_ids=ids[None]).last_hidden_state[0]
        values: torch.Tensor = critic.head(hidden)[-length - 1 : -1, 0]
        return values

    assert_as_whole_sequences(critic, samples, lambda: critic(samples), alone)
