"""The runs of a question on a task as they are compared: arm by arm, from the records alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from recipes.laboratory.plan import Choice, choose, jobs
from recipes.laboratory.questions import Question
from recipes.laboratory.records import Records
from recipes.laboratory.statistics import KS, Array, measures, rates

#: The k whose pass@k is set against pass@1, where there are the samples for it.
LARGE_K = 64
#: Of the costs of training, what an evaluation says of them, and by what it is divided.
COSTS = {"rollouts": ("rollouts", 1.0), "thousand tokens": ("tokens", 1e3), "minutes": ("seconds", 60.0)}


@dataclass(frozen=True)
class Compared:
    """An arm: how its learning rate was chosen, its finished runs, and which have failed.

    Attributes:
        name: of the arm.
        choice: of its learning rate.
        runs: seed -> `result` of the run that is compared.
        tuning: learning rate -> `result` of each finished run that chose.
        failed: seeds of the runs to be compared that failed, and are in no mean.
    """

    name: str
    choice: Choice
    runs: Mapping[int, Mapping[str, Any]]
    tuning: Mapping[float, list[Mapping[str, Any]]]
    failed: Sequence[int] = ()

    @property
    def ended(self) -> int:
        """Runs to be compared that finished or failed."""
        return len(self.runs) + len(self.failed)

    @cached_property
    def finals(self) -> dict[str, dict[int, float]]:
        """Measure -> seed -> its value at the end, with what training has cost."""
        found: dict[str, dict[int, float]] = {}
        for seed, result in self.runs.items():
            for name, value in point(result["evaluations"][-1]).items():
                found.setdefault(name, {})[seed] = value
        return found

    def of_band(self, places: Sequence[int], k: int) -> dict[int, float]:
        """Seed -> pass@k at the end, of the problems at these places."""
        ends = {seed: rates(result["evaluations"][-1], k) for seed, result in self.runs.items()}
        return {seed: float(each[list(places)].mean()) for seed, each in ends.items()}

    def table(self, k: int) -> Array:
        """(S, P) pass@k at the end of each seed and problem."""
        return np.array([rates(result["evaluations"][-1], k) for result in self.runs.values()])


@dataclass(frozen=True)
class Comparison:
    """All that a page tells of."""

    question: Question
    task: str
    arms: list[Compared]
    records: list[Mapping[str, Any]]  # all that the page rests on
    failures: list[tuple[str, Mapping[str, Any], bool]]  # what failed, its record, and whether it was finished later
    missing: int  # runs

    @property
    def with_runs(self) -> list[Compared]:
        """The arms that have finished runs to be compared."""
        return [arm for arm in self.arms if arm.runs]

    @property
    def with_ended(self) -> list[Compared]:
        """Those, and the arms whose runs have all failed."""
        return [arm for arm in self.arms if arm.ended]

    @property
    def from_the_start(self) -> bool:
        """Whether every run was evaluated before its training, too (`evaluate_every`)."""
        return all(run["evaluations"][0]["step"] == 0 for arm in self.with_runs for run in arm.runs.values())

    @property
    def bands(self) -> Mapping[str, Sequence[int]]:
        """Band -> the places of its problems, the same of all runs; there has to be one."""
        bands: Mapping[str, Sequence[int]] = next(iter(self.with_runs[0].runs.values()))["bands"]
        return bands

    @property
    def large_k(self) -> int:
        """`LARGE_K`, or the largest of `KS` that all runs have the samples for, also on the way."""
        evaluations = [e for arm in self.with_runs for result in arm.runs.values() for e in result["evaluations"]]
        least = min((evaluation["samples"] for evaluation in evaluations), default=LARGE_K)
        return max(k for k in KS if k <= min(least, LARGE_K))

    @property
    def ks(self) -> tuple[int, ...]:
        """The k of the pass@k that are compared: 1, and the large one where it is another."""
        return tuple(dict.fromkeys((1, self.large_k)))

    @property
    def shown(self) -> list[str]:
        """Their names."""
        return [f"pass@{k}" for k in self.ks]


def point(evaluation: Mapping[str, Any]) -> dict[str, float]:
    """The measures and the costs of one evaluation."""
    return measures(evaluation) | {name: evaluation[key] / unit for name, (key, unit) in COSTS.items()}


def compare(question: Question, task: str, records: Records) -> Comparison:
    """Collect what there is of a question's runs on a task."""
    runs: dict[str, dict[int, Mapping[str, Any]]] = {arm: {} for arm in question.arms}
    tuning: dict[str, dict[float, list[Mapping[str, Any]]]] = {arm: {} for arm in question.arms}
    failed: dict[str, list[int]] = {arm: [] for arm in question.arms}
    used: dict[str, Mapping[str, Any]] = {}
    failures: list[tuple[str, Mapping[str, Any], bool]] = []
    missing, listed = 0, set()
    for job in jobs(question, task, records.of):
        record = records.of(job.run) if job.ready else None
        finished = record is not None and record["state"] == "finished"
        for failure in records.failures(job.run) if job.ready else []:
            if (failure["key"], failure["date"]) not in listed:
                listed.add((failure["key"], failure["date"]))
                failures.append((f"{job.arm} ({job.stage})", failure, finished))
        if record is None:
            missing += 1
        elif finished:
            used[record["key"]] = record
            lr, seed = job.run.settings.lr, job.run.settings.seed
            if job.stage == "fresh":
                runs[job.arm][seed] = record["result"]
            else:
                tuning[job.arm].setdefault(lr, []).append(record["result"])
        elif job.stage == "fresh":
            failed[job.arm].append(job.run.settings.seed)
    arms = [
        Compared(name, choose(question, task, arm, records.of), runs[name], tuning[name], failed[name])
        for name, arm in question.arms.items()
    ]
    return Comparison(question, task, arms, list(used.values()), failures, missing)
