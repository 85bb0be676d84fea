"""An evaluation's results: results.json, from which models are compared, results.md, and a model card's section."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pacs.base.errors import UserError, one_line
from pacs.base.files import file_sha256, told_apart, write_atomically
from pacs.base.markdown import interval, number, percent, table
from pacs.base.settings import flatten, shown
from pacs.base.statistics import estimate_mean
from pacs.base.terminal import visible
from pacs.checkpoints.folder import MARKER
from pacs.checkpoints.source import Source
from pacs.evaluation.folder import is_complete, read_task, read_timing
from pacs.evaluation.grading import sentences
from pacs.evaluation.settings import read_settings
from pacs.evaluation.summary import TaskResult, pass_at_values, summarize

JSON_FILE = "results.json"
PAGE_FILE = "results.md"
#: Where a sweep evaluates a run, below its folder.
FOLDER = "evaluation"
#: As JSON has them.
RESULTS = TypeAdapter(list[TaskResult])
EXPLANATION = """\
In percent, with the 95% interval of the bootstrap over problems. pass@k is the unbiased estimate from all samples of a
problem; maj@k the probability that the majority of k of them is right (ties shared, no vote without an answer)."""


@dataclass(frozen=True)
class Evaluation:
    """An evaluation that is done, as its folder has it.

    Attributes:
        label: by which it is shown.
        folder: its own.
        settings: that its samples were made with.
        tasks: the results, by task.
    """

    label: str
    folder: Path
    settings: Mapping[str, Any]
    tasks: dict[str, TaskResult]


def report(out: Path) -> str:
    """Write results.json and results.md of all tasks that are complete.

    Returns:
        What to print: results.md, and which tasks are left out.

    Raises:
        UserError: If `out` is no evaluation, or its files are damaged.
    """
    settings = read_settings(out)
    complete = [task for task in settings.tasks if is_complete(out, task, settings)]
    missing = [task for task in settings.tasks if task not in complete]
    lines = [f"not complete, and left out of the results: {', '.join(missing)}"] if missing else []
    if complete:
        results = [
            summarize(read_task(out, task), settings.tasks[task].ks, read_timing(out, task)) for task in complete
        ]
        about = asdict(settings) | {"tasks": {task: asdict(settings.tasks[task]) for task in complete}}
        write_results(out, about, results)
        lines.insert(0, (out / PAGE_FILE).read_text(encoding="utf-8"))
    return "\n".join([*lines, f"in {out}"])


def write_results(out: Path, settings: Mapping[str, Any], results: Sequence[TaskResult]) -> None:
    """Write results.json and results.md, each as a whole or not at all.

    Args:
        out: the evaluation's folder.
        settings: what decided the samples, plain JSON: `pacs.evaluation.settings.Settings` as JSON.
        results: of each task.

    Raises:
        OSError: If they cannot be written.
    """
    date = datetime.now(UTC).date().isoformat()
    content = {"date": date, "settings": settings, "tasks": RESULTS.dump_python(list(results), mode="json")}
    write_atomically(out / JSON_FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    write_atomically(out / PAGE_FILE, results_page(settings, results, date))


def read_results(out: Path) -> tuple[dict[str, Any], list[TaskResult]]:
    """The settings and results of an evaluation, from its folder.

    Raises:
        UserError: If it has none, or they are damaged.
    """
    file = out / JSON_FILE
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        return dict(content["settings"]), RESULTS.validate_python(content["tasks"])
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"{out} has no {JSON_FILE}: give the --out folder of an evaluation that is done") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(f"{file} cannot be read ({one_line(error)}): `pacs evaluate grade` writes it again") from error


def read_evaluations(folders: Sequence[Path]) -> list[Evaluation]:
    """The evaluations in these folders, by `told_apart`'s names.

    Raises:
        UserError: a folder without results, or given twice.
    """
    read = [read_results(folder) for folder in folders]
    return [
        Evaluation(label, folder, settings, {result.task: result for result in results})
        for label, folder, (settings, results) in zip(told_apart(folders), folders, read, strict=True)
    ]


def find_evaluations(source: Source, given: Sequence[Path]) -> list[Evaluation]:
    """The evaluations that are given, then those in the run's folder, of this checkpoint.

    Args:
        source: what is exported.
        given: folders of `pacs evaluate`.

    Raises:
        UserError: One cannot be read, or one that is given is of another model.
    """
    beside = [file.parent for file in sorted((source.run / FOLDER).rglob(JSON_FILE))]
    marker = file_sha256(source.checkpoint.folder / MARKER)
    found: dict[Path, Evaluation] = {}
    for folder in (*given, *beside):
        try:
            settings, results = read_results(folder)
            is_own = settings["model"].get("checkpoint") == marker
            settings["sampling"] = dict(settings["sampling"])
        except (UserError, LookupError, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"the evaluation in {folder} cannot be read: {error}") from error
        if is_own:
            found.setdefault(
                folder.resolve(), Evaluation(str(folder), folder, settings, {result.task: result for result in results})
            )
        elif folder in given:
            raise UserError(
                f"--evaluation {folder} is of another model than {source.checkpoint.folder}: evaluate that, or leave "
                "it out"
            )
    return list(found.values())


def results_page(settings: Mapping[str, Any], results: Sequence[TaskResult], date: str) -> str:
    """The page as Markdown, with a newline at its end.

    Args:
        settings: as `write_results` takes them.
        results: of each task.
        date: of the page.
    """
    name = settings["model"]["name"]
    mean = estimate_mean([pass_at_values(result.problems, 1) for result in results])
    parts = [
        f"# Evaluation of {name}",
        f"{date}. {EXPLANATION}",
        "## pass@1",
        table(
            ["", *(result.task for result in results), "mean"],
            [[name, *(percent(result.accuracy.mean) for result in results), interval(mean)]],
        ),
        "## pass@k",
        _by_k("pass", results),
    ]
    if any(result.maj_at for result in results):
        parts += ["## maj@k", _by_k("maj", results)]
    parts += [
        "## Samples",
        _samples(results),
        sentences(settings.get("grading")),
        "Statuses are the verifier's; *truncated* is cut off at the limit of tokens, with an answer or without; "
        "*unfinished* ended within the model's reasoning, and has no answer. "
        "Tokens are the mean of a response; tokens a second those generated.",
        "## Settings",
        table(["setting", "value"], [[key, str(value)] for key, value in flatten(settings).items()]),
    ]
    return visible("\n\n".join(parts)) + "\n"


def _by_k(what: str, results: Sequence[TaskResult]) -> str:
    at = {result.task: result.pass_at if what == "pass" else result.maj_at for result in results}
    ks = sorted({k for values in at.values() for k in values})
    return table(
        ["", "problems", "samples", *(f"{what}@{k}" for k in ks)],
        [
            [result.task, str(len(result.problems)), str(result.samples)]
            + [interval(at[result.task].get(k)) for k in ks]
            for result in results
        ],
    )


def _samples(results: Sequence[TaskResult]) -> str:
    statuses = list(results[0].statuses)
    known = ["unfinished"] if any(result.unfinished is not None for result in results) else []
    names = ["truncated", *known, *statuses, "tokens", "of right", "of wrong", "seconds", "tokens/s"]
    rows = []
    for result in results:
        lengths = (result.mean_tokens, result.mean_tokens_right, result.mean_tokens_wrong)
        unfinished = ["" if result.unfinished is None else percent(result.unfinished)] * len(known)
        found = [percent(result.statuses.get(status, 0.0)) for status in statuses]
        shares = [percent(result.truncated), *unfinished, *found]
        rows.append([result.task, *shares, *map(number, (*lengths, result.seconds, result.tokens_per_second))])
    return table(["", *(name.replace("_", " ") for name in names)], rows)


def card_section(evaluation: Evaluation) -> str:
    """The section of the model card in Markdown: pass@k of each task, and how it was sampled."""
    ks = sorted({k for task in evaluation.tasks.values() for k in task.pass_at} | {1})
    rows = []
    for task in evaluation.tasks.values():
        shares = [interval(task.accuracy if k == 1 else task.pass_at.get(k)) for k in ks]
        rows.append([task.task, str(len(task.problems)), str(task.samples), *shares])
    how = ", ".join(f"{name} {value}" for name, value in shown(evaluation.settings["sampling"]).items())
    return "\n\n".join(
        [
            "## Evaluation",
            table(["task", "problems", "samples", *(f"pass@{k}" for k in ks)], rows),
            f"By `pacs evaluate`, in percent, with the 95% interval of the bootstrap over problems. Sampling: {how}.",
        ]
    )
