"""A gold answer, what it is met by, and what comes near it: how the tables of the verifier's tests are held."""

from collections.abc import Iterable

from pacs.rewards.math import gold_problem, grade


def assert_met_by(gold: str, met: Iterable[str], not_met: Iterable[str]) -> None:
    """The gold can be read; it and each of `met` are right, and none of `not_met` is."""
    assert gold_problem(gold) is None
    assert [answer for answer in [gold, *met] if grade(answer, gold) != "correct"] == []
    assert [answer for answer in not_met if grade(answer, gold) == "correct"] == []
