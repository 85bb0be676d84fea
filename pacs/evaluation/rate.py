"""`pacs data rate MODEL`: how often a model solves each problem of training data, by an evaluation of it."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import comb
from pathlib import Path

import torch

from pacs.algorithm.preference import Preference, Weights
from pacs.base.errors import UserError
from pacs.base.terminal import print
from pacs.data.rates import GROUP, Rate, Rates, problem_key, rates_file, read_rates, summary, write_rates
from pacs.evaluation.engine import EngineOptions
from pacs.evaluation.evaluate import Asked, evaluate
from pacs.evaluation.folder import read_grades, read_problems
from pacs.evaluation.grading import VerifierSettings
from pacs.evaluation.process import StopRequest
from pacs.evaluation.settings import Sampling, Settings, read_settings
from pacs.evaluation.tasks import Task

#: What a draw by them would do is said of rates.
SHOWN: tuple[Weights, ...] = ("sqrt", "target")


@dataclass(frozen=True)
class RateRequest:
    """What the command asks for; see `pacs.evaluation.evaluate.Asked`.

    Attributes:
        model: as it was named.
        files: parquet in verl's schema.
        out: the folder of the evaluation; None: beside the first file.
        samples: of each problem.
        sampling, options, verifiers: as of an evaluation.
    """

    model: str
    files: Sequence[Path]
    out: Path | None
    samples: int
    sampling: Sampling
    options: EngineOptions = EngineOptions()  # noqa: RUF009 (frozen)
    verifiers: VerifierSettings = field(default_factory=dict)


def rate(asked: RateRequest, stop: StopRequest) -> None:
    """Sample and grade what is missing, then write each file's rates beside it.

    Raises:
        UserError, BrokenCheckpoint, EngineFailure, Stopped: As `evaluate`; UserError also if a file is not there, or
            two of them have one name.
    """
    if asked.sampling.temperature == 0:
        raise UserError("--temperature 0: all samples of a problem would be the same: give that of the run")
    tasks = tasks_of(asked.files, asked.samples)
    first = asked.files[0]
    out = asked.out or first.with_name(first.name.removesuffix(".parquet") + ".rates")
    evaluate(Asked(asked.model, tasks, first.parent, out, asked.sampling, asked.options, asked.verifiers), stop)
    settings = read_settings(out)
    for task in tasks:
        rates, file = rates_of(out, task.name, settings), rates_file(task.file)
        _say_if_replaced(file, rates)
        write_rates(file, rates)
        print(f"{file}: {summary(rates.problems)}")
        if min(rate.samples for rate in rates.problems) > GROUP:
            shares = {kind: mixed_share(rates.problems, Preference(kind, responses=GROUP)) for kind in SHOWN}
            said = ", ".join(f"{share:.1%} with run.rollouts.pool.weights={kind}" for kind, share in shares.items())
            print(f"In the first step of a pool that knows all but {GROUP} samples, of the groups of these: {said}")


def tasks_of(files: Sequence[Path], samples: int) -> list[Task]:
    """A task for each file, which goes by its folder's name and its own.

    Raises:
        UserError: One is not there, or two would go by one name.
    """
    tasks: dict[str, Task] = {}
    for file in files:
        if not file.is_file():
            raise UserError(f"--data {file}: no such file: `pacs data prepare` makes one")
        place = file.resolve()
        name = re.sub(r"[^\w.-]", "_", f"{place.parent.name or 'data'}-{place.stem}").lstrip(".-")
        if name in tasks:
            raise UserError(f"--data {tasks[name].file} {file}: both would go by {name}: rate one after the other")
        tasks[name] = Task(name, file, samples, (1,))
    return list(tasks.values())


def rates_of(out: Path, task: str, settings: Settings) -> Rates:
    """The rates by an evaluation that has all samples of a task.

    Args:
        out: the evaluation's folder.
        task: its name.
        settings: the folder's.
    """
    right: Counter[str] = Counter()
    graded: Counter[str] = Counter()
    wanted = settings.tasks[task].samples
    for grade in read_grades(out, task).values():
        if grade.index < wanted:
            graded[grade.problem] += 1
            right[grade.problem] += grade.status == "correct"
    return Rates(
        data_sha256=settings.tasks[task].sha256,
        model=settings.model.name,
        model_sha256=settings.model.sha256,
        sampling=asdict(settings.sampling),
        verifiers=settings.verifiers,
        made_by={**settings.versions, "git_commit": settings.git_commit},
        problems=[
            Rate(problem_key(each.prompt, each.ground_truth), each.id, right[each.id], graded[each.id])
            for each in read_problems(out, task, settings.tasks[task].problems)
        ],
    )


def mixed_share(rates: Sequence[Rate], preference: Preference) -> float:
    """Which share of groups would be mixed in a draw by weight: the mean over all choices of a group from the samples.

    The other samples are what is believed, so that no sample is on both sides.

    Args:
        rates: of more samples each than a group has.
        preference: by which they are drawn.
    """
    mixed = total = 0.0
    for (correct, samples), problems in Counter((rate.correct, rate.samples) for rate in rates).items():
        others = samples - GROUP
        for right in range(max(0, correct - others), min(GROUP, correct) + 1):
            choices = comb(correct, right) * comb(samples - correct, GROUP - right) / comb(samples, GROUP)
            believed = torch.tensor([(correct - right + 0.5) / (others + 1)], dtype=torch.float64)
            weight = problems * choices * float(preference.log_weights(believed, 1).exp())
            mixed, total = mixed + weight * (0 < right < GROUP), total + weight
    return mixed / total


def _say_if_replaced(file: Path, rates: Rates) -> None:
    try:
        before = read_rates(file)
    except UserError:
        return
    if before.model_sha256 != rates.model_sha256:
        print(f"{file}: in place of the rates of {before.model}")
