"""SFT: a critic that writes the program's traces, made once in two rounds, as the actor's warm start is.

python -m recipes.genac_arithmetic.teaching              (trains it anew, and keeps it in the repository)
python -m recipes.genac_arithmetic.teaching --round 2    (goes on with what is kept: the second round alone)
"""

import argparse
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import load_file, save

from pacs.base.files import write_atomically
from pacs.base.terminal import print
from recipes.genac_arithmetic.critic import NOT_TOLD, TOLD, GenerativeCritic, question
from recipes.genac_arithmetic.frozen import Frozen, frozen_actor
from recipes.genac_arithmetic.states import State
from recipes.genac_arithmetic.traces import trace

#: What is asked, and the trace.
Example = tuple[str, str]

#: Of the actor's responses that the states are of, plus the round; no seed of a comparison is near it.
SEED, RESPONSES = 999, 2
#: Updates of each round, and its learning rate, which falls over the second half.
ROUNDS = {1: (4000, 3e-3), 2: (2000, 1.5e-3)}
#: States of an update.
STATES = 16
#: Batches that are drawn at a time and sorted by length: little of them is padding.
DRAWN = 8
#: Of the states, those in which a digit of one total is another one. The actor's totals are right but for the tens,
#: mostly: without these the critic learns to write its own digit instead of reading the actor's.
ALTERED = 1 / 3
#: SFT tells rates of this range, of which one is the actor's: what a rate means is to be learned, too.
RATES = (0.1, 0.9)
TEMPLATES = {"told": TOLD, "untold": NOT_TOLD}
KEPT = Path(__file__).with_name("critic.safetensors")


def weights() -> dict[str, torch.Tensor]:
    """The critic's weights after SFT, float32."""
    return {name: value.float() for name, value in load_file(KEPT).items()}


def teach(frozen: Frozen, number: int = 1, *, steps: int | None = None) -> GenerativeCritic:
    """A critic after a round of SFT on the program's traces of the actor's states.

    It learns both templates: of every other state it is told no rate, and neither is the program.

    Args:
        frozen: the actor, with its responses to the critics' problems.
        number: of the round. The first begins as the actor, others as the critic that is kept.
        steps: updates; those of the round without it.
    """
    order = random.Random(SEED + number)
    usual, lr = ROUNDS[number]
    steps = steps or usual
    critic = GenerativeCritic(frozen.actor, frozen.tokenizer, TOLD, lr)
    if number > 1:
        critic.model.load_state_dict(weights())
    batches: list[list[Example]] = []
    for step in range(1, steps + 1):
        critic.set_lr(lr * min(1.0, step / 50, 2 * (1 - step / steps) + 0.02))
        batches = batches or _drawn(frozen.states, order)
        batch = batches.pop()
        loss = critic.imitate([asked for asked, _ in batch], [text for _, text in batch])
        if step % 100 == 0 or step == steps:
            print(f"SFT, step {step}/{steps}: loss {loss:.4f}", flush=True)
    return critic


def altered(partial: str, order: random.Random) -> str:
    """A partial solution with another digit in one of its totals; an empty one as it is."""
    steps = partial.split()
    if not steps:
        return partial
    place, digit = order.randrange(len(steps)), order.choice((-1, -2))
    characters = list(steps[place])
    characters[digit] = order.choice([other for other in "0123456789" if other != characters[digit]])
    steps[place] = "".join(characters)
    return "".join(step + " " for step in steps)


def _drawn(states: Sequence[State], order: random.Random) -> list[list[Example]]:
    """Batches of states with what is asked and the program's traces, those of a batch alike in length."""
    examples = []
    for place, state in enumerate(order.sample(states, min(DRAWN * STATES, len(states)))):
        template = list(TEMPLATES.values())[place % len(TEMPLATES)]
        rate = round(order.uniform(*RATES), 2)
        if order.random() < ALTERED:
            state = replace(state, partial=altered(state.partial, order))
        text = trace(state.problem, state.partial, rate if template == TOLD else None)
        examples.append((question(template, state, rate), text))
    examples.sort(key=lambda example: len(example[0]) + len(example[1]))
    batches = [examples[first : first + STATES] for first in range(0, len(examples), STATES)]
    order.shuffle(batches)
    return batches


def keep(rounds: Sequence[int] = tuple(ROUNDS)) -> None:
    """Train rounds, and keep the critic in the repository after each."""
    torch.set_num_threads(1)
    for number in rounds:
        state = teach(frozen_actor(SEED + number, RESPONSES), number).model.state_dict()
        small = {name: value.to(torch.bfloat16) for name, value in state.items()}
        write_atomically(KEPT, save(small, metadata={"format": "pt"}))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m recipes.genac_arithmetic.teaching", description=__doc__)
    parser.add_argument("--round", type=int, nargs="+", choices=list(ROUNDS), help="default: all of them")
    keep(parser.parse_args().round or tuple(ROUNDS))


if __name__ == "__main__":
    main()
