"""Values of the states between a response's steps, as `run.rollouts.vine` has them in a run of `pacs train`."""

from collections import defaultdict
from dataclasses import dataclass

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pacs.algorithm.vineppo import STEP, STEP_VALUE, step_starts
from pacs.runs.settings import VineSettings
from recipes.laboratory.grading import grade
from recipes.laboratory.sampling import Samples, complete
from recipes.starts.read import Problems


@dataclass(frozen=True)
class Valued:
    """(B, T) streams, and what sampling the completions took."""

    streams: dict[str, torch.Tensor]
    rollouts: int
    tokens: int


@torch.no_grad()
def step_values(
    policy: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    samples: Samples,
    groups: torch.Tensor,
    problems: Problems,
    vine: VineSettings,
    *,
    max_tokens: int,
    generator: torch.Generator,
) -> Valued:
    """Cut responses into steps, and value what stands before each by the mean label of completions.

    Args:
        policy: that sampled the responses.
        samples: B responses.
        groups: (B,) int64, the problem of each.
        problems: of the groups.
        vine: `completions` and how steps are cut.
        max_tokens: of a response, its steps together.
        generator: of the random numbers.
    """
    assert vine.completions is not None
    width = samples.response_mask.shape[1]
    of_prompts, responses = samples.ids.shape[1] - width, samples.ids[:, samples.ids.shape[1] - width :]
    lengths = samples.response_mask.sum(1).tolist()
    # What is valued -> the rows and their steps that it stands before; of a prompt those of all of its responses.
    before: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    starts: list[list[int]] = []
    for row, length in enumerate(lengths):
        texts = [tokenizer.decode([token]) for token in responses[row, :length].tolist()]
        starts.append(step_starts(texts, vine.delimiter, vine.least_tokens, vine.most_steps))
        for number, start in enumerate(starts[row]):
            place = (row, start) if start else (-1 - int(groups[row]), 0)
            before[place].append((row, number))
    places = [(uses[0][0], start) for (_, start), uses in before.items()]
    asked = samples.attention_mask[:, :of_prompts] == 1
    prefixes = [torch.cat([samples.ids[row, :of_prompts][asked[row]], responses[row, :start]]) for row, start in places]
    completed = complete(
        policy, tokenizer, prefixes, samples=vine.completions, max_tokens=max_tokens, generator=generator
    )
    room = torch.tensor([max_tokens - start for _, start in places]).repeat_interleave(vine.completions)
    kept = torch.minimum(completed.response_mask.sum(1), room).tolist()
    tails = completed.ids[:, completed.ids.shape[1] - completed.response_mask.shape[1] :]
    texts = []
    for number, length in enumerate(kept):
        row, start = places[number // vine.completions]
        text = torch.cat([responses[row, :start], tails[number, :length]])
        texts.append(tokenizer.decode(text, skip_special_tokens=True))
    each = problems.of([int(groups[row]) for row, _ in places for _ in range(vine.completions)])
    means = grade(texts, each.answers, each.verifiers).view(-1, vine.completions).mean(1)
    steps, values = torch.zeros(len(samples), width), torch.zeros(len(samples), width)
    for mean, uses in zip(means, before.values(), strict=True):
        for row, number in uses:
            end = [*starts[row], lengths[row]][number + 1]
            steps[row, starts[row][number] : end] = number
            values[row, starts[row][number] : end] = mean
    return Valued({STEP: steps, STEP_VALUE: values}, len(texts), sum(kept))
