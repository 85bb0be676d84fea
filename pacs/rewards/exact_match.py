"""The verifier of answers that are right to the letter, or not at all."""

from typing import Any

from pacs.rewards.extract import final_part, last_boxed
from pacs.rewards.verdict import verdict


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    ignore_case: bool = True,
    ignore_white_space: bool = True,
) -> dict[str, Any]:
    r"""Whether the last boxed answer is the ground truth.

    Args:
        data_source: unused; verl passes it.
        solution_str: the response.
        ground_truth: the right answer, without a box.
        extra_info: unused; verl passes it.
        ignore_case: `YES` is `yes`.
        ignore_white_space: any white space is one space, and none at the ends; without it, the ends alone count for
            nothing.

    Returns:
        The `verdict`; `no_answer` where nothing, or white space, is boxed.
    """

    def normalise(text: str) -> str:
        text = " ".join(text.split()) if ignore_white_space else text.strip()
        return text.casefold() if ignore_case else text

    predicted = last_boxed(final_part(solution_str))
    if not predicted:
        return verdict("no_answer")
    return verdict("correct" if normalise(predicted) == normalise(str(ground_truth)) else "wrong", predicted)
