"""REINFORCE on traces that are compared with others of the same state, and where the critic's error lies."""

import random
import time
from collections.abc import Callable, Hashable, Sequence
from statistics import fmean
from typing import Any

import torch

from recipes.genac_arithmetic import teaching
from recipes.genac_arithmetic.bench import CONTINUATIONS, Bench
from recipes.genac_arithmetic.critic import TOLD, GenerativeCritic
from recipes.genac_arithmetic.frozen import frozen_actor
from recipes.genac_arithmetic.measures import quality
from recipes.genac_arithmetic.pretraining import bench_of
from recipes.genac_arithmetic.sizes import Sizes
from recipes.genac_arithmetic.states import State
from recipes.genac_arithmetic.traces import redone

#: Steps at the beginning and at the end of which the shares of states that differ are kept.
ENDS = 10


def compared(seed: int, sizes: Sizes, say: Callable[[str], None]) -> dict[str, Any]:
    """The stage `compared`.

    Returns:
        As `pretraining.reinforced`, and `parts` of the error before and after; `by_steps`, the MSE of the best values
        that know whether a state is sound and how many steps are left; `differ`, the share of states whose traces
        earned different rewards, in the first and the last steps; `seconds`.
    """
    started = time.process_time()
    frozen = frozen_actor(seed, sizes.pool_responses, sizes.pool_problems)
    bench = bench_of(frozen, seed, sizes)
    generator, order = torch.Generator().manual_seed(60_000 + seed), random.Random(seed)
    critic = GenerativeCritic(frozen.actor, frozen.tokenizer, TOLD, sizes.compared_lr)
    critic.model.load_state_dict(teaching.weights())

    def read(states: Sequence[State]) -> list[float | None]:
        return critic.judge(states, frozen.rate, generator).read

    def parts() -> dict[str, float]:
        return error_parts(bench, critic, frozen.rate, generator)

    result: dict[str, Any] = {"sft": bench.measured(read, frozen.rate), "sft_parts": parts()}
    differ = []
    for step in range(1, sizes.compared_steps + 1):
        critic.set_lr(sizes.compared_lr * min(1.0, step / 5, 2 * (1 - step / sizes.compared_steps) + 0.02))
        states = order.sample(frozen.states, min(sizes.compared_states, len(frozen.states)))
        outcomes = [float(frozen.outcomes[state.row]) for state in states]
        differ.append(critic.compare(states, outcomes, frozen.rate, sizes.compared_traces, generator))
        if step % 20 == 0:
            say(f"compared, step {step}/{sizes.compared_steps}: {fmean(differ[-ENDS:]):.3f} of the states differ")
    result |= {"rl": bench.measured(read, frozen.rate), "rl_parts": parts(), "by_steps": by_steps(bench)}
    result["differ"] = [fmean(differ[:ENDS]), fmean(differ[-ENDS:])]
    result["seconds"] = time.process_time() - started
    say(f"compared: {result}")
    return result


def error_parts(bench: Bench, critic: GenerativeCritic, rate: float, generator: torch.Generator) -> dict[str, float]:
    """What sound states, mistaken ones, and those whose soundness the critic misjudges add to the mean squared error.

    The noise of the shares is in them, and so they add up to a little more than `mse`. `misjudged` is the share of
    states that the critic takes for sound and are not, or the other way round.
    """
    judged = critic.judge(bench.states, rate, generator)
    added = {"sound": 0.0, "mistaken": 0.0, "of_misjudged": 0.0, "misjudged": 0.0}
    texts = [judged.traces.texts[place] for place in judged.of.tolist()]
    for state, text, value, share in zip(bench.states, texts, judged.values, bench.shares, strict=True):
        sound, error = redone(state.problem, state.partial)[1], (value - share) ** 2
        added["sound" if sound else "mistaken"] += error
        if sound == ("n" in text.partition("\\boxed")[0]):
            added["misjudged"] += 1
            added["of_misjudged"] += error
    return {name: total / len(bench.states) for name, total in added.items()}


def by_steps(bench: Bench) -> float:
    """The MSE of mean worths, fitted: of sound states by the steps that are left, and of all mistaken ones."""
    groups: list[Hashable] = []
    for state in bench.states:
        left = len(state.problem.split()) - len(state.partial.split())
        groups.append(left if redone(state.problem, state.partial)[1] else None)
    worths: dict[Hashable, list[float]] = {}
    for group, share in zip(groups, bench.shares, strict=True):
        worths.setdefault(group, []).append(share)
    return quality([fmean(worths[group]) for group in groups], bench.shares, CONTINUATIONS).mse
