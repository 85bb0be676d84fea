"""A reward that an untrained model earns half of the time, graded in the verifier's own processes.

The gold answer is an integral, which pacs' verifier has carried out in a process that may be killed.
"""

from pacs.rewards.isolation import Limits
from pacs.rewards.math import grade

#: Long, since the machine may be busy: a label that depends on the clock would not be the same in both runs.
LIMITS = Limits(timeout_seconds=120.0)


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None) -> dict:
    total = sum(map(ord, solution_str)) % 900  # the verifier does not carry out what has long numbers
    answer = total if total % 2 == 0 else total + 1
    status = grade(str(answer), rf"\int_0^{{{total}}} 1 dx", LIMITS)
    return {"score": float(status == "correct"), "predicted": str(answer), "status": status}
