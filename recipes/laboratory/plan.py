"""From a question to its runs: which there are, in which order, and what the runs that tune have chosen."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import product, zip_longest
from statistics import fmean
from typing import Any, Literal

from pacs.rewards.composite import RewardSettings
from pacs.runs.settings import DarsSettings, GuidedSettings, PoolSettings, VineSettings
from recipes.laboratory.evaluation import Evaluation
from recipes.laboratory.methods import resolved
from recipes.laboratory.questions import Arm, Question
from recipes.laboratory.settings import Settings
from recipes.laboratory.statistics import measures

Stage = Literal["tuning", "fresh"]
#: Sections of a method's options of which the loop here reads nothing but `update.correction`.
OF_THE_STACK = ("update", "metrics")
#: Sections of a run's settings that are as in `run.` of a config -> what they hold where nothing is said.
SECTIONS = {
    "dars": DarsSettings().model_dump(),
    "pool": PoolSettings().model_dump(),
    "vine": VineSettings().model_dump(),
    "guided": GuidedSettings().model_dump(),
    "reward": RewardSettings().model_dump(),
}
#: A run's record, as far as there is one.
Found = Callable[["Run"], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Run:
    """All that decides a run but the code and the bits of its start; no question's name is part of it."""

    task: str
    start_seed: int
    settings: Settings
    evaluation: Evaluation

    def asked(self) -> dict[str, Any]:
        """It as JSON, with every setting of its method that acts, also those at their defaults: these may change."""
        every = resolved(self.settings)
        options = {name: value for name, value in every.items() if name not in OF_THE_STACK}
        correction = every["update"]["correction"]
        if (self.settings.staleness or self.settings.guided) and (correction["kind"] or correction["sequence_cap"]):
            options["update"] = {"correction": correction}
        weight = options.pop("token_weight")
        if (name := weight["name"]) is not None:  # the other weights' settings decide nothing
            options["token_weight"] = {"name": name, name: weight[name]}
        settings = {**asdict(self.settings), "options": options}
        settings |= {name: _as_said(settings[name], defaults) for name, defaults in SECTIONS.items()}
        for name in (*SECTIONS, "adapters", "graded_by", "train_answer", "mini_batches", "teacher"):
            if not settings[name]:  # an empty section, too, is off
                del settings[name]
        settings = {name: "inf" if value == float("inf") else value for name, value in settings.items()}
        evaluation = asdict(self.evaluation)
        return {"task": self.task, "start_seed": self.start_seed, "settings": settings, "evaluation": evaluation}

    def rollouts(self) -> int:
        """Responses that it samples, to train and to be evaluated: what its time goes into."""
        settings, evaluation = self.settings, self.evaluation
        # Before the first step, and after every so many but the last.
        between = 1 + (settings.steps - 1) // settings.evaluate_every if settings.evaluate_every else 0
        evaluated = evaluation.problems * (evaluation.samples + between * evaluation.samples_between)
        return self.training_rollouts() + evaluated

    def training_rollouts(self) -> int:
        """Responses that its steps ask for; a method that replaces some of them samples more."""
        return self.settings.steps * self.settings.prompts * self.settings.responses


def _as_said(section: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A section with "null" and "0" as texts where its default is another: left out, they would be that one."""
    said = {}
    for name, value in section.items():
        if isinstance(value, Mapping):
            value = _as_said(value, defaults[name])
        elif (value is None or value == 0) and value != defaults[name]:
            value = json.dumps(value)
        said[name] = value
    return said


@dataclass(frozen=True)
class Job:
    """A run as a question wants it."""

    run: Run
    arm: str
    stage: Stage
    ready: bool = True  # False: its learning rate is not chosen yet, and that of `run` stands for it


@dataclass(frozen=True)
class Choice:
    """Of the learning rate of an arm.

    Attributes:
        lr: the chosen one; None: the runs that choose are not all there, or of every rate some run failed.
        complete: whether they are all there, finished or failed.
        values: learning rate -> the criterion of each tuning seed; None where the run failed or is not there.
        states: learning rate -> the state of each of these runs: finished, failed, or missing.
    """

    lr: float | None
    complete: bool
    values: Mapping[float, list[float | None]]
    states: Mapping[float, list[str]]

    @property
    def edge(self) -> str:
        """`lowest` or `highest` where the chosen rate is the first or the last of several, else nothing."""
        rates = list(self.values)
        if self.lr is None or len(rates) < 2 or self.lr not in (rates[0], rates[-1]):
            return ""
        return "lowest" if self.lr == rates[0] else "highest"


def tuning_run(question: Question, task: str, arm: Arm, lr: float, seed: int) -> Run:
    """A run that helps to choose."""
    tuning = arm.tuning
    settings = replace(tuning.settings, **tuning.task_settings.get(task, {}))
    # What is evaluated on the way decides nothing here.
    settings = replace(settings, evaluate_every=0, lr=lr, seed=seed)
    return Run(task, question.start_seed(seed), settings, tuning.evaluation)


def fresh_run(question: Question, task: str, arm: Arm, lr: float, seed: int) -> Run:
    """A run that is compared."""
    settings = replace(arm.settings, **question.task_settings.get(task, {}), lr=lr, seed=seed)
    return Run(task, question.start_seed(seed), settings, question.evaluation)


def choose(question: Question, task: str, arm: Arm, found: Found) -> Choice:
    """The learning rate with the highest mean of the criterion over the tuning seeds, of equal ones the lowest.

    As long as the highest rate is the best, the next of `Tuning.further` belongs to the grid, too. The two best rates
    are then tried with the seeds of `Tuning.best_two` besides, and the better one of them over all its seeds is chosen.
    A rate with a run that failed is not chosen.
    """
    tuning = arm.tuning
    if len(tuning.lr) == 1:
        return Choice(tuning.lr[0], True, {tuning.lr[0]: []}, {tuning.lr[0]: []})
    values: dict[float, list[float | None]] = {lr: [] for lr in tuning.lr}
    states: dict[float, list[str]] = {lr: [] for lr in tuning.lr}

    def look(rates: Iterable[float], seeds: Iterable[int]) -> None:
        for lr, seed in product(rates, seeds):
            record = found(tuning_run(question, task, arm, lr, seed))
            state = "missing" if record is None else str(record["state"])
            values.setdefault(lr, []).append(
                criterion_of(record, tuning.criterion) if record and state == "finished" else None
            )
            states.setdefault(lr, []).append(state)

    def best() -> list[float]:
        """Rates from the best on; none until all runs are there that are known of."""
        if any("missing" in each for each in states.values()):
            return []
        means = {lr: fmean(v for v in each if v is not None) for lr, each in values.items() if None not in each}
        return sorted(means, key=means.__getitem__, reverse=True)

    look(tuning.lr, tuning.seeds)
    for lr in tuning.further:
        if best()[:1] != [max(values)]:
            break
        look([lr], tuning.seeds)
    two = best()[:2]
    if len(two) == 2:
        look(two, tuning.best_two)
    chosen = next((lr for lr in best() if lr in two), next(iter(best()), None))
    return Choice(chosen, not any("missing" in each for each in states.values()), values, states)


def _tuning_seeds(arm: Arm) -> list[int]:
    """In the order in which `Choice.values` has them."""
    return [*arm.tuning.seeds, *arm.tuning.best_two]


def criterion_of(record: Mapping[str, Any], criterion: str) -> float:
    """A measure of a finished run's last evaluation."""
    return measures(record["result"]["evaluations"][-1])[criterion]


def jobs(question: Question, task: str, found: Found) -> Iterator[Job]:
    """All runs of a question as far as they are known, in the order that makes the most of being cut short.

    Tuning comes first, of all arms with the first seed, then with the second; then the runs that are compared, one seed
    after the other over all arms. An arm of which no learning rate can be chosen has none of these.
    """
    arms = question.arms.values()
    choices = {arm.name: choose(question, task, arm, found) for arm in arms}
    for turn in zip_longest(*map(_tuning_seeds, arms)):
        for arm, seed in zip(arms, turn, strict=True):
            for lr, tried in choices[arm.name].values.items():
                if seed in _tuning_seeds(arm)[: len(tried)]:
                    yield Job(tuning_run(question, task, arm, lr, seed), arm.name, "tuning")
    for seed in question.seeds:
        for arm in arms:
            choice = choices[arm.name]
            if choice.lr is not None or not choice.complete:
                lr = choice.lr or arm.tuning.lr[0]
                yield Job(fresh_run(question, task, arm, lr, seed), arm.name, "fresh", choice.lr is not None)
