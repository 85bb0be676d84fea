"""What every verifier returns, in the form that verl takes; and whether it grades at all.

One that fails on everything looks like a policy that is always wrong.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, get_args

#: `unevaluated`: an answer that still has to be calculated where a value was asked for; it scores 0. `graded`: a score
#: between right and wrong.
Status = Literal["correct", "wrong", "unevaluated", "graded", "no_answer", "timeout", "error"]
#: Those of an evaluation, which counts right and wrong responses.
CLASSES: Final = tuple(status for status in get_args(Status) if status != "graded")

#: The most of an answer that is reported.
PREDICTED_CHARS: Final = 256


def verdict(status: Status, predicted: str = "") -> dict[str, Any]:
    """A verifier's result: `score` (1.0 if correct, else 0.0), `predicted` (the answer, in part), `status`."""
    # What is not valid Unicode would break whoever writes it down.
    shown = predicted[:PREDICTED_CHARS].encode(errors="replace").decode()
    return {"score": 1.0 if status == "correct" else 0.0, "predicted": shown, "status": status}


def verdict_score(info: Mapping[str, Any], reward: float) -> float:
    """The reward function's own score where verl kept it, else the reward, whatever was added to that.

    Args:
        info: what was said of a response; a function that returns a number alone has it kept by verl as `acc`.
        reward: of the response, shaped or not.
    """
    score = info.get("score", info.get("acc"))
    return float(reward if score is None else score)


#: Statuses of responses that were not graded, whatever their score.
NOT_GRADED = ("error", "timeout")
EXAMPLES = 3


class VerifierFailure(RuntimeError):
    """The verifier could not grade more of a batch than it may."""


def check_graded(infos: Sequence[dict[str, Any]], most: float) -> None:
    """Stop a run whose verifier does not work, before it is trained on its labels.

    Args:
        infos: what the verifier said of each response of a batch: `status` and `predicted`; one that gives no status
            cannot be checked.
        most: the share of them that may have a status of `NOT_GRADED`, 0 to 1.

    Raises:
        VerifierFailure: It is more.
    """
    failed = [info for info in infos if info.get("status") in NOT_GRADED]
    if len(failed) <= most * len(infos):
        return
    counts = ", ".join(f"{count} {status}" for status, count in Counter(info["status"] for info in failed).items())
    answers = "; ".join(repr(str(info.get("predicted", ""))) for info in failed[:EXAMPLES])
    raise VerifierFailure(
        f"the verifier could not grade {len(failed)} of {len(infos)} responses ({counts}), more than "
        f"run.faults.verifier_errors={most:g}; the first answers: {answers}. If the gold answers can be "
        "parsed (`pacs data prepare` drops those that cannot) and the machine is not overloaded, raise "
        "+reward.custom_reward_function.reward_kwargs.math.timeout_seconds, or this share."
    )
