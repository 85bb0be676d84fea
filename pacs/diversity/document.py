"""diversity.json and diversity.md."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pacs.base.markdown import ABSENT, table
from pacs.base.statistics import Estimate
from pacs.base.terminal import visible
from pacs.diversity.measures import COSINE, MEASURES, Measured, difference

EXPLANATION = """\
Means over problems, with the 95% interval of the bootstrap over problems. The cosine distance is between the embeddings
of a problem's responses; answer and token entropy and distinct-n are of all its responses. docs/evaluation.md says what
each number means."""


def to_json(
    settings: Mapping[str, Any], names: Sequence[str], results: Mapping[str, Sequence[Measured]]
) -> dict[str, Any]:
    """Everything, the value of each problem included.

    Args:
        settings: what decided the numbers.
        names: the models'.
        results: task -> each model's.
    """
    tasks = {}
    for task, measured in results.items():
        tasks[task] = {
            "models": {name: _model(one) for name, one in zip(names, measured, strict=True)},
            "difference": {
                measure: {**asdict(found[0]), "problems": found[1]}
                for measure in MEASURES
                if len(measured) == 2 and (found := difference(measured[0], measured[1], measure)) is not None
            },
        }
    return {"settings": dict(settings), "tasks": tasks}


def _model(measured: Measured) -> dict[str, Any]:
    measures = {}
    for name, values in measured.values.items():
        mean = measured.mean(name)
        measures[name] = {
            **(asdict(mean) if mean else {"mean": None, "low": None, "high": None}),
            "problems": len(values),
            "left_out": measured.problems - len(values),
            "by_problem": dict(values),
        }
    return {
        "problems": measured.problems,
        "samples": measured.samples,
        "embedded": measured.selected,
        "cut": measured.cut,
        "measures": measures,
    }


def to_markdown(
    settings: Mapping[str, Any],
    names: Sequence[str],
    results: Mapping[str, Sequence[Measured]],
    pictures: Mapping[str, tuple[str, str]],
) -> str:
    """The page, with a newline at its end.

    Args:
        settings, names, results: as `to_json` takes them.
        pictures: task -> title and file of its picture, where there is one.
    """
    parts = [f"# Diversity: {' and '.join(names)}", EXPLANATION]
    for task, measured in results.items():
        parts += [f"## {task}", results_table(names, measured), _counts(names, measured)]
        if task in pictures:
            parts.append("![{}]({})".format(*pictures[task]))
    rows = [[key.replace("_", " "), str(value)] for key, value in settings.items()]
    return visible("\n\n".join([*parts, "## Settings", table(["setting", "value"], rows)])) + "\n"


def results_table(names: Sequence[str], measured: Sequence[Measured]) -> str:
    """A row a measure; a column a model, and their difference."""
    two = len(measured) == 2
    rows = []
    for measure, words in MEASURES.items():
        row = [words, *(interval(one.mean(measure)) for one in measured)]
        if two:
            found = difference(measured[0], measured[1], measure)
            row.append(interval(found[0], signed=True) if found else ABSENT)
        rows.append(row)
    return table(["", *names, *([f"{names[1]} − {names[0]}"] if two else [])], rows)


def interval(value: Estimate | None, *, signed: bool = False, decimals: int = 4) -> str:
    """Mean and interval, with four decimals as the paper prints distances, or three as metrics of support."""
    form = f"{'+' if signed else ''}.{decimals}f"
    return ABSENT if value is None else f"{value.mean:{form}} [{value.low:{form}}, {value.high:{form}}]"


def _counts(names: Sequence[str], measured: Sequence[Measured]) -> str:
    lines = []
    for name, one in zip(names, measured, strict=True):
        have = len(one.values[COSINE])
        line = (
            f"- {name}: {one.problems} problems, {one.samples} responses each, {one.selected:,} in all embedded; "
            f"{have} problems have the two that make a pair, {one.problems - have} are left out of the distance"
        )
        lines.append(line + (f"; {one.cut:,} responses were cut at the embedding model's limit" if one.cut else ""))
    if len({one.samples for one in measured}) > 1:
        lines.append(
            "- **unequal numbers of responses**: answer entropy and distinct-n depend on them, and cannot be compared"
        )
    if len(measured) == 2 and (found := difference(measured[0], measured[1], COSINE)):
        lines.append(f"- the difference of the distance is over the {found[1]} problems that have pairs in both")
    return "\n".join(lines)
