"""SFT: a critic that writes the program's traces, made once, as the actor's warm start is.

python -m recipes.genac_arithmetic.teaching              (trains it anew, and keeps it in the repository)
python -m recipes.genac_arithmetic.teaching --round 2    (goes on with what is kept)

What is kept is of one round.
"""

import argparse
import random
from pathlib import Path

import torch
from safetensors.torch import load_file, save

from pacs.base.files import write_atomically
from pacs.base.terminal import print
from recipes.genac_arithmetic.critic import NOT_TOLD, TOLD, GenerativeCritic, question
from recipes.genac_arithmetic.frozen import Frozen, frozen_actor
from recipes.genac_arithmetic.traces import trace

#: Of the actor's responses that the states are of, plus the round; no seed of a comparison is near it.
SEED, RESPONSES = 999, 2
STEPS, STATES, LR = 600, 24, 3e-3
#: SFT tells rates of this range, of which one is the actor's: what a rate means is to be learned, too.
RATES = (0.1, 0.9)
TEMPLATES = {"told": TOLD, "untold": NOT_TOLD}
KEPT = Path(__file__).with_name("critic.safetensors")


def weights() -> dict[str, torch.Tensor]:
    """The critic's weights after SFT, float32."""
    return {name: value.float() for name, value in load_file(KEPT).items()}


def teach(frozen: Frozen, number: int = 1, *, steps: int = STEPS) -> GenerativeCritic:
    """A critic after a round of SFT on the program's traces of the actor's states.

    It learns both templates: of every other state it is told no rate, and neither is the program.

    Args:
        frozen: the actor, with its responses to the critics' problems.
        number: of the round. The first begins as the actor, others as the critic that is kept.
        steps: updates.
    """
    order = random.Random(SEED + number)
    critic = GenerativeCritic(frozen.actor, frozen.tokenizer, TOLD, LR)
    if number > 1:
        critic.model.load_state_dict(weights())
    templates = list(TEMPLATES.values())
    for step in range(1, steps + 1):
        critic.set_lr(LR * min(1.0, step / 50, 2 * (1 - step / steps) + 0.02))
        states = order.sample(frozen.states, min(STATES, len(frozen.states)))
        rates = [round(order.uniform(*RATES), 2) for _ in states]
        asked, traces = [], []
        for place, (state, rate) in enumerate(zip(states, rates, strict=True)):
            template = templates[place % len(templates)]
            asked.append(question(template, state, rate))
            traces.append(trace(state.problem, state.partial, rate if template == TOLD else None))
        loss = critic.imitate(asked, traces)
        if step % 25 == 0 or step == steps:
            print(f"SFT, step {step}/{steps}: loss {loss:.4f}", flush=True)
    return critic


def keep(number: int = 1) -> None:
    """Train a round, and keep the critic in the repository."""
    torch.set_num_threads(1)
    state = teach(frozen_actor(SEED + number, RESPONSES), number).model.state_dict()
    small = {name: value.to(torch.bfloat16) for name, value in state.items()}
    write_atomically(KEPT, save(small, metadata={"format": "pt"}))


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m recipes.genac_arithmetic.teaching", description=__doc__)
    parser.add_argument("--round", type=int, default=1, help="from 1 (default: 1)")
    keep(parser.parse_args().round)


if __name__ == "__main__":
    main()
