"""Completions of the states between a response's steps, as `run.rollouts.vine` has them in a run of `pacs train`.

They give each state a value (VinePPO); or they are trained on, those of a state as a group (`train_completions`).
"""

from collections import defaultdict
from dataclasses import dataclass, replace

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pacs.algorithm.vineppo import STEP, STEP_VALUE, step_starts
from pacs.runs.settings import VineSettings
from recipes.laboratory.grading import grade
from recipes.laboratory.sampling import Samples, complete
from recipes.starts.read import Problems


@dataclass(frozen=True)
class Completed:
    """K completions of each of N states, those of a state consecutive.

    Attributes:
        samples: N K rows, whose prompts are the responses' own and how these begin; a text is the entire response.
        labels: (N K,) of these texts.
        before: of each state the rows and the steps that it stands before: of a prompt those of all its responses.
        starts: of each response, where its steps begin.
    """

    samples: Samples
    labels: torch.Tensor
    before: list[list[tuple[int, int]]]
    starts: list[list[int]]

    def step_values(self, response_mask: torch.Tensor) -> dict[str, torch.Tensor]:
        """(B, T) streams of the responses: each token's step, and the mean label of what completed what stood before.

        Args:
            response_mask: (B, T) bool, of the responses.
        """
        means = self.labels.view(len(self.before), -1).mean(1)
        steps, values = torch.zeros(response_mask.shape), torch.zeros(response_mask.shape)
        lengths = response_mask.sum(1).tolist()
        for mean, uses in zip(means, self.before, strict=True):
            for row, number in uses:
                end = [*self.starts[row], lengths[row]][number + 1]
                steps[row, self.starts[row][number] : end] = number
                values[row, self.starts[row][number] : end] = mean
        return {STEP: steps, STEP_VALUE: values}


@torch.no_grad()
def completed(
    policy: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    samples: Samples,
    groups: torch.Tensor,
    problems: Problems,
    vine: VineSettings,
    *,
    max_tokens: int,
    generator: torch.Generator,
) -> Completed | None:
    """Cut responses into steps, and complete what stands before each; without the prompts where these are trained on.

    Args:
        policy: that sampled the responses.
        samples: B responses.
        groups: (B,) int64, the problem of each.
        problems: of the groups.
        vine: `completions`, how steps are cut, and `train_completions`.
        max_tokens: of a response, its steps together.
        generator: of the random numbers.

    Returns:
        None where there is nothing to complete: no response has a second step.
    """
    assert vine.completions is not None
    width = samples.response_mask.shape[1]
    of_prompts, responses = samples.ids.shape[1] - width, samples.ids[:, samples.ids.shape[1] - width :]
    lengths = samples.response_mask.sum(1).tolist()
    before: defaultdict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    starts: list[list[int]] = []
    for row, length in enumerate(lengths):
        texts = [tokenizer.decode([token]) for token in responses[row, :length].tolist()]
        starts.append(step_starts(texts, vine.delimiter, vine.least_tokens, vine.most_steps))
        for number, start in enumerate(starts[row]):
            if start or not vine.train_completions:
                before[(row, start) if start else (-1 - int(groups[row]), 0)].append((row, number))
    if not before:
        return None
    places = [(uses[0][0], start) for (_, start), uses in before.items()]
    asked = samples.attention_mask[:, :of_prompts] == 1
    prefixes = [torch.cat([samples.ids[row, :of_prompts][asked[row]], responses[row, :start]]) for row, start in places]
    tails = complete(policy, tokenizer, prefixes, samples=vine.completions, max_tokens=max_tokens, generator=generator)
    room = torch.tensor([max_tokens - start for _, start in places]).repeat_interleave(vine.completions)
    tails = tails.cut(room)
    texts, behind = [], tails.ids[:, tails.ids.shape[1] - tails.response_mask.shape[1] :]
    for number, (tail, mask) in enumerate(zip(behind, tails.response_mask, strict=True)):
        row, start = places[number // vine.completions]
        texts.append(tokenizer.decode(torch.cat([responses[row, :start], tail[mask]]), skip_special_tokens=True))
    each = problems.of([int(groups[row]) for row, _ in places for _ in range(vine.completions)])
    labels = grade(texts, each.answers, each.verifiers)
    return Completed(replace(tails, texts=texts), labels, list(before.values()), starts)
