"""When a run's verifier is taken for broken."""

import pytest

from pacs.rewards.verdict import VerifierFailure, check_graded


def infos(**counts: int) -> list[dict[str, str]]:
    return [{"status": status, "predicted": f"{status} {i}"} for status, count in counts.items() for i in range(count)]


@pytest.mark.parametrize(
    ("batch", "most"),
    [
        (infos(correct=5, wrong=5), 0.0),
        (infos(wrong=9, error=1), 0.1),
        (infos(no_answer=10), 0.0),
        (infos(error=10), 1.0),
        ([{}] * 10, 0.0),
        ([], 0.0),
    ],
)
def test_a_verifier_that_works(batch: list[dict[str, str]], most: float) -> None:
    check_graded(batch, most)


def test_one_that_does_not_is_described() -> None:
    with pytest.raises(VerifierFailure) as failure:
        check_graded(infos(correct=6, error=3, timeout=1), 0.3)
    said = str(failure.value)
    assert "4 of 10 responses (3 error, 1 timeout)" in said
    assert "run.faults.verifier_errors=0.3" in said
    assert "'error 0'; 'error 1'; 'error 2'." in said
