"""The toy with few prompts to train on, over and over: where a policy learns its prompts by heart.

Its runs, each method with each number of prompts in each world, are kept in few.json as they come.
"""

from pathlib import Path
from typing import Any

import torch

from pacs.base.terminal import print
from recipes.theory.kept import read_runs, write_runs
from recipes.theory.toy import BASE, base, rounded, train
from recipes.theory.toy import METHODS as OF_THE_TOY
from recipes.theory.toy_task import WORLDS as OF_THE_TOY_S
from recipes.theory.toy_task import World

RESULTS = Path(__file__).with_name("few.json")
#: `known`: the base policy knows most of what the features can tell, and chance decides more.
WORLDS = {"noisy": OF_THE_TOY_S["noisy"], "known": World(1.0, 0.7)}
METHODS = {
    name: OF_THE_TOY[name]
    for name in ("GRPO", "MaxRL", "PACS, balanced, K = 20", "PACS, balanced, never", "PACS, w = 1/q, never")
}
SETTINGS: dict[str, Any] = {
    "learning_rates": [0.03, 0.05, 0.1, 0.15, 0.3],
    "seeds": [0, 1, 2, 3, 4, 5],
    #: [prompts to train on, rollouts]; null: new prompts at each step
    "cases": [
        [16, 100_000],
        [32, 100_000],
        [64, 100_000],
        [128, 100_000],
        [512, 100_000],
        [None, 100_000],
        [64, 400_000],
        [None, 400_000],
    ],
}


def named(name: str, prompts: int | None, rollouts: int) -> str:
    """The key of a run."""
    return f"{name}; {prompts} prompts; {rollouts} rollouts"


def run(file: Path = RESULTS) -> None:
    """Run what is missing, each result written when it is there."""
    torch.set_num_threads(1)
    kept = read_runs(file, SETTINGS, WORLDS)
    for world, made in WORLDS.items():
        if BASE not in kept["runs"][world]:
            kept["runs"][world][BASE] = base(made, SETTINGS["seeds"])
            write_runs(file, kept)
    for prompts, rollouts in SETTINGS["cases"]:
        for world, made in WORLDS.items():
            for name, method in METHODS.items():
                runs, key = kept["runs"][world], named(name, prompts, rollouts)
                if key in runs:
                    continue
                found = train(method, made, SETTINGS["learning_rates"], SETTINGS["seeds"], rollouts, prompts)
                runs[key] = rounded(found)
                write_runs(file, kept)
                print(f"{world}: {key}", flush=True)
