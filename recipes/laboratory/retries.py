"""Another try, with guidance, where a response is wrong: as `run.rollouts.guided` has it in a run of `pacs train`."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch

from pacs.rewards.guidance import guidance_of, guided_messages, share_of
from pacs.runs.settings import GuidedSettings
from recipes.code_repair.calculated import first_failure
from recipes.laboratory.grading import grade
from recipes.laboratory.sampling import Samples, joined, sample
from recipes.starts.read import Problems

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedTokenizerBase, Qwen3ForCausalLM


def retried(
    policy: "Qwen3ForCausalLM",
    tokenizer: "PreTrainedTokenizerBase",
    samples: Samples,
    labels: torch.Tensor,
    problems: Problems,
    guided: GuidedSettings,
    *,
    size: int,
    max_tokens: int,
    generator: torch.Generator,
) -> tuple[Samples, torch.Tensor, int, int]:
    """Responses with right retries in place of wrong first ones, behind the prompts of these.

    Args:
        policy: that sampled the responses.
        tokenizer: its tokenizer.
        samples: B responses, `size` to a prompt, one prompt after the other.
        labels: (B,) of them.
        problems: that of each response.
        guided: with `after` set; its guidance is the verifier's words (`error`).
        size: responses to a prompt.
        max_tokens: of a retry.
        generator: of the random numbers.

    Returns:
        The responses, with the log-probabilities that each was sampled with; their labels; and the rollouts and tokens
        that the retries took.
    """
    place = torch.arange(len(labels)) % size
    unsolved = (labels.view(-1, size).sum(1) == 0).repeat_interleave(size)
    may = (labels == 0) & (place < share_of(guided.share, size))
    waiting = (may if guided.after == "failed" else may & unsolved).nonzero()[:, 0].tolist()
    texts = {row: samples.texts[row] for row in waiting}
    width = samples.ids.shape[1] - samples.response_mask.shape[1]
    rescued: list[int] = []
    parts, rollouts, tokens = [samples], 0, 0
    for _ in range(guided.retries):
        if not waiting:
            break
        asked = [_asked(problems, row, texts[row], guided) for row in waiting]
        tries = sample(policy, tokenizer, asked, samples=1, max_tokens=max_tokens, generator=generator)
        rollouts, tokens = rollouts + len(tries), tokens + int(tries.response_mask.sum())
        texts = dict(zip(waiting, tries.texts, strict=True))
        each = problems.of(waiting)
        right = grade(tries.texts, each.answers, each.verifiers) == 1
        taken = [row for row, solved in zip(waiting, right.tolist(), strict=True) if solved]
        if taken:
            parts.append(_behind(samples, taken, tries, right.nonzero()[:, 0], width))
            rescued += taken
        waiting = [row for row, solved in zip(waiting, right.tolist(), strict=True) if not solved]
    order = torch.arange(len(samples))
    order[rescued] = len(samples) + torch.arange(len(rescued))
    labels = labels.clone()
    labels[rescued] = 1
    return joined(parts).of(order), labels, rollouts, tokens


def _asked(problems: Problems, row: int, before: str, guided: GuidedSettings) -> list[dict[str, str]]:
    """The prompt of another try, after a wrong one."""
    said = {"feedback": first_failure(before, problems.answers[row])}
    guidance = guidance_of("error", {}, said, part=guided.part, characters=guided.characters)
    assert guidance is not None
    return guided_messages(problems.messages[row], "error", guidance, guided.text, before)


def _behind(samples: Samples, rows: Sequence[int], tries: Samples, right: torch.Tensor, width: int) -> Samples:
    """Right tries behind the first `width` columns of rows, which are their prompts without guidance."""
    taken = tries.of(right)
    response = taken.ids[:, taken.ids.shape[1] - taken.response_mask.shape[1] :]
    return replace(
        taken,
        ids=torch.cat([samples.ids[rows, :width], response], dim=1),
        attention_mask=torch.cat([samples.attention_mask[rows, :width], taken.response_mask.long()], dim=1),
    )
