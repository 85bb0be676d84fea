"""A seed for each sample, whatever else is sampled with it."""

import hashlib
import json


def sample_seed(seed: int, task: str, problem: str, index: int) -> int:
    """A seed of 63 bits for one sample: it depends on nothing but these four.

    Args:
        seed: the evaluation's.
        task: the task's name.
        problem: the problem's id.
        index: which of the problem's samples.
    """
    about = json.dumps([seed, task, problem, index])
    return int.from_bytes(hashlib.sha256(about.encode()).digest()[:8], "little") >> 1
