"""The numbers that the paper reports, as columns to lay beside one's own.

reported.json has every table as the paper prints it, in percent.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError, did_you_mean

FILE = Path(__file__).with_name("reported.json")
#: The paper's benchmarks that go by other names here; the others differ in case alone.
TASKS = {"GPQA": "gpqa_diamond", "LiveCodeBench (2024-07-01 to 2025-01-01)": "livecodebench"}


@dataclass(frozen=True)
class Reported:
    """A column of the paper: one model.

    Attributes:
        name: the model, and the method it was trained with.
        source: the paper.
        tables: of the paper, that it stands in.
        pass_at: task -> k -> pass@k, 0 to 1.
    """

    name: str
    source: str
    tables: tuple[str, ...]
    pass_at: dict[str, dict[int, float]]


def reported_names() -> list[str]:
    """The names of all columns."""
    return list(_columns())


def reported(name: str) -> Reported:
    """The column of a name.

    Raises:
        UserError: If there is none; the nearest names are in the message.
    """
    columns = _columns()
    if name in columns:
        return columns[name]
    hint = did_you_mean(name, columns, count=3, cutoff=0.4)
    raise UserError(f"the paper reports nothing under {name!r}.{hint} `--reported list` shows the names")


def remarks() -> list[str]:
    """How the paper's numbers were measured."""
    paper = _paper()
    return [
        f"pass@k: unbiased, of {paper['samples_per_problem']['value']} samples a problem (Sec. 4.1).",
        f"gpqa_diamond and livecodebench: {paper['out_of_domain_8b']['note']}.",
    ]


@cache
def _paper() -> dict[str, Any]:
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


@cache
def _columns() -> dict[str, Reported]:
    pass_at: defaultdict[str, defaultdict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    tables: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for table, name, task, percents in _cells():
        tables[name][table] = None
        pass_at[name][task] |= {k: value / 100 for k, value in percents.items()}
    source = _paper()["source"]
    return {name: Reported(name, source, tuple(tables[name]), dict(tasks)) for name, tasks in pass_at.items()}


def _cells() -> Iterator[tuple[str, str, str, dict[int, float]]]:
    """Every cell: table, column's name, our task, k -> percent."""
    paper = _paper()
    ks = paper["pass_at_k_columns"]["k"]
    *benchmarks, _ = paper["table_1_pass_at_1"]["columns"]
    for name, values in paper["table_1_pass_at_1"]["rows"].items():
        for benchmark, value in zip(benchmarks, values[:-1], strict=True):
            yield "Table 1", name, _task(benchmark), {1: value}
    by_model = {"pass@k": paper["pass_at_k"], "ablation of the score": {"Qwen3-4B": paper["ablation_score_4b"]}}
    for table, models in by_model.items():
        for model, blocks in models.items():
            for benchmark, methods in blocks.items():
                for method, values in methods.items():
                    yield table, f"{model} {method}", _task(benchmark), dict(zip(ks, values, strict=True))
    for benchmark, methods in paper["out_of_domain_8b"].items():
        if benchmark != "note":
            for method, value in methods.items():
                name = f"Qwen3-8B {'Base' if method == 'base' else method}"
                yield "out of domain", name, _task(benchmark), {1: value}


def _task(benchmark: str) -> str:
    return TASKS.get(benchmark, benchmark.casefold())
