"""The verifier of answers that are right to the letter, or not at all."""

from typing import Any

from pacs.rewards.extract import BOXED, MAX_BOX_CHARS, answer_of, last_boxed
from pacs.rewards.reasoning import final_part
from pacs.rewards.verdict import verdict


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    unboxed: bool = False,
    ignore_case: bool = True,
    ignore_white_space: bool = True,
) -> dict[str, Any]:
    r"""Whether the last boxed answer is the ground truth.

    Args:
        data_source: unused; verl passes it.
        solution_str: the response.
        ground_truth: the right answer, without a box.
        extra_info: may say where the answer begins (`pacs.rewards.reasoning`).
        unboxed: as of the verifier of mathematics.
        ignore_case: `YES` is `yes`.
        ignore_white_space: any white space is one space, and none at the ends; without it, the ends alone count for
            nothing.

    Returns:
        The `verdict`; `no_answer` where nothing, or white space, is boxed; `error` for a ground truth with a
        `gold_problem`.
    """
    ground_truth = str(ground_truth)

    def normalise(text: str) -> str:
        text = " ".join(text.split()) if ignore_white_space else text.strip()
        return text.casefold() if ignore_case else text

    predicted = answer_of(final_part(solution_str, extra_info), unboxed)
    if not predicted:
        return verdict("no_answer")
    if gold_problem(ground_truth):
        return verdict("error", predicted)
    return verdict("correct" if normalise(predicted) == normalise(ground_truth) else "wrong", predicted)


def gold_problem(gold: str) -> str | None:
    """Why no response can meet this ground truth, in words for the user; None if one can. For preparing data."""
    if last_boxed(f"{BOXED}{{{gold}}}") == gold.strip() != "":
        return None
    return f"no box can hold it: it is empty, longer than {MAX_BOX_CHARS:,} characters, or its braces do not match"
