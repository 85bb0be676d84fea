"""The runs of `ranking.py`, kept in ranking.json as they come."""

from pathlib import Path
from typing import Any

import torch

from pacs.algorithm import Pacs, ReferenceConfig
from pacs.base.terminal import print
from recipes.theory.kept import read_runs, write_runs
from recipes.theory.ranking import train

RESULTS = Path(__file__).with_name("ranking.json")
PERIODS: dict[str, int | None] = {"1": 1, "5": 5, "20": 20, "100": 100, "never": None}
BETAS = {"1.0": 1.0, "0.1": 0.1}
#: Steps are the last before a reset of every period of more than one step.
SETTINGS: dict[str, Any] = {
    "learning_rates": [0.03, 0.1, 0.3],
    "seeds": list(range(12)),
    "steps": [20, 40, 100, 200, 400],
}


def run(file: Path = RESULTS) -> None:
    """Run what is missing: beta -> period -> measure -> a list a step of a list a learning rate of a value a seed."""
    torch.set_num_threads(1)
    kept = read_runs(file, SETTINGS, BETAS)
    for name, beta in BETAS.items():
        for period, reset_every in PERIODS.items():
            if period in kept["runs"][name]:
                continue
            method = Pacs(beta=beta, reference=ReferenceConfig(reset_every=reset_every))
            curve = train(method, SETTINGS["learning_rates"], SETTINGS["seeds"], SETTINGS["steps"])
            kept["runs"][name][period] = {
                measure: [[[round(value, 4) for value in lr] for lr in step] for step in values.tolist()]
                for measure, values in curve._asdict().items()
            }
            write_runs(file, kept)
            print(f"beta {name}, K {period}")
