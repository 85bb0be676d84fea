"""The critics before the actor is trained: a value head, and the generative critic after SFT and then REINFORCE."""

import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch

from pacs.algorithm.genac import read_value
from recipes.genac_arithmetic import teaching
from recipes.genac_arithmetic.bench import Bench, make_bench
from recipes.genac_arithmetic.critic import GenerativeCritic
from recipes.genac_arithmetic.frozen import Frozen, frozen_actor
from recipes.genac_arithmetic.heads import pretrained, valued
from recipes.genac_arithmetic.sizes import Sizes
from recipes.genac_arithmetic.solving import pass_at_1
from recipes.genac_arithmetic.start import begin
from recipes.genac_arithmetic.states import State
from recipes.genac_arithmetic.traces import follows, trace

Weights = dict[str, torch.Tensor]
#: Of the curve of REINFORCE.
POINTS = 2


def critics(seed: int, sizes: Sizes, say: Callable[[str], None]) -> tuple[dict[str, Any], dict[str, Weights]]:
    """The stage `critics`: the value head, and the generative critic that is told the rate, with their numbers."""
    started = time.process_time()
    frozen = frozen_actor(seed, sizes.pool_responses, sizes.pool_problems)
    bench = bench_of(frozen, seed, sizes)
    say(f"{time.process_time() - started:.0f} s: the actor's states are worth as is known now")
    head = pretrained(
        frozen.actor,
        frozen.samples,
        frozen.outcomes,
        steps=sizes.head_steps,
        responses=sizes.head_responses,
        lr=sizes.head_lr,
        seed=seed,
    )
    result: dict[str, Any] = {
        "rate": frozen.rate,
        "pass@1": pass_at_1(begin("test")[0], sizes, seed),
        "states": len(bench.states),
        "sets": len(bench.sets),
        "candidates": len(bench.candidates) / max(1, len(bench.sets)),
        "oracle": bench.oracle(),
        "program": bench.measured(lambda states: program(states, frozen.rate), frozen.rate),
        "head": bench.measured(lambda states: list(valued(head, states)), frozen.rate),
    }
    say(
        f"{time.process_time() - started:.0f} s: rate {frozen.rate:.3f}; MSE of V(x) {result['oracle']['mse']:.4f}, "
        f"program {result['program']['mse']:.4f}, head {result['head']['mse']:.4f}"
    )
    found, critic = reinforced(frozen, bench, "told", seed, sizes, say)
    result |= found
    result["seconds"] = time.process_time() - started
    return result, {"head": head.state_dict(), "critic": critic.model.state_dict()}


def untold(seed: int, sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    """The stage `untold`: the generative critic that is not told the rate, on the same states."""
    started = time.process_time()
    frozen = frozen_actor(seed, sizes.pool_responses, sizes.pool_problems)
    result, _ = reinforced(frozen, bench_of(frozen, seed, sizes), "untold", seed, sizes, say)
    return result | {"seconds": time.process_time() - started}


def bench_of(frozen: Frozen, seed: int, sizes: Sizes) -> Bench:
    """The start's states on problems that no critic learns from."""
    problems = frozen.probe.of(range(sizes.probe_problems))
    return make_bench(frozen.actor, frozen.tokenizer, problems, responses=sizes.probe_responses, seed=10_000 + seed)


def reinforced(
    frozen: Frozen, bench: Bench, name: str, seed: int, sizes: Sizes, say: Callable[[str], None]
) -> tuple[dict[str, Any], GenerativeCritic]:
    """The generative critic after REINFORCE, and its numbers before (`sft`), after (`rl`), and between (`curve`)."""
    generator, order = torch.Generator().manual_seed(20_000 + seed), random.Random(seed)
    critic = GenerativeCritic(frozen.actor, frozen.tokenizer, teaching.TEMPLATES[name], sizes.rl_lr)
    critic.model.load_state_dict(teaching.weights())

    def read(states: Sequence[State]) -> list[float | None]:
        return critic.judge(states, frozen.rate, generator).read

    sft = bench.measured(read, frozen.rate)
    judged = critic.judge(bench.states, frozen.rate, generator)
    texts = [judged.traces.texts[place] for place in judged.of.tolist()]
    right = [follows(text, s.problem, s.partial) for text, s in zip(texts, bench.states, strict=True)]
    sft["traces_right"] = sum(right) / len(right)
    say(f"rate {name}, after SFT: {_said(sft)}, traces right {sft['traces_right']:.3f}")
    curve, rl = [{"step": 0, "mse": sft["mse"]}], sft
    for step in range(1, sizes.rl_steps + 1):
        critic.set_lr(sizes.rl_lr * min(1.0, 2 * (1 - step / sizes.rl_steps) + 0.02))
        states = order.sample(frozen.states, min(sizes.rl_states, len(frozen.states)))
        judged = critic.judge(states, frozen.rate, generator)
        reward = critic.reinforce(judged, [float(frozen.outcomes[state.row]) for state in states])
        if step % max(1, sizes.rl_steps // POINTS) == 0 or step == sizes.rl_steps:
            rl = bench.measured(read, frozen.rate)
            curve.append({"step": step, "mse": rl["mse"]})
            say(f"rate {name}, REINFORCE {step}/{sizes.rl_steps}: R {reward:.3f}, {_said(rl)}")
    return {"sft": sft, "rl": rl, "curve": curve}, critic


def program(states: Sequence[State], rate: float) -> list[float | None]:
    """What the program itself says of states: SFT's teacher."""
    return [read_value(trace(state.problem, state.partial, rate)) for state in states]


def _said(numbers: dict[str, Any]) -> str:
    return ", ".join(
        f"{name} {numbers[name] or 0:.4f}" for name in ("mse", "explained", "top", "top_drawn", "unparsable")
    )
