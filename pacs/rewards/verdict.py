"""What every verifier returns, in the form that verl takes."""

from typing import Any, Final, Literal

#: `unevaluated`: an answer that still has to be calculated where a value was asked for; it scores 0.
Status = Literal["correct", "wrong", "unevaluated", "no_answer", "timeout", "error"]

#: The most of an answer that is reported.
PREDICTED_CHARS: Final = 256


def verdict(status: Status, predicted: str = "") -> dict[str, Any]:
    """A verifier's result: `score` (1.0 if correct, else 0.0), `predicted` (the answer, in part), `status`."""
    # What is not valid Unicode would break whoever writes it down.
    shown = predicted[:PREDICTED_CHARS].encode(errors="replace").decode()
    return {"score": 1.0 if status == "correct" else 0.0, "predicted": shown, "status": status}
