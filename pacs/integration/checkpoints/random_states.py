"""The random number generators of a process; those of the workers are in verl's own part of a checkpoint."""

import random
from typing import Any

import numpy as np
import torch


def random_states() -> dict[str, Any]:
    """The states of Python's, numpy's and torch's generators of this process."""
    return {"python": random.getstate(), "numpy": np.random.get_state(), "torch": torch.get_rng_state()}


def restore_random_states(states: dict[str, Any]) -> None:
    """Go on from what `random_states` gave."""
    random.setstate(states["python"])
    np.random.set_state(states["numpy"])
    torch.set_rng_state(states["torch"])
