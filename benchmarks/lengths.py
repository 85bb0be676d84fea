"""Log-normal lengths of vLLM's responses, whatever the policy would write: for benchmarks of rollouts.

A processor of logits lets a response end at each token with the hazard of a log-normal length, and at no other. It
counts from the end of the prompt, so that a response that was broken off and goes on keeps the distribution. It is
named to vLLM as `--logits-processors benchmarks.lengths:LogNormalLengths` and reads its settings from the environment.
"""

import math
import os
import random
from typing import Any

import torch
from vllm.v1.sample.logits_processor import LogitsProcessor
from vllm.v1.sample.logits_processor.interface import MoveDirectionality

#: Of the environment: median and longest in tokens, spread of the logarithm, ids of the token that ends a prompt and of
#: that which ends a response.
VARIABLE = "BENCHMARK_LENGTHS"


def setting(median: float, longest: int, spread: float, last_of_prompt: int, end: int) -> dict[str, str]:
    """The environment of a run whose responses have such lengths."""
    return {VARIABLE: f"{median} {longest} {spread} {last_of_prompt} {end}"}


def hazard(token: int, median: float, spread: float) -> float:
    """Chance that a response ends with its `token`-th token (from 1), if it has come so far."""

    def beyond(tokens: float) -> float:
        return 0.5 * math.erfc(math.log(tokens / median) / spread / math.sqrt(2)) if tokens > 0 else 1.0

    before = beyond(token - 0.5) if token > 1 else 1.0
    return 1.0 - beyond(token + 0.5) / before if before > 0 else 1.0


class LogNormalLengths(LogitsProcessor):  # type: ignore[misc]
    """As the module says; the rows of a batch are those of vLLM's persistent one."""

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        median, longest, spread, last_of_prompt, end = os.environ[VARIABLE].split()
        self.longest, self.last_of_prompt, self.end = int(longest), int(last_of_prompt), int(end)
        self.hazards = [hazard(token, float(median), float(spread)) for token in range(1, self.longest)]
        self.rows: dict[int, tuple[int, list[int], random.Random]] = {}

    def is_argmax_invariant(self) -> bool:
        """It is not: it ends responses."""
        return False

    def update_state(self, batch_update: Any) -> None:
        """Follow the batch's rows: removed, added, moved."""
        if batch_update is None:
            return
        for row in batch_update.removed:
            self.rows.pop(row, None)
        for row, params, prompt, written in batch_update.added:
            before = len(prompt) - prompt.index(self.last_of_prompt) - 1
            dice = random.Random(params.seed)
            for _ in written:  # of a request that comes back to the batch: these throws are made
                dice.random()
            self.rows[row] = before, written, dice
        for one, other, direction in batch_update.moved:
            moved, replaced = self.rows.pop(one, None), self.rows.pop(other, None)
            if moved is not None:
                self.rows[other] = moved
            if replaced is not None and direction == MoveDirectionality.SWAP:
                self.rows[one] = replaced

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """The logits of each row with its end alone, or without it."""
        ends = []
        for row, (before, written, dice) in self.rows.items():
            token = before + len(written)
            if token >= len(self.hazards) or dice.random() < self.hazards[token]:
                ends.append(row)
        logits[:, self.end] = -math.inf
        if ends:
            logits[ends] = -math.inf
            logits[ends, self.end] = 0.0
        return logits
