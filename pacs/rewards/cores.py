"""How many answers a process grades at a time: the machine's cores, less one an engine, shared by all that grade there.

One rule in training (`reward.num_workers` processes) and in `pacs evaluate` (one).
"""

import os

#: One that takes long is not to hold up all.
FEWEST = 2

#: vLLM engines and grading processes of this machine, as far as this process has been told.
_here = {"engines": 1, "graders": 1}


def share_cores(*, engines: int, graders: int) -> None:
    """Say who else is on this machine, before the first answer is graded.

    Args:
        engines: of vLLM.
        graders: processes that grade, this one among them.
    """
    _here.update(engines=engines, graders=graders)


def cores_to_grade() -> int:
    """How many answers this process grades at a time."""
    return max(FEWEST, (len(os.sched_getaffinity(0)) - _here["engines"]) // _here["graders"])
