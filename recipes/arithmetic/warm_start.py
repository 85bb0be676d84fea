"""A short supervised warm start that leaves a policy which can do the task, and mostly does not.

Two phases of plain cross-entropy on the response tokens:

1. *learn*: right worked solutions, a fixed number of steps at a decaying learning rate;
2. *slip*: solutions by a careless teacher (`careless_solution`), until the probability of the right solution on a
   probe has fallen to `TARGET_PASS_AT_1`.

Stopping phase 1 early also gives a policy with a low pass@1, but one that lacks the skill: reinforcement has then to
teach two-digit arithmetic from 0/1 labels, and took greedy accuracy from 0.60 to 0.77 in 60 steps of 64 x 8 responses.
The slips leave the right answer within reach of a group of eight, and forgetting the carry is the more likely choice
where there is one, so that greedy decoding starts low too.
"""

import random
import time
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from recipes.arithmetic.problems import Problem
from recipes.arithmetic.tokenizer import ASSISTANT, END, USER

LEARN_STEPS = 400
LEARN_RATE = 3e-3
SLIP_STEPS = 300  # at most
SLIP_RATE = 1e-4
SLIP_WARM = 30
BATCH_PROBLEMS = 128
TARGET_PASS_AT_1 = 0.33
PROBE_EVERY_STEPS = 5

FORGET_CARRY = 0.75
WRONG_ONES = 0.35
NO_BOX = 0.4


def right_solution(problem: Problem) -> str:
    """The worked solution: the ones column, then the boxed answer."""
    step, result = problem.ones_step
    return f"{step}={result} \\boxed{{{problem.answer}}}"


def careless_solution(problem: Problem, rng: random.Random) -> str:
    """A solution by a teacher who forgets carries, miscounts the ones, and forgets the box."""
    step, result = problem.ones_step
    answer = problem.answer
    if problem.crosses_ten and rng.random() < FORGET_CARRY:
        answer += -10 if problem.operator == "+" else 10
    if rng.random() < WRONG_ONES:
        slip = rng.choice((-1, 1)) if result > 0 and answer > 0 else 1
        result, answer = result + slip, answer + slip
    return f"{step}={result} {answer}" if rng.random() < NO_BOX else f"{step}={result} \\boxed{{{answer}}}"


def warm_start(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    train: Sequence[Problem],
    probe: Sequence[Problem],
    seed: int,
) -> None:
    """Train `model` in place, printing a line every 50 steps.

    Args:
        model: randomly initialised.
        tokenizer: of `build_tokenizer`.
        train: problems to learn from.
        probe: problems in neither split, that decide when to stop.
        seed: of the order of the problems and of the slips.

    Raises:
        RuntimeError: if the slip phase ends without reaching `TARGET_PASS_AT_1`.
    """
    rng = random.Random(seed)
    probe_batch = _collate([(p, right_solution(p)) for p in probe], tokenizer)
    started = time.monotonic()

    optimizer = _adam(model, LEARN_RATE)
    for step in range(1, LEARN_STEPS + 1):
        for group in optimizer.param_groups:
            group["lr"] = LEARN_RATE * min(1.0, step / 50, 2.0*(1.01 - step / LEARN_STEPS))
        problems = rng.sample(train, BATCH_PROBLEMS)
        loss = _train_step(model, optimizer, _collate([(p, right_solution(p)) for p in problems], tokenizer))
        if step % 50 == 0:
            reached = _right_probability(model, probe_batch)
            _report("learn", step, LEARN_STEPS, loss, reached, started)

    optimizer = _adam(model, SLIP_RATE)
    for step in range(1, SLIP_STEPS + 1):
        for group in optimizer.param_groups:
            group['lr'] = SLIP_RATE * min(1.0, step / SLIP_WARM)
        problems = rng.sample(train, BATCH_PROBLEMS)
        batch = _collate([(p, careless_solution(p, rng)) for p in problems], tokenizer)
        loss = _train_step(model, optimizer, batch)
        if step % PROBE_EVERY_STEPS == 0:
            reached = _right_probability(model, probe_batch)
            if step % 10 == 0: _report("slip", step, SLIP_STEPS, loss, reached, started)
            if reached <= TARGET_PASS_AT_1:
                _report("slip", step, SLIP_STEPS, loss, reached, started)
                return
    raise RuntimeError(
        f"the warm start ended at a pass@1 of {reached:.2f}, above {TARGET_PASS_AT_1}: "
        f"raise SLIP_STEPS (now {SLIP_STEPS}) or the slips' rates in recipes/arithmetic/warm_start.py"
    )


def _adam(model: Qwen3ForCausalLM, lr: float) -> torch.optim.AdamW:
    return torch.optim.AdamW(model.parameters(), lr=lr, betas=(0.9, 0.98), weight_decay=0.01)


def _collate(
    examples: Sequence[tuple[Problem, str]], tokenizer: PreTrainedTokenizerFast
) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded token ids and labels, both (examples, longest); -100 where no loss is taken."""
    prompts = tokenizer([f"{USER}{p.text}{END}{ASSISTANT}" for p, _ in examples])["input_ids"]
    responses = tokenizer([solution + END for _, solution in examples])["input_ids"]
    width = max(len(p) + len(r) for p, r in zip(prompts, responses, strict=True))
    ids = torch.full((len(examples), width), tokenizer.pad_token_id)
    labels = torch.full((len(examples), width), -100)
    for i, (prompt, response) in enumerate(zip(prompts, responses, strict=True)):
        end = len(prompt) + len(response)
        ids[i, :end] = torch.tensor(prompt + response)
        labels[i, len(prompt) : end] = ids[i, len(prompt) : end]
    return ids, labels


def _train_step(
    model: Qwen3ForCausalLM, optimizer: torch.optim.Optimizer, batch: tuple[torch.Tensor, torch.Tensor]
) -> float:
    ids, labels = batch
    logits = model(input_ids=ids).logits[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), labels[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.item()


@torch.no_grad()
def _right_probability(model: Qwen3ForCausalLM, batch: tuple[torch.Tensor, torch.Tensor]) -> float:
    """Mean probability, at T=1, of exactly the right solution: pass@1 without sampling noise."""
    ids, labels = batch
    logits = model(input_ids=ids).logits[:, :-1]
    losses = F.cross_entropy(logits.transpose(1, 2), labels[:, 1:], reduction="none")
    return losses.sum(-1).neg().exp().mean().item()


def _report(phase: str, step: int, steps: int, loss: float, reached: float, started: float) -> None:
    seconds = time.monotonic() - started
    print(f"warm start, {phase} {step}/{steps}: loss {loss:.3f}, pass@1 {reached:.2f}, {seconds:.0f} s", flush=True)
