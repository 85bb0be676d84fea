"""How many tokens a step with partial rollouts waits for, by following all responses of several steps.

Which prompts a step trains on is as in `integration/trainer/partial.py`: the oldest of those that are done, once there
are enough and none is left that would become too old. Engines are followed as one with the seats of all.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Steps that are followed; the first ones have not yet what later ones have from before.
STEPS, FIRST = 24, 8


@dataclass(frozen=True)
class Waiting:
    """Means over steps.

    Attributes:
        steps: decoding steps, a token each of all that is being written, of a training step.
        read_again: tokens that engines read again, behind their prompts, of responses that were broken off.
        staleness: of the prompts of a training step.
    """

    steps: float
    read_again: float
    staleness: float


def follow(responses: NDArray[np.int64], prompts: int, ahead: int, max_staleness: int, at_once: int) -> Waiting:
    """Follow responses whose lengths are those of a step, in another order in each step.

    Args:
        responses: tokens of each, (rows,), those of a prompt behind each other.
        prompts: of a step.
        ahead: prompts that are sampled beyond those.
        max_staleness: as `run.rollouts.partial.max_staleness`.
        at_once: responses that all engines together work on at a time.
    """
    dice, group = np.random.default_rng(0), len(responses) // prompts
    # Of the prompts that are being sampled, in the order of their age: tokens of each response, those that it lacks,
    # and the step in which the prompt was handed out.
    tokens = lacking = np.empty((0, group), dtype=np.int64)
    handed_out = np.empty(0, dtype=np.int64)
    found = []
    for step in range(STEPS):
        new = prompts + (ahead if step == 0 else 0)
        drawn = np.concatenate([dice.permutation(responses) for _ in range(-(-new // prompts))])
        drawn = drawn[: new * group].reshape(new, group)
        tokens, lacking = np.vstack([tokens, drawn]), np.vstack([lacking, drawn])
        handed_out = np.append(handed_out, np.full(new, step))
        read_again = int((tokens - lacking)[lacking > 0].sum()) if step else 0
        decoded = 0
        while True:
            done = (lacking == 0).all(axis=1)
            if done.sum() >= prompts and done[handed_out <= step - max_staleness].all():
                break
            running = np.flatnonzero(lacking)[:at_once]
            passed = int(lacking.flat[running].min())
            lacking.flat[running] -= passed
            decoded += passed
        taken = np.flatnonzero(done)[:prompts]
        found.append((decoded, read_again, float(np.mean(step - handed_out[taken]))))
        tokens, lacking = np.delete(tokens, taken, axis=0), np.delete(lacking, taken, axis=0)
        handed_out = np.delete(handed_out, taken)
    return Waiting(*map(float, np.mean(found[FIRST:], axis=0)))
