"""DARS's schedules: the numbers of the paper's code, and the formulas as it has them, by another way."""

from decimal import Decimal, getcontext

import pytest

from pacs.algorithm.dars import Schedule, extra_responses

getcontext().prec = 60


def labels(right: int, n: int) -> list[float]:
    return [1.0] * right + [0.0] * (n - right)


@pytest.mark.parametrize(("schedule", "extra"), [("equal", [27, 11, 3, 1, 0]), ("hardness", [56, 24, 8, 3, 0])])
def test_the_table_of_the_papers_code(schedule: Schedule, extra: list[int]) -> None:
    assert [extra_responses(labels(right, 8), schedule, 1000) for right in range(5)] == extra
    for most in (8, 9, 32, 64):
        capped = [min(each, most - 8) for each in extra]
        assert [extra_responses(labels(right, 8), schedule, most) for right in range(5)] == capped


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 16, 48])
def test_the_formulas_as_they_are_written(n: int) -> None:
    """dN = ceil((n/2 - n S)/S), and ceil((2(1-q) n/2 - n S)/S), S = 2q(1-q); 0 from q = 1/2 on."""
    for right in range(n + 1):
        q = Decimal(right) / n if right else Decimal("0.5") / n
        s = 2 * q * (1 - q)
        for schedule, wanted in (("equal", Decimal(n) / 2), ("hardness", (1 - q) * n)):
            extra = 0 if q >= Decimal("0.5") else int(round((wanted - n * s) / s, 40).__ceil__())
            assert extra_responses(labels(right, n), schedule, 10**9) == extra, (right, schedule)


def test_labels_between_0_and_1_count_as_so_much_of_a_right_one() -> None:
    assert extra_responses([0.25] * 8, "hardness", 1000) == 8
    assert extra_responses([0.01] * 8, "hardness", 1000) == 56  # no harder than none
    assert extra_responses([-3.0] * 7 + [5.0], "equal", 1000) == 11
