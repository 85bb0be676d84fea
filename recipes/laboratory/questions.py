"""Questions: files of questions/ that say which runs answer them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError, did_you_mean
from recipes.laboratory.evaluation import Evaluation
from recipes.laboratory.question_file import NOT_SET_HERE, load, refuse_unknown
from recipes.laboratory.settings import Settings

FOLDER = Path(__file__).parent / "questions"
#: What an arm may say beside the settings of its runs.
ARM_KEYS = ("lr", "lr_from", "compare_with")


@dataclass(frozen=True)
class Tuning:
    """How the learning rate of an arm is chosen."""

    lr: tuple[float, ...]  # to choose from, ascending; of a single one nothing is run
    further: tuple[float, ...]  # above them, ascending: each is tried as long as the highest so far is the best
    seeds: tuple[int, ...]  # of the runs that choose, none of which is compared with anything else
    best_two: tuple[int, ...]  # seeds by which the two best rates are tried once more
    criterion: str  # a measure of the evaluation at the end; the highest mean over the seeds is chosen
    evaluation: Evaluation
    settings: Settings  # of these runs
    task_settings: Mapping[str, Mapping[str, Any]]  # task -> what is otherwise there


@dataclass(frozen=True)
class Arm:
    """One of the things that are compared."""

    name: str
    settings: Settings  # of its runs; lr and seed are set by run
    tuning: Tuning
    stated: Mapping[str, Any]  # what the file says of it
    compare_with: tuple[str, ...] = ()  # arms, not the baselines


@dataclass(frozen=True)
class Question:
    """What is compared, on which tasks, over which seeds."""

    name: str
    title: str
    about: str  # the comment on top of the file
    tasks: tuple[str, ...]
    settings: Mapping[str, Any]  # of all arms that do not say otherwise, as the file has them
    task_settings: Mapping[str, Mapping[str, Any]]  # task -> those that are others there, of all arms
    evaluation: Evaluation
    seeds: tuple[int, ...]
    arms: Mapping[str, Arm]
    baselines: tuple[str, ...]  # arms that each other one is compared with, but for what it says itself
    pairs: bool  # whether runs of the same seed are compared as pairs
    own_starts: bool  # whether each seed has a start of its own, made with that seed; else all begin at start 0
    bar: tuple[str, float] | None  # a measure, and what each seed is to reach in it

    def start_seed(self, seed: int) -> int:
        """Of the start that a run with `seed` begins at."""
        return seed if self.own_starts else 0

    def first_against(self, name: str) -> str:
        """The arm that tables of documents mark a difference of this one from."""
        return (self.arms[name].compare_with or self.baselines)[0]

    def against(self) -> dict[str, list[str]]:
        """Arm -> those that are compared with it; two baselines are compared once, under the first of them."""
        found: dict[str, list[str]] = {base: [] for base in self.baselines}
        for name, arm in self.arms.items():
            before = self.baselines[: self.baselines.index(name)] if name in self.baselines else self.baselines
            for base in arm.compare_with or before:
                found.setdefault(base, []).append(name)
        return {base: names for base, names in found.items() if names}


def names() -> list[str]:
    """Of all questions."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def read(name: str) -> Question:
    """The question of a file of `FOLDER` by its name, or of any file by its path.

    Raises:
        UserError: there is none of that name, or the file says something that cannot be run.
    """
    file, content = file_of(name), _content(name)
    name = file.stem
    arms = {arm: _arm(name, content, arm, stated or {}) for arm, stated in content["arms"].items()}
    _check_comparisons(f"questions/{name}.yaml", content["baselines"], arms)
    _check_seeds_differ(f"questions/{name}.yaml", content["seeds"], arms)
    text = file.read_text(encoding="utf-8")
    about = [line[1:].strip() for line in text.splitlines() if line.startswith("#")]
    return Question(
        name=name,
        title=content["title"],
        about="\n".join(about),
        tasks=tuple(content["tasks"]),
        settings=content["settings"],
        task_settings=content.get("task_settings", {}),
        evaluation=_evaluation(f"questions/{name}.yaml: evaluation", content["evaluation"]),
        seeds=tuple(content["seeds"]),
        arms=arms,
        baselines=tuple(content["baselines"]),
        pairs=content.get("pairs", False),
        own_starts=content.get("own_starts", False),
        bar=(bar["measure"], bar["at_least"]) if (bar := content.get("bar")) else None,
    )


def file_of(name: str) -> Path:
    """The file of a question, by the name of one of ours or by the path of any other."""
    return Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"


def _content(name: str) -> dict[str, Any]:
    """A question file's content."""
    file = file_of(name)
    if file.parent != FOLDER:
        if not file.is_file():
            raise UserError(f"{name}: there is no such file: give a question's file, or one of {', '.join(names())}")
        if file.stem in names():
            raise UserError(f"{name} has the name of a question that is there: rename it, its records go by that name")
    elif name not in names():
        raise UserError(
            f"there is no question {name}: choose one of {', '.join(names())}, or give a .yaml."
            f"{did_you_mean(name, names())}"
        )
    return load(file)


def _check_seeds_differ(where: str, seeds: list[int], arms: Mapping[str, Arm]) -> None:
    for tuning in [arm.tuning for arm in arms.values()]:
        if set(seeds) & {*tuning.seeds, *tuning.best_two}:
            raise UserError(f"{where}: a seed is both of tuning and of seeds: take others for one of them")
        if set(tuning.seeds) & set(tuning.best_two):
            raise UserError(
                f"{where}: a seed is both of tuning.seeds and of tuning.best_two: take others for one of them"
            )


def _check_comparisons(where: str, baselines: Any, arms: Mapping[str, Arm]) -> None:
    names = [name for name in baselines if isinstance(name, str)] if isinstance(baselines, list) else []
    if names != baselines or len({*names}) < len(names):
        raise UserError(
            f"{where}: baselines {baselines} is no list of different arms: write it like [{next(iter(arms))}]"
        )
    for name in baselines:
        if name not in arms:
            raise UserError(f"{where}: baseline {name} is none of its arms: {', '.join(arms)}")
    for arm in arms.values():
        for name in arm.compare_with:
            if name not in set(arms) - {arm.name}:
                raise UserError(f"{where}: arm {arm.name}: compare_with {name} is none of the other arms")


def _arm(question: str, content: Mapping[str, Any], name: str, stated: Mapping[str, Any]) -> Arm:
    """An arm, with the tuning of its own or of the arm that `lr_from` names."""
    where = f"questions/{question}.yaml: arm {name}"
    settings, compare_with = _settings(where, content, stated), _names(where, stated.get("compare_with", []))
    if "lr_from" not in stated:
        return Arm(name, settings, _tuning(where, content, stated, settings), stated, compare_with)
    if "lr" in stated:
        raise UserError(f"{where} has both lr and lr_from: leave one out")
    other_question, _, other = str(stated["lr_from"]).partition("/")
    content_there = content if other_question == question else _content(other_question)
    other = other or name
    if other not in content_there["arms"]:
        raise UserError(f"{where}: lr_from {stated['lr_from']} has no arm {other}: name one, as {other_question}/ARM")
    source = content_there["arms"][other] or {}
    if (other_question, other) == (question, name):
        raise UserError(f"{where}: lr_from {stated['lr_from']} is this arm itself: name another, or leave it out")
    if "lr_from" in source:
        raise UserError(f"{where}: lr_from {stated['lr_from']} is not tuned itself: take {source['lr_from']}")
    tuned = _settings(f"questions/{other_question}.yaml: arm {other}", content_there, source)
    return Arm(name, settings, _tuning(where, content_there, source, tuned), stated, compare_with)


def _names(where: str, stated: Any) -> tuple[str, ...]:
    """The arms of `compare_with`: a name, or a list of different ones."""
    names = [stated] if isinstance(stated, str) else stated
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len({*names}) < len(names):
        raise UserError(f"{where}: compare_with {stated} is no list of different arms: write it like [grpo, rloo]")
    return tuple(names)


def _tuning(where: str, content: Mapping[str, Any], stated: Mapping[str, Any], settings: Settings) -> Tuning:
    """How an arm of a question of this content is tuned; a grid of its own is not gone beyond."""
    tuning = content["tuning"]
    rates = _rates(where, "lr", stated.get("lr", tuning["lr"]))
    further = () if "lr" in stated else _rates(where, "tuning.further", tuning.get("further", []), least=0)
    if further and further[0] <= rates[-1]:
        raise UserError(
            f"{where}: tuning.further begins with {further[0]:g}, and the highest lr is {rates[-1]:g}: take higher ones"
        )
    return Tuning(
        lr=rates,
        further=further,
        seeds=tuple(tuning["seeds"]),
        best_two=tuple(tuning.get("best_two", ())),
        criterion=tuning["criterion"],
        evaluation=_evaluation(f"{where}: tuning.evaluation", tuning["evaluation"]),
        settings=settings,
        task_settings=content.get("task_settings", {}),
    )


def _rates(where: str, key: str, stated: Any, least: int = 1) -> tuple[float, ...]:
    """Learning rates, ascending."""
    if not isinstance(stated, list) or len(stated) < least:
        raise UserError(f"{where}: {key} {stated} is no list of numbers: write it like [1.0e-4, 3.0e-4]")
    for lr in stated:
        if not isinstance(lr, float) or not 0 < lr < math.inf:
            raise UserError(f"{where}: {key} {lr} is not a number above 0 as YAML has it: write it like 1.0e-4")
    if len({*stated}) < len(stated):
        raise UserError(f"{where}: {key} {stated} has a number twice: leave one out")
    return tuple(sorted(stated))


def _settings(where: str, content: Mapping[str, Any], stated: Mapping[str, Any]) -> Settings:
    """The settings of an arm: the common ones, and over them its own; those of each task are tried, too."""
    known = [field.name for field in fields(Settings) if field.name not in NOT_SET_HERE]
    arm_settings = {key: value for key, value in stated.items() if key not in ARM_KEYS}
    refuse_unknown(where, arm_settings, known)
    refuse_unknown(f"{where}: the common settings", content["settings"], known)
    settings = _made(where, **{**content["settings"], **arm_settings})
    for task, others in content.get("task_settings", {}).items():
        if both := sorted(set(others) & set(arm_settings)):
            raise UserError(f"{where}: {both[0]} is also in task_settings of {task}: leave one of them out")
        _made(f"{where}: task_settings of {task}", **{**content["settings"], **arm_settings, **others})
    return settings


def _made(where: str, **settings: Any) -> Settings:
    try:
        return Settings(**settings)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def _evaluation(where: str, stated: Mapping[str, Any]) -> Evaluation:
    refuse_unknown(where, stated, [field.name for field in fields(Evaluation)])
    try:
        return Evaluation(**stated)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error
