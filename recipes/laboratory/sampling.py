"""Responses of a causal language model, at T=1 without truncation or greedily, faster than `model.generate`.

A prompt is read once for all its responses, keys and values stay in one buffer, and a response that has ended leaves
the batch. What the model's distribution was at each token is kept with the responses, so that nothing has to be read
again for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from recipes.laboratory.decoding import Decoder

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import DynamicCache, PreTrainedTokenizerBase, Qwen3ForCausalLM

#: Responses that are sampled at a time: more would not fit a processor's cache.
CHUNK_ROWS = 1024
#: Responses that have ended leave the batch where at least this share of it has.
ENDED_SHARE = 0.125


@dataclass(frozen=True)
class Samples:
    """B responses of P tokens of prompt and T of response.

    The fields of `recipes.arithmetic.measure.Responses`: `ids` (B, P+T) int64, prompts padded on the left and responses
    on the right; `attention_mask` (B, P+T) int64, of what the model may see; `response_mask` (B, T) bool, true through
    the end-of-turn token; `texts` (B), without special tokens. And of the model that sampled: `log_probs` (B, T) of the
    tokens, and `entropies` (B, T) of the distributions they were drawn from, in nats; 0 outside the response mask.
    """

    ids: torch.Tensor
    attention_mask: torch.Tensor
    response_mask: torch.Tensor
    texts: list[str]
    log_probs: torch.Tensor
    entropies: torch.Tensor

    def __len__(self) -> int:
        return len(self.ids)

    def of(self, rows: torch.Tensor) -> "Samples":
        """Those of (B',) int64 rows, without the columns that are padding in all of them."""
        width = self.response_mask.shape[1]
        mask, response_mask = self.attention_mask[rows], self.response_mask[rows]
        first = int(mask.any(0).int().argmax())
        longest = int(response_mask.sum(1).max())
        columns = slice(first, self.ids.shape[1] - width + longest)
        return Samples(
            self.ids[rows, columns],
            mask[:, columns],
            response_mask[:, :longest],
            [self.texts[row] for row in rows.tolist()],
            self.log_probs[rows, :longest],
            self.entropies[rows, :longest],
        )

    def cut(self, most: torch.Tensor) -> "Samples":
        """Each response's first (B,) `most` tokens at most; texts stay as they are."""
        width = self.response_mask.shape[1]
        kept = torch.minimum(self.response_mask.sum(1), most)
        mask = torch.arange(width) < kept[:, None]
        visible = torch.cat([self.attention_mask[:, : self.ids.shape[1] - width], mask.long()], dim=1)
        log_probs, entropies = (torch.where(mask, values, 0) for values in (self.log_probs, self.entropies))
        return Samples(self.ids, visible, mask, self.texts, log_probs, entropies)


def joined(parts: Sequence[Samples]) -> Samples:
    """The rows of all parts, padded alike."""
    widths = [(part.ids.shape[1] - part.response_mask.shape[1], part.response_mask.shape[1]) for part in parts]
    left, right = max(prompt for prompt, _ in widths), max(response for _, response in widths)

    def cat(name: str, with_prompt: bool) -> torch.Tensor:
        values = [getattr(part, name) for part in parts]
        margins = [(left - prompt if with_prompt else 0, right - response) for prompt, response in widths]
        return torch.cat([pad(value, margin) for value, margin in zip(values, margins, strict=True)])

    return Samples(
        ids=cat("ids", True),
        attention_mask=cat("attention_mask", True),
        response_mask=cat("response_mask", False),
        texts=[text for part in parts for text in part.texts],
        log_probs=cat("log_probs", False),
        entropies=cat("entropies", False),
    )


@torch.no_grad()
def sample(
    model: "Qwen3ForCausalLM",
    tokenizer: "PreTrainedTokenizerBase",
    messages: list[list[dict[str, str]]],
    *,
    samples: int,
    max_tokens: int,
    generator: torch.Generator | None,
) -> Samples:
    """Sample responses; the model is called without changing it or any random numbers but the generator's.

    Args:
        model: a Qwen3, as `recipes.laboratory.decoding` takes it.
        tokenizer: its tokenizer.
        messages: one conversation a prompt.
        samples: responses a prompt; those of one prompt are consecutive.
        max_tokens: after so many a response is cut off.
        generator: of the random numbers; None: the likeliest token is taken.
    """
    prompts = max(1, CHUNK_ROWS // samples)
    chunks = [encode(tokenizer, messages[start : start + prompts]) for start in range(0, len(messages), prompts)]
    return joined([_sample_chunk(model, tokenizer, *chunk, samples, max_tokens, generator) for chunk in chunks])


@torch.no_grad()
def complete(
    model: "Qwen3ForCausalLM",
    tokenizer: "PreTrainedTokenizerBase",
    prefixes: Sequence[torch.Tensor],
    *,
    samples: int,
    max_tokens: int,
    generator: torch.Generator,
) -> Samples:
    """As `sample`, behind (N,) int64 tokens each: of a prompt, and of how its response begins."""
    each = max(1, CHUNK_ROWS // samples)
    parts = []
    for start in range(0, len(prefixes), each):
        ids, mask = padded(tokenizer, prefixes[start : start + each])
        parts.append(_sample_chunk(model, tokenizer, ids, mask, samples, max_tokens, generator))
    return joined(parts)


def _sample_chunk(
    model: "Qwen3ForCausalLM",
    tokenizer: "PreTrainedTokenizerBase",
    prompt_ids: torch.Tensor,
    prompt_mask: torch.Tensor,
    samples: int,
    max_tokens: int,
    generator: torch.Generator | None,
) -> Samples:
    width, rows = prompt_ids.shape[1], len(prompt_ids) * samples
    first, read = read_prompts(model, prompt_ids, prompt_mask)
    decoder = Decoder(model, read, samples, max_tokens)
    logits = first.repeat_interleave(samples, 0)
    mask = pad(prompt_mask.repeat_interleave(samples, 0), (0, max_tokens), value=1).bool()
    position = prompt_mask.sum(1).repeat_interleave(samples)
    tokens = torch.full((rows, max_tokens), tokenizer.pad_token_id)
    log_probs, entropies = torch.zeros(rows, max_tokens), torch.zeros(rows, max_tokens)
    lengths = torch.full((rows,), max_tokens)
    alive = torch.arange(rows)  # rows of the result that the rows of the batch are
    running = torch.ones(rows, dtype=torch.bool)  # of those, the ones that have not ended
    for t in range(max_tokens):
        known = logits.log_softmax(-1)
        likely = known.exp()
        drawn = known.argmax(-1) if generator is None else _draw(likely, generator)
        into = alive[running]
        tokens[into, t] = drawn[running]
        log_probs[into, t] = known.gather(1, drawn[:, None])[running, 0]
        entropies[into, t] = -(likely * known).sum(1)[running]
        ended = running & (drawn == tokenizer.eos_token_id)
        lengths[alive[ended]] = t + 1
        running = running & ~ended
        left = int(running.sum())
        if left == 0 or t + 1 == max_tokens:
            break
        if left <= (1 - ENDED_SHARE) * len(running):
            kept = decoder.keep(running.nonzero()[:, 0])
            alive, drawn, position, mask = alive[kept], drawn[kept], position[kept], mask[kept]
            running = running[kept]
        logits = decoder.step(drawn, position, mask[:, : width + t + 1])
        position = position + 1
    longest = int(lengths.max())
    response_mask = torch.arange(longest) < lengths[:, None]
    return Samples(
        ids=torch.cat([prompt_ids.repeat_interleave(samples, 0), tokens[:, :longest]], dim=1),
        attention_mask=torch.cat([prompt_mask.repeat_interleave(samples, 0), response_mask.long()], dim=1),
        response_mask=response_mask,
        texts=tokenizer.batch_decode(tokens[:, :longest], skip_special_tokens=True),
        log_probs=log_probs[:, :longest],
        entropies=entropies[:, :longest],
    )


def padded(tokenizer: "PreTrainedTokenizerBase", prefixes: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """(P, N) int64: P prefixes of (N,) int64 tokens, padded on the left, and the mask of what is no padding."""
    width = max(map(len, prefixes))
    ids = torch.stack([pad(prefix, (width - len(prefix), 0), value=tokenizer.pad_token_id) for prefix in prefixes])
    mask = torch.stack([pad(torch.ones_like(prefix), (width - len(prefix), 0)) for prefix in prefixes])
    return ids, mask


def encode(
    tokenizer: "PreTrainedTokenizerBase", messages: list[list[dict[str, str]]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """(P, N) int64 tokens of P prompts, padded on the left, and the mask of those that are no padding."""
    encoded = tokenizer.apply_chat_template(
        messages,
        add_generation_prompt=True,
        tokenize=True,
        padding=True,
        padding_side="left",
        return_tensors="pt",
        return_dict=True,
    )
    return encoded["input_ids"], encoded["attention_mask"]


def read_prompts(
    model: "Qwen3ForCausalLM", ids: torch.Tensor, mask: torch.Tensor
) -> tuple[torch.Tensor, "DynamicCache"]:
    """(P, V) logits of the first token of a response to each of P prompts, and the keys and values of these."""
    from transformers import DynamicCache

    read = DynamicCache(config=model.config)
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    first = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=positions,
        past_key_values=read,
        use_cache=True,
        logits_to_keep=1,
    )
    return first.logits[:, 0], read


def _draw(likely: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """(B,) tokens by (B, V) probabilities: where their sums, added up in double precision, pass a random number."""
    sums = likely.double().cumsum(1)
    at = torch.rand(len(likely), 1, dtype=torch.float64, generator=generator) * sums[:, -1:]
    return torch.searchsorted(sums, at, right=True)[:, 0].clamp(max=likely.shape[1] - 1)
