"""results.md: a row a setting, a column a measure, what is missing, and what made it."""

import shlex
from collections.abc import Mapping
from typing import Any

from pacs.base.markdown import ABSENT, percent, table
from pacs.base.tables import Table
from pacs.base.terminal import visible

Results = Mapping[str, Any]


def results_page(results: Results) -> str:
    """The page, in Markdown."""
    parts = [
        f"# {results['sweep']}: {results['recipe']}",
        results["description"],
        _how_many(results),
        "\n".join(f"- {note}" for note in results.get("notes", [])),
        _grid(measure_table(results)),
        reading(results),
    ]
    if missing := missing_table(results):
        parts += ["## Not finished", _grid(missing)]
    if gaps := _gaps(results):
        parts += ["## Finished, but", "\n".join(f"- {line}" for line in gaps)]
    parts += ["## What made it", "\n".join(f"- {line}" for line in provenance(results))]
    return visible("\n\n".join(part for part in parts if part)) + "\n"


def measure_table(results: Results) -> Table:
    """Setting -> measure -> the mean in percent, its interval, and the runs behind it."""
    return {
        setting["label"]: {name: _cell(value) for name, value in setting["measures"].items()}
        for setting in results["settings"]
    }


def missing_table(results: Results) -> Table:
    """Run -> its state, of those that are not finished."""
    return {
        run["label"]: {
            "state": run["state"],
            "step": f"{run['step']}/{run['total_steps']}",
            "cause": run["cause"] or ABSENT,
        }
        for run in results["runs"]
        if run["state"] != "finished"
    }


def reading(results: Results) -> str:
    """How the table is read: what its intervals are, as far as it has them."""
    kinds = {value["interval"] for setting in results["settings"] for value in setting["measures"].values()}
    said = ["In percent, over the finished runs (their number in brackets)."]
    if "seeds" in kinds:
        said.append(f"±: half of the {results['intervals']['seeds']}.")
    if "problems" in kinds:
        said.append(f"[low, high]: {results['intervals']['problems']}.")
    if None in kinds:
        said.append("A number alone is of one run: nothing says how far another seed would be.")
    return " ".join(said) if kinds else ""


def provenance(results: Results) -> list[str]:
    """Command, model, data, and what the runs were made with: each combination once."""
    data = "; ".join(f"{key} {value}" for key, value in results["data"].items())
    lines = [f"`{shlex.join(results['command'])}`", f"model {results['model']}; {data}"]
    made: dict[str, list[str]] = {}
    for run in results["runs"]:
        if run["started"]:
            versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
            about = f"commit {run['git_commit']}, Python {run['python']}, {versions}"
            made.setdefault(about, []).append(run["label"])
    return lines + [about if len(made) == 1 else f"{about}: {'; '.join(labels)}" for about, labels in made.items()]


def _how_many(results: Results) -> str:
    finished = sum(run["state"] == "finished" for run in results["runs"])
    evaluated = sum(bool(run["evaluation"]) for run in results["runs"])
    also = f", {evaluated} of them evaluated" if evaluated else ""
    return f"{finished} of {len(results['runs'])} runs are finished{also}."


def _gaps(results: Results) -> list[str]:
    """What finished runs lack."""
    return [
        f"{run['label']}: {problem}"
        for run in results["runs"]
        if run["state"] == "finished"
        for problem in (run["cause"], run["evaluation_problem"])
        if problem
    ]


def _cell(value: Mapping[str, Any]) -> str:
    mean, n = percent(value["mean"]), f"({value['n']})"
    match value["interval"]:
        case "seeds":
            return f"{mean} ± {percent(value['high'] - value['mean'])} {n}"
        case "problems":
            return f"{mean} [{percent(value['low'])}, {percent(value['high'])}] {n}"
    return f"{mean} {n}"


def _grid(cells: Table) -> str:
    columns = list(dict.fromkeys(column for row in cells.values() for column in row))
    rows = [[name, *(str(row.get(column) or ABSENT) for column in columns)] for name, row in cells.items()]
    return table(["", *columns], rows)
