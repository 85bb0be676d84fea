"""States of an actor with their worth, and sets of candidate steps with theirs: what critics are measured by."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

import torch

from recipes.genac_arithmetic.measures import quality, ranking
from recipes.genac_arithmetic.problems import TASK
from recipes.genac_arithmetic.states import DELIMITER, State, states_of
from recipes.genac_arithmetic.truth import worth
from recipes.laboratory.sampling import Samples, complete, sample
from recipes.starts.read import Problems

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedTokenizerBase, Qwen3ForCausalLM

CONTINUATIONS = 64
CANDIDATES = 8
#: Of a step, which ends with a space.
STEP_TOKENS = 12
#: A critic's value of each state, None where what it wrote could not be read.
Valuer = Callable[[Sequence[State]], list[float | None]]


@dataclass(frozen=True)
class Bench:
    """An actor's states.

    `states` have their worth in `shares`; `first` is that of each state's empty solution. `candidates` are states
    behind a step each, sets one after the other: `sets` says where each begins and ends, `worths` what each candidate
    is worth. `responses` are what `states` are of.
    """

    responses: Samples
    states: list[State]
    shares: list[float]
    first: list[float]
    candidates: list[State]
    worths: list[float]
    sets: list[tuple[int, int]]

    def measured(self, valuer: Valuer, otherwise: float) -> dict[str, Any]:
        """The numbers of a critic; those of sets of candidates are None without any.

        Args:
            valuer: gives the values.
            otherwise: the value of a state that it gives none to.
        """
        read = valuer(self.states)
        found = quality([otherwise if value is None else value for value in read], self.shares, CONTINUATIONS)
        ranked = valuer(self.candidates) if self.candidates else []
        values = [otherwise if value is None else value for value in ranked]
        sets = [(values[start:end], self.worths[start:end]) for start, end in self.sets]
        tops = ranking(sets) if sets else None
        return {
            "mse": found.mse,
            "explained": found.explained,
            "top": tops and tops.top,
            "top_drawn": tops and tops.drawn,
            "top_chance": tops and tops.chance,
            "unparsable": sum(value is None for value in read) / len(read),
        }

    def oracle(self) -> dict[str, Any]:
        """V(x), the empty solution's worth, for all states of its problem; it tells no candidates apart."""
        found = quality(self.first, self.shares, CONTINUATIONS)
        # V(x) itself is known with as much noise, which is none of its error.
        noise = fmean(share * (1 - share) for share in self.first) / (CONTINUATIONS - 1)
        spread = found.mse / (1 - found.explained)
        return {"mse": found.mse - noise, "explained": 1 - (found.mse - noise) / spread}


def make_bench(
    actor: "Qwen3ForCausalLM",
    tokenizer: "PreTrainedTokenizerBase",
    problems: Problems,
    *,
    responses: int,
    seed: int,
) -> Bench:
    """The bench of an actor.

    A set's candidates are the different ones among `CANDIDATES` steps sampled behind one state of a response. There is
    a set for each response whose candidates are not all worth the same.

    Args:
        actor: whose states they are.
        tokenizer: of it.
        problems: of which none has been learned from.
        responses: to each.
        seed: of the samples.
    """
    generator, order = torch.Generator().manual_seed(seed), random.Random(seed)
    answers = answers_of(problems)
    sampled = sample(
        actor,
        tokenizer,
        problems.messages,
        samples=responses,
        max_tokens=TASK.max_response_tokens,
        generator=generator,
    )
    states = states_of(sampled, tokenizer)
    # In the last segment of a response is its box: the others are steps.
    lengths: dict[int, int] = {}
    for state in states:
        lengths[state.row] = state.number
    asked = [
        order.choice([s for s in states if s.row == row and s.number < last]) for row, last in lengths.items() if last
    ]
    steps = complete(
        actor,
        tokenizer,
        [state.ids for state in asked],
        samples=CANDIDATES,
        max_tokens=STEP_TOKENS,
        generator=generator,
    )
    candidates: list[list[State]] = []
    for place, state in enumerate(asked):
        texts = steps.texts[place * CANDIDATES : (place + 1) * CANDIDATES]
        different = dict.fromkeys(text.partition(DELIMITER)[0] + DELIMITER for text in texts if DELIMITER in text)
        candidates.append([_behind(state, text, tokenizer) for text in different])
    every = [*states, *(candidate for group in candidates for candidate in group)]
    known = worth(actor, tokenizer, every, answers, continuations=CONTINUATIONS, generator=generator)
    shares, of_sets = known[: len(states)], iter(known[len(states) :])
    # An independent estimate of V(x): its noise would otherwise be that of the states it is compared with.
    firsts = [state for state in states if state.number == 0]
    starts = worth(actor, tokenizer, firsts, answers, continuations=CONTINUATIONS, generator=generator)
    of_problem = {state.problem: share for state, share in zip(firsts, starts, strict=True)}
    chosen: list[State] = []
    worths: list[float] = []
    sets = []
    for group in candidates:
        values = [next(of_sets) for _ in group]
        if len(set(values)) > 1:
            sets.append((len(chosen), len(chosen) + len(group)))
            chosen += group
            worths += values
    return Bench(sampled, states, shares, [of_problem[state.problem] for state in states], chosen, worths, sets)


def answers_of(problems: Problems) -> dict[str, str]:
    """Text -> answer."""
    texts = [messages[0]["content"] for messages in problems.messages]
    return dict(zip(texts, problems.answers, strict=True))


def _behind(state: State, step: str, tokenizer: "PreTrainedTokenizerBase") -> State:
    """The state after a step; as a row of its own."""
    ids = torch.cat([state.ids, torch.tensor(tokenizer(step)["input_ids"])])
    return replace(state, partial=state.partial + step, ids=ids, start=state.start + len(step), number=state.number + 1)
