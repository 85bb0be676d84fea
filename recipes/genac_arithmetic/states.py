"""The states that a critic values: what stands before each step of a response."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from pacs.algorithm.genac import segment_starts
from recipes.laboratory.sampling import Samples

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedTokenizerBase

#: A step of a chain is a segment: the space behind it ends it.
DELIMITER = " "
NO_LIMIT = 10_000


@dataclass(frozen=True)
class State:
    """A problem and the beginning of a response to it.

    `row` is the response's, `number` the segment's that comes next, `start` and `end` are where that begins and ends,
    in tokens. `ids` are the tokens of the prompt and of the beginning.
    """

    problem: str
    partial: str
    row: int
    number: int
    start: int
    end: int
    ids: torch.Tensor

    @property
    def place(self) -> tuple[str, str]:
        """What tells states apart: two of them may be the same state, of two responses."""
        return self.problem, self.partial


def states_of(samples: Samples, tokenizer: "PreTrainedTokenizerBase") -> list[State]:
    """All states of responses, those of a response one after the other.

    Args:
        samples: B responses.
        tokenizer: of the actor; a token of it is a character.
    """
    width = samples.response_mask.shape[1]
    columns = samples.ids.shape[1] - width
    # Decoding tokens one by one would take longer than sampling them.
    different = samples.ids.unique().tolist()
    text_of = dict(
        zip(different, tokenizer.batch_decode([[each] for each in different], skip_special_tokens=True), strict=True)
    )
    found = []
    for row in range(len(samples)):
        asked = samples.ids[row, :columns][samples.attention_mask[row, :columns] == 1]
        tokens = samples.ids[row, columns:][samples.response_mask[row]]
        problem = tokenizer.decode(asked, skip_special_tokens=True)
        texts = [text_of[token] for token in tokens.tolist()]
        starts = segment_starts(texts, DELIMITER, 1, NO_LIMIT)
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(tokens)], strict=True)):
            ids = torch.cat([asked, tokens[:start]])
            found.append(State(problem, "".join(texts[:start]), row, number, start, end, ids))
    return found


def of_tokens(states: Sequence[State], values: Sequence[float], shape: torch.Size) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, T) each: the number of each token's segment, and the value of the state before it."""
    steps, known = torch.zeros(shape), torch.zeros(shape)
    for state, value in zip(states, values, strict=True):
        steps[state.row, state.start : state.end] = state.number
        known[state.row, state.start : state.end] = value
    return steps, known
