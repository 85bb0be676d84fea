"""What is there of a question's runs, and what is left."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pacs.base.units import duration
from recipes.laboratory.plan import Job, criterion_of, jobs
from recipes.laboratory.questions import Question
from recipes.laboratory.records import Records


@dataclass(frozen=True)
class Missing:
    """What is left to run: how many runs, of how many, and by the clock of one worker; None: nothing is known of it."""

    runs: int
    of: int
    failed: int
    seconds: float | None


def missing(question: Question, task: str, records: Records, *, retry: bool = False) -> Missing:
    """What is left of a question on a task, by the starts of the newest records; runs that failed only with `retry`."""
    all_jobs = list(jobs(question, task, records.of))
    states = [record["state"] if job.ready and (record := records.of(job.run)) else "missing" for job in all_jobs]
    left = [job for job, state in zip(all_jobs, states, strict=True) if state in ("missing", retry and "failed")]
    seconds = [records.expected_seconds(job.run) for job in left]
    known = [each for each in seconds if each is not None]
    return Missing(
        runs=len(left),
        of=len(all_jobs),
        failed=states.count("failed"),
        seconds=sum(known) if len(known) == len(seconds) else None,
    )


def line(question: Question, task: str, job: Job, record: Mapping[str, Any], records: Records, workers: int) -> str:
    """What is said of a run that has just ended: what came out, how many are left, and how long they may take."""
    criterion = question.arms[job.arm].tuning.criterion
    failed = record["state"] == "failed"
    said = f"FAILED: {record['cause']}" if failed else f"{criterion} {criterion_of(record, criterion):.3f}"
    left = missing(question, task, records)
    eta = "" if left.seconds is None else f", about {duration(left.seconds / workers)}"
    return (
        f"[{left.of - left.runs}/{left.of}] {question.name} {task}: {named(job)}: {said}, "
        f"{duration(record['wall_seconds'])}; {left.runs} left{eta}"
    )


def named(job: Job) -> str:
    """A run in words."""
    settings = job.run.settings
    lr = f"lr {settings.lr:g}" if job.ready else "lr to be chosen"
    return f"{job.arm} ({job.stage}), {lr}, seed {settings.seed}"
