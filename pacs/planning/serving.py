"""What an engine of vLLM has, and what it did."""

from dataclasses import dataclass

#: Tokens of a block of vLLM's KV cache on a GPU.
BLOCK_TOKENS = 16


@dataclass(frozen=True)
class Limits:
    """What an engine has.

    Attributes:
        blocks: of its KV cache.
        sequences: that it works on at a time, `max_num_seqs`.
        batched_tokens: in one of its steps, `max_num_batched_tokens`; at least `sequences`.
        prefix_caching: whether blocks of the same text are shared, and found again.
        watermark: blocks that must stay free when a request is let in beside others, `watermark` of the cache.
    """

    blocks: int
    sequences: int
    batched_tokens: int
    prefix_caching: bool
    watermark: int = 0


@dataclass(frozen=True)
class Served:
    """What an engine did.

    Attributes:
        seconds: of all its steps.
        steps: how many.
        preemptions: how often a request lost its blocks.
        prefilled: tokens of prompts, and of preempted responses, that were calculated in bulk.
        generated: tokens.
        most: requests that it worked on at once.
    """

    seconds: float
    steps: int
    preemptions: int
    prefilled: int
    generated: int
    most: int


def blocks_of(tokens: int) -> int:
    """Blocks that so many tokens lie in."""
    return -(-tokens // BLOCK_TOKENS)
