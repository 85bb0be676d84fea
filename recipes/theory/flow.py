"""Where a policy of 12 responses, 5 of them right, comes to by the expected update, for each period of resets.

The flows of the theory page are kept in flow.json as they come.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from pacs.algorithm import Method, Pacs
from pacs.algorithm.aggregated import Rloo
from pacs.base.terminal import print
from recipes.theory.enumeration import Groups, all_groups, log_softmax, sampled_gradient
from recipes.theory.kept import read_runs, write_runs

ANSWERS, RIGHT = 12, 5
LABELS = (torch.arange(ANSWERS) < RIGHT).double()

RESULTS = Path(__file__).with_name("flow.json")
PERIODS: tuple[int | None, ...] = (1, 20, 1000, None)
SETTINGS: dict[str, Any] = {"lr": 1.0, "updates": [100, 300, 1000, 3000, 10_000, 20_000], "updates_of_4": [3000]}


def start() -> torch.Tensor:
    """(A,) float64 logits of the first reference: normal, of a standard deviation of one half."""
    return 0.5 * torch.randn(ANSWERS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


class State(NamedTuple):
    """What (V, A) policies are, each (V,) float64 in nats but the pass rate.

    Attributes:
        pass_rate: p.
        entropy: of the policy.
        right_entropy: of the policy given a right response.
        kl: KL(policy given a right response, first reference given a right response).
    """

    pass_rate: torch.Tensor
    entropy: torch.Tensor
    right_entropy: torch.Tensor
    kl: torch.Tensor


def state(theta: torch.Tensor, first: torch.Tensor) -> State:
    """Of (V, A) logits, against (A,) logits of the first reference; responses 0 to 4 are right."""
    policy = log_softmax(theta)
    among, of_first = log_softmax(theta[:, :RIGHT]), log_softmax(first[:RIGHT])
    return State(
        policy[:, :RIGHT].exp().sum(dim=1),
        -(policy.exp() * policy).sum(dim=1),
        -(among.exp() * among).sum(dim=1),
        (among.exp() * (among - of_first)).sum(dim=1),
    )


def descend(
    method: Method,
    periods: Sequence[int | None],
    lr: float,
    groups: Groups,
    first: torch.Tensor,
    marks: Sequence[int],
    labels: torch.Tensor = LABELS,
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Plain gradient descent on the logits by the expected update; yields at each mark.

    Args:
        method: with its settings; its own reset is not read.
        periods: updates between resets, a policy each; None never resets.
        lr: learning rate.
        groups: that can be sampled.
        first: (A,) logits of the first policy and reference.
        marks: increasing numbers of updates after which to yield.
        labels: (A,).

    Yields:
        (V, A) logits and (V, A) logits of the references that the last update had.
    """
    theta = first.expand(len(periods), -1).clone()
    reference = theta.clone()
    for update in range(1, marks[-1] + 1):
        due = torch.tensor([period is not None and (update - 1) % period == 0 for period in periods])
        reference[due] = theta[due]
        theta = theta - lr * sampled_gradient(method, log_softmax(theta), log_softmax(reference), labels, groups)
        if update in marks:
            yield theta, reference.clone()


class Case(NamedTuple):
    """A method, and the size of its groups."""

    method: Method
    size: int
    periods: tuple[int | None, ...] = PERIODS


CASES = {
    "policy gradient (RLOO)": Case(Rloo(), 2, (1,)),
    "balanced, all groups": Case(Pacs(), 2),
    "balanced, mixed groups alone": Case(Pacs(single_class_groups="drop"), 2),
    "w = 1/q, all groups": Case(Pacs(objective="log_pass_rate"), 2),
    "w = 1/q, mixed groups alone": Case(Pacs(objective="log_pass_rate", single_class_groups="drop"), 2),
    "balanced, all groups, G = 4": Case(Pacs(), 4),
    "w = 1/q, all groups, G = 4": Case(Pacs(objective="log_pass_rate"), 4),
}


def run(file: Path = RESULTS) -> None:
    """Run what is missing: case -> period -> measure -> a value an update of the settings."""
    torch.set_num_threads(1)
    kept = read_runs(file, SETTINGS, CASES)
    for name, case in CASES.items():
        if kept["runs"][name]:
            continue
        marks = SETTINGS["updates" if case.size == 2 else "updates_of_4"]
        found: dict[str, dict[str, list[float]]] = {str(period): {} for period in case.periods}
        groups = all_groups(ANSWERS, case.size)
        for theta, _ in descend(case.method, case.periods, SETTINGS["lr"], groups, start(), marks):
            for measure, values in state(theta, start())._asdict().items():
                for period, value in zip(case.periods, values.tolist(), strict=True):
                    found[str(period)].setdefault(measure, []).append(round(value, 5))
        kept["runs"][name] = found
        write_runs(file, kept)
        print(name, flush=True)
