"""What may be the value of an argument, from the place that defines it: `OFFERED`."""

import argparse
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from argcomplete.completers import FilesCompleter

from pacs.base.errors import UserError
from pacs.base.run_folder import RunFolder
from pacs.checkpoints.marker import MARKER
from pacs.runs.listing import is_run
from pacs.sweeps.definition import read_sweep, sweep_files

#: From what is typed of a word, and the words before it as arguments, to words that may stand there; argcomplete drops
#: those that do not begin with what is typed.
Offer = Callable[..., Iterable[str]]
#: From the words before, as arguments, to values.
Values = Callable[[argparse.Namespace], Iterable[str]]


def _one_of(values: Values) -> Offer:
    """A value."""
    return lambda parsed_args, **_: values(parsed_args)


def _some_of(values: Values) -> Offer:
    """Values with commas between them, each once."""

    def offer(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
        before = prefix[: prefix.rfind(",") + 1]
        return [f"{before}{value}" for value in values(parsed_args) if value not in before.split(",")]

    return offer


def _folders(is_one: Callable[[Path], bool], *, files: str = "") -> Offer:
    """Folders, a level at a time: one that is asked for as a whole word, of the others the way down.

    Args:
        is_one: whether a folder is what is asked for.
        files: the ending of files that may stand there too.
    """

    def offer(prefix: str, **_: Any) -> Iterator[str]:
        above = prefix[: prefix.rfind("/") + 1]
        try:
            entries = sorted(Path(above).expanduser().iterdir())
        except (OSError, RuntimeError):  # what is typed leads nowhere, or to the home of nobody (~nobody/)
            return
        for entry in entries:
            if entry.name.startswith(".") and not prefix[len(above) :].startswith("."):
                continue
            if entry.is_dir():
                yield f"{above}{entry.name}" + ("" if is_one(entry) else "/")
            elif files and entry.suffix == files:
                yield f"{above}{entry.name}"

    return offer


def _names(place: str) -> Values:
    """The names of a table, or that a function gives: `package.module:name`, imported when they are asked for."""

    def values(_: argparse.Namespace) -> list[str]:
        names = resolve_name(place)
        return list(names() if callable(names) else names)

    return values


def _has_file(place: str) -> Callable[[Path], bool]:
    """Whether a folder has the file of this name: `package.module:name`, imported when it is asked for."""
    return lambda folder: (folder / resolve_name(place)).is_file()


algorithms = _names("pacs.composing:algorithms")
task_names = _names("pacs.evaluation.tasks:NAMES")


def arms(args: argparse.Namespace) -> list[str]:
    """The algorithms of the sweep that is named; without one all."""
    if args.name is None:
        return list(algorithms(args))
    try:
        return list(read_sweep(args.name).algorithms)
    except UserError:  # there is none of that name
        return []


def offered_tasks(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
    """Names of tasks with commas between them, or behind NAME= a file."""
    before = prefix[: prefix.rfind(",") + 1]
    name, equals, file = prefix[len(before) :].partition("=")
    if equals:
        return [f"{before}{name}={path}" for path in FilesCompleter("parquet")(file)]
    return list(_some_of(task_names)(prefix=prefix, parsed_args=parsed_args))


def before_number(args: argparse.Namespace) -> list[str]:
    """TASK= of each task that is asked for."""
    given = args.tasks
    if given is None and "name" in args and args.name in sweep_files():
        given = ",".join(read_sweep(args.name).tasks)
    names = [word.partition("=")[0] for word in given.split(",")] if given else task_names(args)
    return [f"{name}=" for name in names]


def offered_sources(prefix: str, **_: Any) -> list[str]:
    """Names of sources, repositories once something is typed, and files."""
    from pacs.data.sources import SOURCES

    names = dict.fromkeys(source.name for source in SOURCES)
    repositories = dict.fromkeys(source.repo for source in SOURCES) if prefix else {}
    return [*names, *repositories, *FilesCompleter()(prefix)]


def reward_settings(_: argparse.Namespace) -> list[str]:
    """VERIFIER.SETTING=VALUE with the default of every setting that has one, and with the other one of two."""
    from pacs.rewards.registry import resolved_settings

    return [
        f"{verifier}.{setting}={value}"
        for verifier, settings in resolved_settings({}).items()
        for setting, default in settings.items()
        for value in (("true", "false") if isinstance(default, bool) else (default,))
    ]


def columns_of_the_paper(_: argparse.Namespace) -> list[str]:
    """What an evaluation may be laid beside, and the word that lists it."""
    from pacs.commands.evaluate_compare import LIST
    from pacs.evaluation.reported import reported_names

    return [LIST, *reported_names()]


def offered_templates(prefix: str, **_: Any) -> list[str]:
    """Names of a critic's templates, and files."""
    from pacs.commands.genac_value_bench import TEMPLATES

    return [*TEMPLATES, *FilesCompleter()(prefix)]


def tasks_of(*arguments: str) -> Values:
    """The tasks that the evaluations in these arguments have in common."""

    def values(args: argparse.Namespace) -> list[str]:
        from pacs.evaluation import folder

        given = [getattr(args, argument) for argument in arguments]
        folders = [Path(one) for each in given if each for one in (each if isinstance(each, list) else [each])]
        try:
            tasks = [folder.task_names(out) for out in folders]
        except UserError:  # there is no evaluation
            return []
        return [task for task in tasks[0] if all(task in names for names in tasks)] if tasks else []

    return values


def is_trained(folder: Path) -> bool:
    """Whether it is a run, or a checkpoint."""
    return is_run(folder) or (folder / MARKER).is_file()


def steps_of(args: argparse.Namespace) -> list[str]:
    """The steps of a run's checkpoints."""
    if args.base is None:
        return []
    return [folder.name.removeprefix(STEP) for folder in RunFolder(args.base).checkpoints.glob(f"{STEP}*")]


#: Of a checkpoint's folder, what stands before its step.
STEP = "global_step_"
is_evaluation = _has_file("pacs.evaluation.settings:FILE")
_EVALUATION = _folders(is_evaluation)
_MODEL = _folders(lambda folder: is_trained(folder) or (folder / "config.json").is_file())
_DATA = {"path": _folders(lambda folder: any(folder.glob("*.parquet")), files=".parquet"), "model": _MODEL}
_ALGORITHM = {"config_name": _one_of(algorithms)}
_GRADING = {"reward_kwargs": _one_of(reward_settings)}
_EVALUATING = {"tasks": offered_tasks, "samples": _one_of(before_number), "k": _one_of(before_number)}

#: Command -> argument -> what is offered for it. An argument that is not here has its `choices`, else files.
OFFERED: dict[str, dict[str, Offer]] = {
    "train": _ALGORITHM,
    "data prepare": {
        "source": offered_sources,
        "evaluation": _folders(_has_file("pacs.evaluation.tasks:FILE")),
        "model": _MODEL,
    },
    "data stats": _DATA,
    "data show": _DATA,
    "data baseline": {"model": _MODEL, "data": _folders(lambda _: False, files=".parquet")},
    "data rate": {"model": _MODEL, "data": _folders(lambda _: False, files=".parquet"), **_GRADING},
    "plan": {**_ALGORITHM, "gpu": _one_of(_names("pacs.planning.devices:GPUS"))},
    "doctor": _ALGORITHM,
    "sweep": {"name": _one_of(lambda _: sweep_files()), "algorithms": _some_of(arms), **_EVALUATING},
    "runs": {"folders": _folders(is_run)},
    "evaluate": {"model": _MODEL, **_EVALUATING, **_GRADING},
    "evaluate show": {"out": _EVALUATION, "task": _one_of(tasks_of("out"))},
    "evaluate grade": {"out": _EVALUATION, **_GRADING},
    "evaluate budgets": {"folders": _EVALUATION, "tokenizer": _MODEL},
    "evaluate compare": {"folders": _EVALUATION, "reported": _one_of(columns_of_the_paper)},
    "diversity": {"folders": _EVALUATION, "task": _one_of(tasks_of("folders"))},
    "support": {
        "base": _folders(lambda folder: is_run(folder) or is_evaluation(folder)),
        "model": _EVALUATION,
        "task": _one_of(tasks_of("base", "model")),
        "steps": _one_of(steps_of),
        "initial": _folders(lambda folder: is_evaluation(folder) or (folder / "config.json").is_file()),
        "evaluations": _folders(lambda _: False),
        **{argument: offer for argument, offer in _EVALUATING.items() if argument != "k"},
        **_GRADING,
    },
    "genac value-bench": {
        "actor": _MODEL,
        "critic": _MODEL,
        "value_head": _MODEL,
        "tasks": offered_tasks,
        "values": _folders(lambda _: False, files=".jsonl"),
        "template": offered_templates,
        **_GRADING,
    },
    "genac sft-data": {
        "evaluation": _EVALUATION,
        "tasks": _some_of(tasks_of("evaluation")),
        "template": offered_templates,
        "tokenizer": _MODEL,
    },
    "report": {
        "runs": _folders(is_run, files=".json"),
        "budgets": _folders(lambda folder: (folder / "budgets.json").is_file()),
    },
    "export": {"checkpoint": _folders(is_trained), "evaluation": _EVALUATION},
    "inspect": {"file": _folders(is_run, files=".pt")},
}
