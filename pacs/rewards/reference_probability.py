"""The verifier of answers that no rule can judge: how probable the reference answer is behind a response's reasoning.

RLPR (arXiv 2506.18254). The run measures (`pacs.integration.patches.reference_answers`); this gives the score.
"""

import math
from collections.abc import Mapping
from typing import Any

from pacs.rewards.reference_answer import MEASURED, NAME, OPENS
from pacs.rewards.verdict import verdict


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    opens: str = OPENS,
    baseline: bool = True,
) -> dict[str, Any]:
    r"""How much more probable than at first the reference answer is: max(p - p_0, 0).

    p is the mean probability of its tokens behind the response's reasoning, p_0 the same of the initial policy behind
    the bare prompt.

    Args:
        data_source, solution_str: unused; verl passes them.
        ground_truth: the reference answer, without what opens it.
        extra_info: of the row, with what the run has measured.
        opens: what opens an answer, `\boxed{` or `<answer>`; read by the run.
        baseline: subtract p_0, which `pacs data baseline` has written beside the data; read by the run.

    Returns:
        The `verdict`, of the status `graded`, with p as `probability` and p_0 as `baseline`; `no_answer` where the
        response opens no answer behind its reasoning, or the reference answer has no room there; `error` where a number
        is none.

    Raises:
        ValueError: nothing was measured, as outside of a run.
    """
    measured = (extra_info or {}).get(MEASURED)
    if measured is None:
        raise ValueError(
            f"extra_info.verifier={NAME}: a training run alone measures what it grades by (pacs train, with its own "
            "agent loops): name a verifier that reads the answer, as exact_match, in the rows of this file"
        )
    numbers = {"probability": measured["probability"] or 0.0, "baseline": measured["baseline"]}
    if measured["probability"] is None:
        return verdict("no_answer") | numbers
    score = measured["probability"] - measured["baseline"]
    if not math.isfinite(score):
        return verdict("error", str(numbers))
    return verdict("graded") | {"score": min(max(score, 0.0), 1.0)} | numbers


def settings_of(reward_kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """`opens` and `baseline` of a run.

    Args:
        reward_kwargs: settings of verifiers by their names, as `pacs.rewards.registry.compute_score` takes them.
    """
    return {**(compute_score.__kwdefaults__ or {}), **(reward_kwargs.get(NAME) or {})}


def gold_problem(gold: str) -> str | None:
    """Why nothing can be measured with this reference answer, in words for the user; None if something can."""
    return None if gold.strip() else "it is empty"
