"""States of responses of the start, and what they are worth by the probabilities themselves."""

import math

import pytest
import torch

from recipes.arithmetic.tokenizer import END
from recipes.chain_sums.teachers import right_solution
from recipes.genac_arithmetic.start import begin
from recipes.genac_arithmetic.states import State, of_tokens, states_of
from recipes.genac_arithmetic.truth import worth
from recipes.laboratory.beginning import Beginning
from recipes.laboratory.sampling import encode, sample
from recipes.starts.task import Problem

CONTINUATIONS = 2048


@pytest.fixture(scope="module")
def begun() -> Beginning:
    return begin("probe")[0]


def test_segments_are_steps_and_come_to_the_response(begun: Beginning) -> None:
    generator = torch.Generator().manual_seed(0)
    messages = begun.evaluated.messages[:4]
    samples = sample(begun.policy, begun.tokenizer, messages, samples=2, max_tokens=84, generator=generator)
    states = states_of(samples, begun.tokenizer)
    for row in range(len(samples)):
        own = [state for state in states if state.row == row]
        assert next(state.partial for state in own) == ""
        assert own[0].problem == messages[row // 2][0]["content"]
        assert [state.number for state in own] == list(range(len(own)))
        assert [state.end for state in own[:-1]] == [state.start for state in own[1:]]
        assert own[-1].end == int(samples.response_mask[row].sum())
        assert all(samples.texts[row].startswith(state.partial) for state in own)
        assert [state.partial.count(" ") for state in own] == list(range(len(own)))
    steps, values = of_tokens(states, [state.number / 10 for state in states], samples.response_mask.shape)
    assert torch.equal(steps[samples.response_mask] / 10, values[samples.response_mask])
    assert steps[0, states[1].start - 1] == 0
    assert steps[0, states[1].start] == 1


def test_the_worth_of_a_last_state_is_the_probability_of_the_answer(begun: Beginning) -> None:
    """Of what may follow the last step, the right box alone is right (another text with it is out of reach)."""
    import random

    states, chances = [], []
    for place in (0, 1):
        text, answer = begun.evaluated.messages[place][0]["content"], begun.evaluated.answers[place]
        solution = right_solution(Problem(text, answer, ""), random.Random(0))
        partial, _, box = solution.rpartition(" ")
        ids, _ = encode(begun.tokenizer, [begun.evaluated.messages[place]])
        before = torch.cat([ids[0], torch.tensor(begun.tokenizer(partial + " ")["input_ids"])])
        end = torch.tensor(begun.tokenizer(box + END)["input_ids"])
        with torch.no_grad():
            logits = begun.policy(input_ids=torch.cat([before, end])[None]).logits[0, len(before) - 1 : -1]
        chances.append(float(logits.log_softmax(-1).gather(1, end[:, None]).sum().exp()))
        states.append(State(text, partial + " ", place, 0, 0, 0, before))
    answers = {state.problem: begun.evaluated.answers[state.row] for state in states}
    generator = torch.Generator().manual_seed(1)
    shares = worth(
        begun.policy, begun.tokenizer, [*states, states[0]], answers, continuations=CONTINUATIONS, generator=generator
    )
    assert shares[2] == shares[0]  # alike, so continued once
    for share, chance in zip(shares, chances, strict=False):
        assert share == pytest.approx(chance, abs=4 * math.sqrt(chance * (1 - chance) / CONTINUATIONS) + 0.002)
