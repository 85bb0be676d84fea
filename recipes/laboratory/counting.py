"""Many responses to a prompt, as the different ones with how often each is drawn.

Responses that begin alike share what the model reads: the samples of a prompt are a tree, a node of which is drawn as
often as its beginning, and only different beginnings are rows of a batch. How often each response is drawn has the same
distribution as with independent rows, for as many forward passes as there are different beginnings.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from recipes.laboratory.decoding import Decoder
from recipes.laboratory.sampling import encode, padded, read_prompts

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedTokenizerBase, Qwen3ForCausalLM

#: Samples whose tree is drawn at a time.
CHUNK_SAMPLES = 4096


@dataclass(frozen=True)
class Counts:
    """Samples of P prompts.

    `texts` (P) counts the decoded responses of each prompt, without special tokens; `tokens` are those of all samples,
    with their end-of-turn tokens, and `entropy` the sum in nats of the distributions that these were drawn from.
    """

    texts: list[Counter[str]]
    tokens: int
    entropy: float


@torch.no_grad()
def count(
    model: "Qwen3ForCausalLM",
    tokenizer: "PreTrainedTokenizerBase",
    messages: list[list[dict[str, str]]],
    *,
    samples: int,
    max_tokens: int,
    generator: torch.Generator,
) -> Counts:
    """Sample at T=1 without truncation, and count; the model is left as it is.

    Args:
        model: a Qwen3, as `recipes.laboratory.decoding` takes it.
        tokenizer: its tokenizer.
        messages: one conversation a prompt.
        samples: responses to each.
        max_tokens: after so many a response is cut off.
        generator: of the random numbers.
    """
    prompts = max(1, CHUNK_SAMPLES // samples)
    chunks = [encode(tokenizer, messages[start : start + prompts]) for start in range(0, len(messages), prompts)]
    return _joined([_count_chunk(model, tokenizer, *chunk, samples, max_tokens, generator) for chunk in chunks])


@torch.no_grad()
def count_behind(
    model: "Qwen3ForCausalLM",
    tokenizer: "PreTrainedTokenizerBase",
    prefixes: Sequence[torch.Tensor],
    *,
    samples: int,
    max_tokens: int,
    generator: torch.Generator,
) -> Counts:
    """As `count`, behind (N,) int64 tokens each: of a prompt, and of how its response begins."""
    each = max(1, CHUNK_SAMPLES // samples)
    chunks = [padded(tokenizer, prefixes[start : start + each]) for start in range(0, len(prefixes), each)]
    return _joined([_count_chunk(model, tokenizer, *chunk, samples, max_tokens, generator) for chunk in chunks])


def _joined(parts: Sequence[Counts]) -> Counts:
    return Counts(
        [texts for part in parts for texts in part.texts],
        sum(part.tokens for part in parts),
        sum(part.entropy for part in parts),
    )


def _count_chunk(
    model: "Qwen3ForCausalLM",
    tokenizer: "PreTrainedTokenizerBase",
    ids: torch.Tensor,
    mask: torch.Tensor,
    samples: int,
    max_tokens: int,
    generator: torch.Generator,
) -> Counts:
    width, prompts = ids.shape[1], len(ids)
    logits, read = read_prompts(model, ids, mask)
    decoder = Decoder(model, read, 1, max_tokens)
    visible, position = pad(mask, (0, max_tokens), value=1).bool(), mask.sum(1)
    # The rows are the different beginnings: whose they are, their tokens, and how many samples begin with them.
    of, begun, drawn = (
        torch.arange(prompts),
        torch.empty(prompts, 0, dtype=torch.int64),
        torch.full((prompts,), samples),
    )
    ended_responses: list[
        tuple[int, list[int], int]
    ] = []  # responses that have ended: whose, their tokens, how often drawn
    tokens, entropy = 0, 0.0
    for t in range(max_tokens):
        known = logits.log_softmax(-1)
        likely = known.exp()
        tokens += int(drawn.sum())
        entropy -= float((likely * known).sum(1).double() @ drawn.double())
        row, token, times = _branches(likely, drawn, generator)
        of, begun = of[row], torch.cat([begun[row], token[:, None]], dim=1)
        ended = (token == tokenizer.eos_token_id) | (t + 1 == max_tokens)
        ended_responses += zip(of[ended].tolist(), begun[ended].tolist(), times[ended].tolist(), strict=True)
        if ended.all():
            break
        row, of, begun, token, drawn = row[~ended], of[~ended], begun[~ended], token[~ended], times[~ended]
        if not torch.equal(row, torch.arange(len(logits))):
            kept = decoder.keep(row)
            # Beginnings of one row differ in their last token alone, so that any of them may take any of its places.
            place = kept.argsort(stable=True).argsort()
            of, begun, token, drawn = of[place], begun[place], token[place], drawn[place]
            visible, position = visible[kept], position[kept]
        logits = decoder.step(token, position, visible[:, : width + t + 1])
        position = position + 1
    texts: list[Counter[str]] = [Counter() for _ in range(prompts)]
    decoded = tokenizer.batch_decode([response for _, response, _ in ended_responses], skip_special_tokens=True)
    for (prompt, _, number), text in zip(ended_responses, decoded, strict=True):
        texts[prompt][text] += number
    return Counts(texts, tokens, entropy)


def _branches(
    likely: torch.Tensor, times: torch.Tensor, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Draw a token of each row so many times.

    Args:
        likely: (B, V) probabilities.
        times: (B,) int64.
        generator: of the random numbers.

    Returns:
        Of the different pairs drawn, in the order of rows: their rows and tokens, and how often each was drawn.
    """
    rows, size = likely.shape
    sums = likely.double().cumsum(1)
    # One sorted line: row i's probabilities, which add up to 1, lie between i and i + 1.
    line = (sums / sums[:, -1:] + torch.arange(rows)[:, None]).flatten()
    row = torch.arange(rows).repeat_interleave(times)
    at = row + torch.rand(len(row), dtype=torch.float64, generator=generator)
    token = (torch.searchsorted(line, at, right=True) - row * size).clamp(0, size - 1)
    number = torch.bincount(row * size + token, minlength=rows * size)
    drawn = number.nonzero()[:, 0]
    return drawn // size, drawn % size, number[drawn]
