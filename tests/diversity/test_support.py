"""Kept, gained, lost: by hand, and the metrics as the paper's own tables have them."""

import math

import pytest

from pacs.diversity.curves import along
from pacs.diversity.folders import marks_of
from pacs.diversity.support import Support, entropies_of, sign_test, threshold, together
from pacs.evaluation.sample import GradedTask
from tests.diversity.folders import Response, make_task

RIGHT, WRONG = Response("r"), Response("w", "wrong", "8")


def support(base: GradedTask, model: GradedTask, k: int, least: int = 1) -> Support:
    return along("sums", marks_of(base), {"model": marks_of(model)}, [k], least).at[k].points["model"].support


def of_counts(kept: int, gained: int, lost: int, neither: int) -> Support:
    return Support(*(tuple(map(str, range(count))) for count in (kept, gained, lost, neither)))


@pytest.mark.parametrize(
    ("counts", "rates"),
    [
        # arXiv 2507.14843, Tables 1, 3 and 12: P, E, S, O; SRR, NDR, SDS, NSCR as printed.
        ((2685, 26, 86, 607), (0.97, 0.01, 0.02, -0.02)),
        # ProRL-1.5B-v1 of Table 1: math and non-math, which `test_prorl_v1_as_printed` has together.
        ((1355, 5, 56, 131), (0.96, 0.00, 0.01, -0.04)),
        ((1045, 31, 107, 674), (0.91, 0.03, 0.06, -0.06)),
        ((2388, 48, 175, 793), (0.93, 0.02, 0.04, -0.05)),
        ((761, 83, 104, 599), (0.88, 0.10, 0.18, -0.02)),
        ((15, 4, 4, 7), (0.789, 0.211, 0.332, 0.000)),
        ((37, 0, 3, 0), (0.925, 0.000, 0.000, -0.075)),
        ((40, 0, 0, 0), (1.000, 0.000, 0.000, 0.000)),
        ((154, 28, 18, 72), (0.895, 0.154, 0.263, 0.050)),
        ((4, 2, 3, 21), (0.571, 0.333, 0.421, -0.111)),
    ],
)
def test_the_metrics_of_the_paper(counts: tuple[int, ...], rates: tuple[float, ...]) -> None:
    found = of_counts(*counts)
    assert tuple(found.metrics.values()) == pytest.approx(rates, abs=0.0051 if counts[0] > 500 else 0.00051)


def test_prorl_v1_as_printed() -> None:
    """Table 1, overall: SRR .94, NDR .02, SDS .03, NSCR -.05. 36 / 2436 is .0148, which the paper prints as .02."""
    overall = together([of_counts(1355, 5, 56, 131), of_counts(1045, 31, 107, 674)])
    assert tuple(map(len, overall)) == (2400, 36, 163, 805)
    assert tuple(overall.metrics.values()) == pytest.approx((2400 / 2563, 36 / 2436, 0.0291, -127 / 2599), abs=1e-4)
    printed = {"SRR": 0.94, "SDS": 0.03, "NSCR": -0.05}
    assert {name: round(value or 0, 2) for name, value in overall.metrics.items() if name != "NDR"} == printed
    assert overall.metrics["NDR"] == pytest.approx(0.02, abs=0.0053)


@pytest.mark.parametrize("gained", range(12))
@pytest.mark.parametrize("lost", [0, 1, 2, 5, 30])
def test_the_sign_test_counts_splits_as_uneven(gained: int, lost: int) -> None:
    changed = gained + lost
    uneven = sum(math.comb(changed, up) for up in range(changed + 1) if abs(2 * up - changed) >= abs(gained - lost))
    assert sign_test(gained, lost) == pytest.approx(uneven / 2**changed, rel=1e-9)


def test_as_many_right_samples_as_are_asked_for() -> None:
    base = make_task({"a": [RIGHT, RIGHT, WRONG], "b": [RIGHT, WRONG, RIGHT], "c": [RIGHT, WRONG, WRONG]})
    model = make_task({"a": [RIGHT, WRONG, RIGHT], "b": [WRONG, WRONG, RIGHT], "c": [RIGHT, RIGHT, RIGHT]})
    assert support(base, model, 3, least=2) == Support(("a",), ("c",), ("b",), ())
    assert support(base, model, 2, least=2) == Support((), ("c",), ("a",), ("b",))


def test_what_is_not_defined_is_absent() -> None:
    nothing = of_counts(0, 0, 0, 5)
    assert tuple(nothing.metrics.values()) == (None,) * 4
    only_lost = of_counts(0, 0, 2, 0)
    assert tuple(only_lost.metrics.values())[:3] == (0.0, None, None)
    exchanged = of_counts(0, 2, 2, 0)
    assert tuple(exchanged.metrics.values())[:3] == (0.0, 1.0, 0.0)


def test_problems_are_sorted_by_who_solves_them_within_k() -> None:
    base = make_task({"a": [WRONG, RIGHT], "b": [RIGHT, WRONG], "c": [WRONG, WRONG], "d": [WRONG, WRONG]})
    model = make_task({"a": [RIGHT, WRONG], "b": [WRONG, WRONG], "c": [WRONG, RIGHT], "d": [WRONG, WRONG]})
    assert support(base, model, 1) == Support((), ("a",), ("b",), ("c", "d"))
    assert support(base, model, 2) == Support(("a",), ("c",), ("b",), ("d",))
    assert together([support(base, model, 1), support(base, model, 2)]).lost == ("b", "b")


def test_the_first_k_samples_decide_the_entropies() -> None:
    base = make_task({"a": [WRONG, WRONG, RIGHT]})
    model = make_task({"a": [RIGHT, WRONG, WRONG]})
    found = entropies_of(base, model, 2)
    assert found["answer_entropy"].base.mean == 0
    assert found["answer_entropy"].model.mean == pytest.approx(0.6931, abs=1e-4)
    assert "token_entropy" not in found


def test_what_is_counted_is_of_as_many_samples_as_the_largest_k() -> None:
    """Whatever the order of the ks, and of both models; more samples are there, and not read."""
    base = make_task({"a": [WRONG, RIGHT, RIGHT, RIGHT], "b": [WRONG] * 4})
    model = make_task({"a": [RIGHT, RIGHT, WRONG, RIGHT], "b": [RIGHT, RIGHT, RIGHT, WRONG]})
    found = along("sums", marks_of(base), {"model": marks_of(model)}, [3, 1])
    assert found.right == {"a": [2, 2], "b": [0, 3]}
    assert found.k == 3


@pytest.mark.parametrize("recorded", [(0.5, None), (None, 0.25), (0.5, 0.25)])
def test_an_entropy_that_one_model_lacks_is_compared_with_nothing(recorded: tuple[float | None, float | None]) -> None:
    base, model = (make_task({"a": [Response("r", token_entropy=entropy)] * 2}) for entropy in recorded)
    found = entropies_of(base, model, 2)
    assert found.keys() == {"answer_entropy", "token_entropy"} - ({"token_entropy"} if None in recorded else set())
    if None not in recorded:
        one = found["token_entropy"]
        assert (one.base.mean, one.model.mean, one.difference.mean) == (0.5, 0.25, -0.25)


def test_the_threshold() -> None:
    """The paper's example: 3.66e-4 at k = 8192."""
    assert threshold(8192) == pytest.approx(3.66e-4, abs=1e-6)
    for k in (1, 2, 8, 128):
        assert (1 - threshold(k)) ** k == pytest.approx(0.05)


@pytest.mark.parametrize(("k", "least"), [(2, 2), (8, 2), (8, 3), (128, 5)])
def test_the_threshold_of_several_right_samples(k: int, least: int) -> None:
    """A likelier problem has fewer right samples with a probability below zeta: the binomial's sum."""
    epsilon = threshold(k, least)
    fewer = sum(math.comb(k, right) * epsilon**right * (1 - epsilon) ** (k - right) for right in range(least))
    assert fewer == pytest.approx(0.05)
