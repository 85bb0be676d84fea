"""States to be valued: problems with the beginnings of responses, cut where segments end."""

import hashlib
import itertools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pacs.algorithm.genac.segments import DELIMITER, LEAST_TOKENS, MOST_TOKENS, segment_starts
from pacs.base.errors import UserError
from pacs.base.files import read_lines, to_line, write_atomically
from pacs.evaluation.sample import Graded, GradedTask


@dataclass(frozen=True)
class Cuts:
    """Where segments end, as of `segment_starts`.

    Raises:
        UserError: nothing can be cut so.
    """

    delimiter: str = DELIMITER
    least_tokens: int = LEAST_TOKENS
    most_tokens: int = MOST_TOKENS

    def __post_init__(self) -> None:
        if not self.delimiter:
            raise UserError("--delimiter '': give a text of at least one character")
        if self.most_tokens < self.least_tokens:
            raise UserError(
                f"--most-tokens {self.most_tokens} is below --least-tokens {self.least_tokens}: raise the one, or "
                "lower the other"
            )


@dataclass(frozen=True)
class State:
    """A problem, and what is there of a response to it.

    Attributes:
        id: unique in its task.
        problem: the problem's id.
        segment: how many segments are there.
        tokens: of the partial response.
        text: the same as text.
        outcome: of the response that it was cut from; None of an empty one, and of one that has not ended yet.
        ended: there is no more to come.
        follows: of a candidate, the id of the state that it goes on from.
        copies: how many candidates are the same.
    """

    id: str
    problem: str
    segment: int
    tokens: list[int]
    text: str
    outcome: float | None = None
    ended: bool = False
    follows: str | None = None
    copies: int = 1


def choose_states(task: GradedTask, tokenizer: Any, cuts: Cuts, each: int, seed: int) -> list[State]:
    """The states of an evaluation's responses.

    Args:
        task: graded responses, of which a problem may have several.
        tokenizer: of the model that wrote them.
        cuts: where segments end.
        each: how many are drawn of the places in a response at which a segment ends; all if there are fewer.
        seed: of the draw.

    Returns:
        Of each problem the empty response, then those that are drawn, in their order; what another response to the
        problem begins with too is there once.
    """
    states = []
    for problem in task.problems:
        states.append(State(f"{problem.id}:", problem.id, 0, [], ""))
        there: set[tuple[int, ...]] = set()
        for graded in task.samples[problem.id]:
            ids, texts = tokens_of(tokenizer, graded.sample.response)
            starts = segment_starts(texts, cuts.delimiter, cuts.least_tokens, cuts.most_tokens)
            places = range(1, len(starts))
            drawn = _generator(seed, task.name, problem.id, graded.sample.index).sample(places, min(each, len(places)))
            for k in sorted(drawn):
                begun = ids[: starts[k]]
                if tuple(begun) in there:
                    continue
                there.add(tuple(begun))
                name = f"{problem.id}:{graded.sample.index}:{k}"
                states.append(State(name, problem.id, k, begun, text_of(tokenizer, begun), graded.score))
    return states


def choose_candidates(
    states: Sequence[State],
    continuations: Mapping[str, Sequence[Graded]],
    tokenizer: Any,
    cuts: Cuts,
    count: int,
    seed: int,
) -> list[State]:
    """Of each problem one state that is drawn, gone on with by one segment of each of its first continuations.

    Args:
        states: of which one of each problem is drawn.
        continuations: of each state by its id; the responses have the state's text before what was sampled.
        tokenizer: of the model that wrote them.
        cuts: where segments end.
        count: of the continuations.
        seed: of the draw.
    """
    of_problem: dict[str, list[State]] = {}
    for state in states:
        of_problem.setdefault(state.problem, []).append(state)
    candidates: list[State] = []
    for problem, some in of_problem.items():
        state = _generator(seed, "candidates", problem).choice(some)
        found: dict[tuple[int, ...], State] = {}
        for graded in continuations[state.id][:count]:
            response = graded.sample.response
            ids, texts = tokens_of(tokenizer, response[len(state.text) :])
            starts = segment_starts(texts, cuts.delimiter, cuts.least_tokens, cuts.most_tokens)
            ended = len(starts) == 1
            tokens = [*state.tokens, *(ids if ended else ids[: starts[1]])]
            key = (*tokens, -int(ended))
            if key in found:
                found[key] = replace(found[key], copies=found[key].copies + 1)
                continue
            text, outcome = (response, graded.score) if ended else (text_of(tokenizer, tokens), None)
            name = f"{state.id}+{len(found)}"
            found[key] = State(name, problem, state.segment + 1, tokens, text, outcome, ended, state.id)
        candidates += found.values()
    return candidates


def tokens_of(tokenizer: Any, text: str) -> tuple[list[int], list[str]]:
    """The tokens of a response, and the text of each: one after the other they are the response."""
    encoded = tokenizer(text, add_special_tokens=False, verbose=False, return_offsets_mapping=tokenizer.is_fast)
    ids = list(encoded["input_ids"])
    if not tokenizer.is_fast:
        return ids, [text_of(tokenizer, [token]) for token in ids]
    ends = [0]
    for _, end in encoded["offset_mapping"]:
        ends.append(max(ends[-1], end))
    return ids, [text[start:end] for start, end in itertools.pairwise(ends)]


def text_of(tokenizer: Any, tokens: Sequence[int]) -> str:
    """The text of tokens, as an engine gives it."""
    return str(tokenizer.decode(tokens, skip_special_tokens=True))


def write_states(file: Path, states: Sequence[State]) -> None:
    """A state a line."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, "".join(to_line(asdict(state)) for state in states))


def read_states(file: Path) -> list[State]:
    """The states of a file; none if it is not there."""
    return list(read_lines(file, lambda line: State(**line), "remove the file, and the same command writes it again"))


def _generator(*about: Any) -> random.Random:
    return random.Random(hashlib.sha256(json.dumps(about).encode()).digest())
