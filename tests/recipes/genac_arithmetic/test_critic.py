"""The generative critic: what it is asked, that it learns values from outcomes, and that states alike share a trace."""

from statistics import fmean

import pytest
import torch

from recipes.genac_arithmetic import teaching
from recipes.genac_arithmetic.critic import NOT_TOLD, TOLD, GenerativeCritic, question
from recipes.genac_arithmetic.frozen import frozen_actor
from recipes.genac_arithmetic.start import begin
from recipes.genac_arithmetic.states import State

GOOD, BAD = "47 a+5 b-3", "61 a-4 b-9"


def _state(problem: str, partial: str, row: int = 0) -> State:
    return State(problem, partial, row, 0, 0, 0, torch.arange(len(problem + partial)))


@pytest.fixture
def critic() -> GenerativeCritic:
    """Of two layers of random weights."""
    begun, _ = begin("probe")
    return GenerativeCritic(begun.policy, begun.tokenizer, TOLD, 1e-3)  # type: ignore[arg-type]


def test_what_is_asked() -> None:
    state = _state("47 a+5", "47a+5=52 ")
    assert question(TOLD, state, 0.416) == "<|user|>0.42|47 a+5|47a+5=52 <|im_end|><|assistant|>"
    assert question(NOT_TOLD, state, 0.416) == "<|user|>47 a+5|47a+5=52 <|im_end|><|assistant|>"


def test_states_that_are_alike_share_a_trace_and_unread_ones_the_value_before(critic: GenerativeCritic) -> None:
    texts = [question(TOLD, _state(GOOD, ""), 0.5), question(TOLD, _state(GOOD, "47a+5=52 "), 0.5)]
    for _ in range(150):
        loss = critic.imitate(texts, [r"\boxed{7}", "none"])
    assert loss < 0.02
    states = [_state(GOOD, ""), _state(GOOD, "47a+5=52 "), _state(GOOD, "", 1), _state(GOOD, "47a+5=52 ", 2)]
    judged = critic.judge(states, 0.5, torch.Generator().manual_seed(0))
    assert judged.read == [0.7, None, 0.7, None]
    assert judged.values == [0.7, 0.7, 0.7, 0.5]  # the last one's response has no value before it: the rate
    assert len(judged.traces) == 2
    assert judged.of.tolist() == [0, 1, 0, 1]
    assert judged.tokens_each == 2 * judged.tokens


def test_reinforce_brings_values_to_the_outcomes(critic: GenerativeCritic) -> None:
    """Two problems, one that always ends well; the critic first scores both at random."""
    partials = [f"{number}a+5=52 " for number in range(10, 22)]
    states = [_state(problem, partial) for problem in (GOOD, BAD) for partial in partials]
    outcomes = [float(state.problem == GOOD) for state in states]
    asked = [question(TOLD, state, 0.5) for state in states]
    for step in range(40):
        critic.imitate(asked, [rf"\boxed{{{(7 * place + step) % 11}}}" for place in range(len(asked))])
    critic.renew(5e-4)
    generator = torch.Generator().manual_seed(0)

    def error() -> float:
        judged = critic.judge(states, 0.5, generator)
        return fmean((value - outcome) ** 2 for value, outcome in zip(judged.values, outcomes, strict=True))

    before = error()
    rewards = [critic.reinforce(critic.judge(states, 0.5, generator), outcomes) for _ in range(80)]
    assert before > 0.2
    assert error() < 0.5 * before
    assert fmean(rewards[-5:]) > fmean(rewards[:5]) + 0.1


def test_traces_of_a_state_are_compared_with_one_another(critic: GenerativeCritic) -> None:
    """One state scored at random, and an outcome: the best score becomes the likeliest. Equal traces teach nothing."""
    state = _state(GOOD, "47a+5=52 ")
    asked = [question(TOLD, state, 0.5)] * 11
    for _ in range(60):
        critic.imitate(asked, [rf"\boxed{{{score}}}" for score in range(11)])
    critic.renew(3e-4)
    generator = torch.Generator().manual_seed(0)
    shares = [critic.compare([state] * 4, [1.0] * 4, 0.5, 4, generator) for _ in range(60)]
    known = [critic.judge([state], 0.5, generator).values[0] for _ in range(8)]
    assert shares[0] > 0.7
    assert fmean(known) > 0.8

    for _ in range(60):
        critic.imitate(asked, [r"\boxed{5}"] * 11)
    before = {name: value.clone() for name, value in critic.model.state_dict().items()}
    assert critic.compare([state], [1.0], 0.5, 4, generator) == 0
    assert all(torch.equal(value, before[name]) for name, value in critic.model.state_dict().items())


def test_sft_learns_the_traces() -> None:
    """A few steps: that the loss falls as it should, not that they are learned to their end."""
    frozen = frozen_actor(0, 1, 200)
    assert 0.2 < frozen.rate < 0.5
    critic = teaching.teach(frozen, steps=2)
    critic.set_lr(1e-3)
    few = [frozen.states[place] for place in range(0, 480, 20)]
    asked = [question(TOLD, state, 0.4) for state in few]
    from recipes.genac_arithmetic.traces import trace

    traces = [trace(state.problem, state.partial, 0.4) for state in few]
    losses = [critic.imitate(asked, traces) for _ in range(40)]
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.skipif(not teaching.KEPT.exists(), reason="no critic is kept after SFT yet")
def test_the_kept_critic_redoes_steps_and_can_be_read() -> None:
    from recipes.genac_arithmetic.traces import follows

    frozen = frozen_actor(1, 1, 100)
    critic = GenerativeCritic(frozen.actor, frozen.tokenizer, TOLD, 1e-3)
    critic.model.load_state_dict(teaching.weights())
    states = frozen.states[::8]
    judged = critic.judge(states, 0.4, torch.Generator().manual_seed(0))
    texts = [judged.traces.texts[place] for place in judged.of.tolist()]
    right = [follows(text, state.problem, state.partial) for text, state in zip(texts, states, strict=True)]
    assert fmean(right) > 0.9
    assert fmean(value is None for value in judged.read) < 0.02
