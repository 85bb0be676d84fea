"""The toy's runs: each method in each world over learning rates and seeds, kept in toy.json as they come."""

from pathlib import Path
from typing import Any

import torch

from pacs.algorithm import Method, Pacs, ReferenceConfig
from pacs.algorithm.maxrl import MaxRl
from pacs.base.terminal import print
from recipes.theory.kept import read_runs, write_runs
from recipes.theory.rivals import Grpo, Rloo
from recipes.theory.toy_task import WORLDS, Task
from recipes.theory.toy_train import evaluate, together, train

RESULTS = Path(__file__).with_name("toy.json")
SETTINGS: dict[str, Any] = {
    "learning_rates": [0.03, 0.05, 0.07, 0.1, 0.15, 0.3, 0.6],
    "seeds": [0, 1, 2, 3, 4, 5],
    "rollouts": 100_000,
}


def _pacs(reset_every: int | None, **settings: Any) -> Pacs:
    return Pacs(reference=ReferenceConfig(reset_every=reset_every), **settings)


METHODS: dict[str, Method] = {
    "GRPO": Grpo(),
    "RLOO": Rloo(),
    "MaxRL": MaxRl(),
    "PACS, balanced, K = 20": _pacs(20),
    "PACS, balanced, never": _pacs(None),
    "PACS, w = 1/q, K = 20": _pacs(20, objective="log_pass_rate"),
    "PACS, w = 1/q, K = 100": _pacs(100, objective="log_pass_rate"),
    "PACS, w = 1/q, never": _pacs(None, objective="log_pass_rate"),
    "PACS, w = 1/q, never, beta = 0.25": _pacs(None, objective="log_pass_rate", beta=0.25),
}
BASE = "base policy"


def run(file: Path = RESULTS) -> None:
    """Run what is missing, each result written when it is there."""
    torch.set_num_threads(1)
    kept = read_runs(file, SETTINGS, WORLDS)
    for world, made in WORLDS.items():
        runs = kept["runs"][world]
        for name in (BASE, *METHODS):
            if name in runs:
                continue
            if name == BASE:
                tasks = [Task(made, seed) for seed in SETTINGS["seeds"]]
                held_out, base = together([task.held_out for task in tasks]), torch.stack([task.base for task in tasks])
                found = {measure: values.tolist() for measure, values in evaluate(held_out, base[None]).items()}
            else:
                found = train(METHODS[name], made, SETTINGS["learning_rates"], SETTINGS["seeds"], SETTINGS["rollouts"])
            runs[name] = {
                measure: [[round(value, 5) for value in line] for line in lines] for measure, lines in found.items()
            }
            write_runs(file, kept)
            print(f"{world}: {name}")
