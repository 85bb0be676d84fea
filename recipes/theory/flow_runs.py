"""The flows of the theory page, kept in flow.json as they come: 12 responses, 5 right."""

from pathlib import Path
from typing import Any, NamedTuple

import torch

from pacs.algorithm import Method, Pacs
from pacs.base.terminal import print
from recipes.theory.enumeration import all_groups
from recipes.theory.flow import ANSWERS, descend, start, state
from recipes.theory.kept import read_runs, write_runs
from recipes.theory.rivals import Rloo

RESULTS = Path(__file__).with_name("flow.json")
PERIODS: tuple[int | None, ...] = (1, 20, 1000, None)
SETTINGS: dict[str, Any] = {"lr": 1.0, "updates": [100, 300, 1000, 3000, 10_000, 20_000], "updates_of_4": [3000]}


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
        print(name)
