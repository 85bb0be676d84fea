"""A short supervised warm start that leaves a policy which can do the task, and mostly does not.

Two phases of plain cross-entropy on the response tokens:

1. *learn*: right worked solutions, at a learning rate that falls, and once more from the peak until the probability
   of the right solution of a probe's problem is `LEARNED` in the mean: some seeds need a second round, and what is not
   learned here no reward brings back;
2. *slip*: solutions by a careless teacher (`careless_solution`), until the policy has taken on its habits and its
   pass@1 on a probe lies near `TARGET_PASS_AT_1`. The habits themselves set where it settles, for any seed.

A warm start that only stops early has a low pass@1 too, but for lack of skill: from such a start (answers without a
worked step, lr 1e-4) PACS took greedy accuracy from 0.60 to 0.77 in 60 steps of 64 x 8 responses. The slips leave
right answers within reach of a group of eight, and forgetting the carry is the likelier choice wherever there is one,
so that greedy decoding starts low as well.
"""

import random
import time
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from pacs.base.errors import UserError
from pacs.base.terminal import print
from recipes.arithmetic.problems import Problem
from recipes.starts.supervised import collate, new_adam, train_step

BATCH_PROBLEMS = 128
LEARN_STEPS = 300
LEARN_LR = 3e-3
LEARN_ROUNDS = 3  # at most
LEARNED = 0.95
SLIP_STEPS = (120, 400)  # at least, at most
SLIP_LR = 1e-4
REPORT_EVERY_STEPS = 50

TARGET_PASS_AT_1 = 0.33
TOLERANCE = 0.03
PROBE_EVERY_STEPS = 5

# How often the careless teacher slips. Expected pass@1: (1 - NO_BOX) * (1 - WRONG_ONES) * (0.57 + 0.43 * (1 -
# FORGET_CARRY)), since 43% of the problems carry or borrow.
FORGET_CARRY = 0.85
WRONG_ONES = 0.3
NO_BOX = 0.25


def right_solution(problem: Problem) -> str:
    """The worked solution: the ones column, then the boxed answer."""
    step, result = problem.ones_step
    return f"{step}={result} \\boxed{{{problem.answer}}}"


def careless_solution(problem: Problem, rng: random.Random) -> str:
    """A solution by a teacher who at times forgets the carry, miscounts the ones, or leaves out the box."""
    step, result = problem.ones_step
    answer = problem.answer
    if problem.crosses_ten and rng.random() < FORGET_CARRY:
        answer += -10 if problem.operator == "+" else 10
    if rng.random() < WRONG_ONES:
        slip = rng.choice((-1, 1)) if min(result, answer) > 0 else 1
        result, answer = result + slip, answer + slip
    return f"{step}={result} {answer}" if rng.random() < NO_BOX else f"{step}={result} \\boxed{{{answer}}}"


def warm_start(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    train: Sequence[Problem],
    probe: Sequence[Problem],
    seed: int,
) -> None:
    """Train `model` in place; prints a line every `REPORT_EVERY_STEPS`.

    Args:
        model: randomly initialised.
        tokenizer: of `build_tokenizer`.
        train: problems to learn from.
        probe: problems that decide when to stop.
        seed: of the order of the problems and of the slips.

    Raises:
        UserError: if a phase does not come to what it is to come to: `LEARNED`, and `TARGET_PASS_AT_1`.
    """
    rng = random.Random(seed)
    started = time.monotonic()
    model.train()
    probe_batch = collate([p.text for p in probe], [right_solution(p) for p in probe], tokenizer)
    for learn_round in range(1, LEARN_ROUNDS + 1):
        _learn(model, tokenizer, train, rng, started)
        skill = _right_probability(model, probe_batch)
        _report(f"learn, round {learn_round}: probability of right solutions {skill:.3f}", started)
        if skill >= LEARNED:
            break
    else:
        raise UserError(
            f"the warm start has learned right solutions to {skill:.2f} and not to {LEARNED}: take another --seed, or "
            "raise LEARN_ROUNDS in recipes/arithmetic/warm_start.py"
        )
    _slip(model, tokenizer, train, probe_batch, rng, started)
    model.eval()


def _learn(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    train: Sequence[Problem],
    rng: random.Random,
    started: float,
) -> None:
    """A round of the first phase."""
    optimizer = new_adam(model)
    for step in range(1, LEARN_STEPS + 1):
        lr = LEARN_LR * min(step / 50, 1.0, 2 * (1 - step / LEARN_STEPS) + 0.02)
        problems = rng.sample(train, BATCH_PROBLEMS)
        batch = collate([p.text for p in problems], [right_solution(p) for p in problems], tokenizer)
        loss = train_step(model, optimizer, lr, batch)
        if step % REPORT_EVERY_STEPS == 0:
            _report(f"learn {step}/{LEARN_STEPS}: loss {loss:.3f}", started)


def _slip(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    train: Sequence[Problem],
    probe_batch: tuple[torch.Tensor, torch.Tensor],
    rng: random.Random,
    started: float,
) -> None:
    """The second phase."""
    at_least, at_most = SLIP_STEPS
    optimizer = new_adam(model)
    for step in range(1, at_most + 1):
        lr = SLIP_LR * min(step / 30, 1.0)  # Adam's first steps at the full rate would cost the skill
        problems = rng.sample(train, BATCH_PROBLEMS)
        batch = collate([p.text for p in problems], [careless_solution(p, rng) for p in problems], tokenizer)
        loss = train_step(model, optimizer, lr, batch)
        if step % PROBE_EVERY_STEPS == 0:
            pass_at_1 = _right_probability(model, probe_batch)
            done = step >= at_least and abs(pass_at_1 - TARGET_PASS_AT_1) <= TOLERANCE
            if done or step % REPORT_EVERY_STEPS == 0:
                _report(f"slip {step}: loss {loss:.3f}, pass@1 {pass_at_1:.2f}", started)
            if done:
                return
    raise UserError(
        f"the warm start ended at a pass@1 of {pass_at_1:.2f}, not within {TOLERANCE} of {TARGET_PASS_AT_1}: take "
        "another --seed, or change how often the teacher slips in recipes/arithmetic/warm_start.py"
    )


@torch.no_grad()
def _right_probability(model: Qwen3ForCausalLM, batch: tuple[torch.Tensor, torch.Tensor]) -> float:
    """Mean probability, at T=1, of exactly the right solution: pass@1 without the noise of sampling.

    A little below pass@1, since a right answer after a wrong step counts there.
    """
    ids, labels = batch
    logits = model(input_ids=ids).logits[:, :-1]
    token_losses = F.cross_entropy(logits.transpose(1, 2), labels[:, 1:], reduction="none")
    return float(token_losses.sum(-1).neg().exp().mean())


def _report(message: str, started: float) -> None:
    print(f"warm start, {message}, {time.monotonic() - started:.0f} s", flush=True)
