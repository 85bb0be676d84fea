"""What a question asks for, in the words of its file: what all arms have, and what each is."""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any

from pacs.base.markdown import ABSENT, table
from recipes.laboratory.questions import Question
from recipes.laboratory.settings import Settings

#: What the table of arms has columns for, or what is set run by run.
NOT_COMMON = ("method", "options", "lr", "seed")
COLUMNS = ("method", "options", "compare_with")


def common(question: Question, task: str) -> str:
    """A sentence on the settings of all runs on a task, and one on their evaluation."""
    # A section is empty unless it is stated, and what is null is off.
    common = [field for field in fields(Settings) if field.name not in NOT_COMMON]
    defaults = {field.name: {} if field.default is MISSING else field.default for field in common}
    stated = {**question.settings, **question.task_settings.get(task, {})}
    settings = {name: stated.get(name, default) for name, default in defaults.items()}
    settings = {name: value for name, value in settings.items() if value is not None}
    evaluation = question.evaluation
    starts = "each seed has a start of its own" if question.own_starts else "all begin at the same weights"
    return (
        f"Where an arm says nothing else: {_listed(settings)}; {starts}. Evaluated on {evaluation.problems} problems "
        f"({evaluation.split}), with {evaluation.samples} samples each at the end and {evaluation.samples_between} "
        "before it."
    )


def arms(question: Question) -> str:
    """Each arm's method, the options of it that the question sets, and the settings that are not the common ones."""
    rows = []
    for arm in question.arms.values():
        changed = {
            name: value
            for name, value in arm.stated.items()
            if name not in COLUMNS and (name not in question.settings or value != question.settings[name])
        }
        options = _listed(arm.settings.options)
        rows.append([arm.name, arm.settings.method, options or ABSENT, _listed(changed) or ABSENT])
    return table(["arm", "method", "options", "settings of its own"], rows)


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {text}" for name, text in _flat(values))


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Names and values as YAML has them, those of a section with its name."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", _text(value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(map(_text, value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)
