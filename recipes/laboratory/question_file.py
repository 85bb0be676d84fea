"""The file of a question, as YAML has it: which keys it has, and what each may hold."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import yaml

from pacs.base.errors import UserError, did_you_mean
from recipes.laboratory.settings import Settings
from recipes.laboratory.statistics import measure_names

NEEDED = ("title", "tasks", "settings", "evaluation", "tuning", "seeds", "baselines", "arms")
FLAGS = ("pairs", "own_starts")
KEYS = (*NEEDED, "task_settings", *FLAGS, "bar")
TUNING_NEEDED = ("lr", "seeds", "criterion", "evaluation")
TUNING_KEYS = (*TUNING_NEEDED, "further", "best_two")
BAR_KEYS = ("measure", "at_least")
#: What the runner sets, run by run.
NOT_SET_HERE = ("lr", "seed")
#: What no task may have of its own: an arm is the same method on each.
NOT_OF_A_TASK = ("method", "options")
RECIPES = Path(__file__).parents[1]


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML is untyped
    """YAML in which no key stands twice: of two arms of one name the first would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise yaml.constructor.ConstructorError(None, None, f"the key {twice} is there twice", node.start_mark)
        return dict(super().construct_mapping(node, deep))


def load(file: Path) -> dict[str, Any]:
    """A question file's content, with all that it needs, each of the kind that it is to be.

    What the settings, the evaluations and the arms hold is checked where these are made.

    Raises:
        UserError: it is not.
    """
    where = f"questions/{file.name}"
    try:
        content = yaml.load(file.read_text(encoding="utf-8"), _Loader)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{where} is no YAML ({' '.join(str(error).split())}): mend it") from error
    _check_keys(where, content, KEYS, NEEDED)
    if not isinstance(content["title"], str):
        raise UserError(f"{where}: title {content['title']} is no text: put it in quotes")
    _check_list(f"{where}: tasks", content["tasks"], lambda task: task in tasks(), f"tasks ({', '.join(tasks())})")
    _check_mapping(f"{where}: evaluation", content["evaluation"])
    _check_mapping(f"{where}: arms", content["arms"])
    _check_run(f"{where}: settings", content["settings"])
    for name, stated in content["arms"].items():
        if not isinstance(name, str):  # as on and off, which are true and false to YAML
            raise UserError(f"{where}: arm {name} has no name: put it in quotes")
        _check_run(f"{where}: arm {name}", {} if stated is None else stated)
    for key in FLAGS:
        if type(content.get(key, False)) is not bool:
            raise UserError(f"{where}: {key} {content[key]} must be true or false")
    _check_seeds(f"{where}: seeds", content["seeds"])
    _check_tuning(f"{where}: tuning", content["tuning"])
    if "bar" in content:
        _check_bar(f"{where}: bar", content["bar"], content["evaluation"])
    _check_task_settings(f"{where}: task_settings", content)
    return dict(content)


def tasks() -> list[str]:
    """The tasks: folders of recipes/ that have problems and make a start with them."""
    return sorted(file.parent.name for file in RECIPES.glob("*/problems.py") if (file.parent / "make.py").exists())


def refuse_unknown(where: str, stated: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a key that is not known, with the one that was likely meant."""
    known = list(known)
    for key in stated:
        if key not in known:
            raise UserError(f"{where}: {key} is not known: it has {', '.join(known)}.{did_you_mean(key, known)}")


def _check_keys(where: str, content: Any, known: Iterable[str], needed: Iterable[str]) -> None:
    if not isinstance(content, Mapping):
        raise UserError(f"{where} {content} has no keys: give it {', '.join(needed)}")
    refuse_unknown(where, content, known)
    if missing := [key for key in needed if content.get(key) in (None, "", [], {})]:
        raise UserError(f"{where} has no {missing[0]}: add it")


def _check_mapping(where: str, stated: Any) -> None:
    if not isinstance(stated, Mapping):
        raise UserError(f"{where} {stated} has no keys: write it like {{key: value}}")


def _check_run(where: str, stated: Any) -> None:
    _check_mapping(where, stated)
    _check_mapping(f"{where}: options", stated.get("options", {}))
    if not isinstance(stated.get("method", ""), str):
        raise UserError(f"{where}: method {stated['method']} is no name")


def _check_list(where: str, stated: Any, is_one: Callable[[Any], bool], what: str) -> None:
    if not isinstance(stated, list) or not all(map(is_one, stated)) or len({*stated}) < len(stated):
        raise UserError(f"{where} {stated} is no list of different {what}")


def _check_seeds(where: str, stated: Any) -> None:
    _check_list(where, stated, lambda seed: type(seed) is int and seed >= 0, "whole numbers from 0, as [0, 1, 2]")


def _check_measure(where: str, measure: Any, evaluation: Mapping[str, Any]) -> None:
    """Refuse what no evaluation with these settings measures."""
    samples = evaluation.get("samples")
    known = measure_names(samples if type(samples) is int else None)
    if measure not in known:
        enough = f" with samples={samples}" if type(samples) is int else ""
        raise UserError(f"{where} {measure} is not measured{enough}: choose one of {', '.join(known)}")


def _check_tuning(where: str, stated: Any) -> None:
    _check_keys(where, stated, TUNING_KEYS, TUNING_NEEDED)
    for key in ("seeds", "best_two"):
        _check_seeds(f"{where}.{key}", stated.get(key, []))
    _check_mapping(f"{where}.evaluation", stated["evaluation"])
    _check_measure(f"{where}.criterion", stated["criterion"], stated["evaluation"])


def _check_bar(where: str, stated: Any, evaluation: Mapping[str, Any]) -> None:
    _check_keys(where, stated, BAR_KEYS, BAR_KEYS)
    _check_measure(f"{where}.measure", stated["measure"], evaluation)
    if type(stated["at_least"]) not in (int, float):
        raise UserError(f"{where}.at_least {stated['at_least']} must be a number")


def _check_task_settings(where: str, content: Mapping[str, Any]) -> None:
    stated = content.get("task_settings", {})
    if not isinstance(stated, Mapping) or not all(isinstance(settings, Mapping) for settings in stated.values()):
        raise UserError(
            f"{where} {stated} has no settings by task: write it like {{{content['tasks'][0]}: {{prompts: 16}}}}"
        )
    refuse_unknown(where, stated, content["tasks"])
    known = [field.name for field in fields(Settings) if field.name not in (*NOT_SET_HERE, *NOT_OF_A_TASK)]
    for task, settings in stated.items():
        refuse_unknown(f"{where}: {task}", settings, known)
