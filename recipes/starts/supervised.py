"""One step of supervised training on solutions, for a tiny model with the tokenizer of recipes/arithmetic."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from recipes.arithmetic.tokenizer import ASSISTANT, END, USER

IGNORED = -100


def new_adam(model: Qwen3ForCausalLM) -> torch.optim.AdamW:
    """Adam without moments; `train_step` sets its learning rate."""
    return torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)


def collate(
    texts: Sequence[str], solutions: Sequence[str], tokenizer: PreTrainedTokenizerFast
) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded token ids and labels, both (problems, longest) int64; `IGNORED` where no loss is taken.

    Args:
        texts: what the user asks, one a problem.
        solutions: a response to each.
        tokenizer: of `recipes.arithmetic.tokenizer`.
    """
    prompts = tokenizer([f"{USER}{text}{END}{ASSISTANT}" for text in texts])["input_ids"]
    responses = tokenizer([solution + END for solution in solutions])["input_ids"]
    longest = max(len(p) + len(r) for p, r in zip(prompts, responses, strict=True))
    ids = torch.full((len(texts), longest), tokenizer.pad_token_id)
    labels = torch.full((len(texts), longest), IGNORED)
    for i, (prompt, response) in enumerate(zip(prompts, responses, strict=True)):
        start, end = len(prompt), len(prompt) + len(response)
        ids[i, :end] = torch.tensor(prompt + response)
        labels[i, start:end] = ids[i, start:end]
    return ids, labels


def train_step(
    model: Qwen3ForCausalLM,
    optimizer: torch.optim.AdamW,
    lr: float,
    batch: tuple[torch.Tensor, torch.Tensor],
) -> float:
    """Train the model in place on a `collate`d batch, its gradient clipped at 1; the loss is a token's mean in nats."""
    ids, labels = batch
    logits = model(input_ids=ids).logits[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for group in optimizer.param_groups:
        group["lr"] = lr
    optimizer.step()
    return loss.item()
