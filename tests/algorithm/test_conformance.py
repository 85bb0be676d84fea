"""The test kit for methods: PACS in all its settings passes, and each promise that a method breaks is named."""

from collections.abc import Callable
from itertools import product

import pytest
import torch

from pacs.algorithm import Method, Pacs, Rows, check_method

from .naive import WEIGHTS

ESTIMATORS = ("rloo", "grpo", "dr_grpo", "none")


@pytest.mark.parametrize(("estimator", "weights"), product(ESTIMATORS, WEIGHTS))
def test_pacs_passes(estimator: str, weights: tuple[str, str]) -> None:
    objective, scope = weights
    check_method(Pacs(estimator=estimator, objective=objective, weight_scope=scope))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_pacs_passes_with_its_other_settings(estimator: str) -> None:
    check_method(Pacs(estimator=estimator, normalize_by_length=True, single_class_groups="drop", beta=0.3), seed=1)
    check_method(Pacs(estimator=estimator, policy_gradient_term=True), detached=True, seed=2)


class Squared(Method):
    """(r_i - R_i)^2, with r_i = beta * log-ratio."""

    beta: float = 1.0

    def losses(self, rows: Rows) -> torch.Tensor:
        return (self.beta * rows.log_ratios - rows.labels) ** 2


def test_a_method_of_one_s_own_passes() -> None:
    check_method(Squared())
    check_method(Squared(beta=0.1), seed=1)


def method(losses: Callable[[Rows], torch.Tensor]) -> Method:
    class Planted(Method):
        def losses(self, rows: Rows) -> torch.Tensor:
            return losses(rows)

    return Planted()


BROKEN = {
    "finite differences": lambda rows: rows.log_ratios * rows.log_ratios.detach(),
    "micro-batches of whole groups": lambda rows: (rows.log_ratios - rows.log_ratios.mean()) ** 2,
    "the order of rows": lambda rows: (
        rows.log_ratios * rows.groups.index.diff(prepend=rows.groups.index[:1] - 1).sign()
    ),
    "stays in its group": lambda rows: rows.log_ratios**2 * (1 + 0 * rows.log_ratios.sum().detach()),
    "about the gradient of float64": lambda rows: (rows.log_ratios * 3e3).sin() / 3e3,
}


@pytest.mark.parametrize("promise", BROKEN)
def test_a_promise_that_is_broken_is_named(promise: str) -> None:
    with pytest.raises(AssertionError, match=promise):
        check_method(method(BROKEN[promise]))
