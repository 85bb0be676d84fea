"""What lies in an evaluation's folder: for all that read it, and for the one process that holds its lock and writes.

settings.json                      see `pacs.evaluation.settings`
samples/TASK/problems.jsonl        a `Problem` a line: the folder needs no other data
samples/TASK/generated-0000.jsonl  a `Sample` a line and the model's hash; a new file after so many lines
samples/TASK/grades.jsonl          the verifier's word on each sample
samples/TASK/timing.json           seconds and tokens of the generation
results.json, results.md           see `pacs.evaluation.results`
model/                             a training checkpoint, merged
logs/engine-0.log                  what vLLM printed
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.files import Appender, inside, read_json, read_lines, to_line, write_atomically
from pacs.evaluation.sample import Grade, Graded, GradedTask, Key, Problem, Sample
from pacs.evaluation.settings import Settings, read_settings

SAMPLES = "samples"
MODEL = "model"
LOGS = "logs"
PROBLEMS = "problems.jsonl"
GRADES = "grades.jsonl"
TIMING = "timing.json"
#: What to do about a damaged line, of samples and grades and of problems.
MADE_UP = "remove that line, and the same `pacs evaluate` makes up for it"
WRITTEN_AGAIN = "remove the file, and the same `pacs evaluate` writes it again"
#: Samples of one file.
SHARD_LINES = 10_000


@dataclass(frozen=True)
class Timing:
    """Of the generation of one task, over all starts: seconds of wall-clock time, and tokens that came in them."""

    seconds: float = 0.0
    tokens: int = 0


def task_folder(out: Path, task: str) -> Path:
    """Where a task's files are.

    Raises:
        UserError: If its name, which may be a stranger's, is not that of a folder in this one.
    """
    return within(out, SAMPLES, task)


def task_file(out: Path, task: str, name: str) -> Path:
    """A file of a task; raises as `task_folder`, also where the file is a link that leads out of the evaluation."""
    return within(out, SAMPLES, task, name)


def within(out: Path, *names: str) -> Path:
    """What lies in an evaluation's folder, by its names one below the other (`pacs.base.files.inside`).

    Raises:
        UserError: If one is no plain name, or a link leads out of the folder.
    """
    try:
        return inside(out, *names)
    except UserError as error:
        raise UserError(f"{error}: this is not how `pacs evaluate` writes a folder") from None


def task_names(out: Path) -> list[str]:
    """The tasks of an evaluation, in the order in which they were first asked for.

    Raises:
        UserError: If `out` is no evaluation.
    """
    return list(read_settings(out).tasks)


def read_task(out: Path, task: str) -> GradedTask:
    """All samples of a task with their grades.

    Raises:
        UserError: If there is no such task, or samples or grades are missing.
    """
    settings = read_settings(out)
    if task not in settings.tasks:
        raise UserError(f"{out} has no task {task}; it has {', '.join(settings.tasks)}")
    wanted = settings.tasks[task].samples
    problems = read_problems(out, task, settings.tasks[task].problems)
    grades = read_grades(out, task)
    samples: dict[str, dict[int, Graded]] = {problem.id: {} for problem in problems}
    for sample in read_samples(out, task, settings.model.prefix):
        grade = grades.get((sample.problem, sample.index))
        if sample.index < wanted and grade:
            samples[sample.problem][sample.index] = Graded(sample, grade.score, grade.status, grade.predicted)
    found = sum(map(len, samples.values()))
    if found < wanted * len(problems):
        raise UserError(
            f"{out}: {task} has {found:,} of {wanted * len(problems):,} graded samples: start the same `pacs evaluate` "
            "again, and it goes on"
        )
    return GradedTask(task, problems, {name: [some[index] for index in sorted(some)] for name, some in samples.items()})


def is_complete(out: Path, task: str, settings: Settings) -> bool:
    """Whether a task has all samples, and a grade of each."""
    return len(read_grades(out, task)) >= settings.tasks[task].samples * settings.tasks[task].problems


def has_problems(out: Path, task: str) -> bool:
    """Whether the task's problems are there."""
    return task_file(out, task, PROBLEMS).exists()


def read_problems(out: Path, task: str, number: int | None = None) -> list[Problem]:
    """The task's problems, in the order of their file; `number` is how many there must be, if that is known.

    Raises:
        UserError: If the file is not there, or has another number.
    """
    file = task_file(out, task, PROBLEMS)
    if not has_problems(out, task):
        raise UserError(f"{file} is missing: start the same `pacs evaluate` again, which writes it")
    problems = list(read_lines(file, lambda line: Problem(**line), WRITTEN_AGAIN))
    if number not in (None, len(problems)):
        raise UserError(f"{file} has {len(problems):,} of {number:,} problems: {WRITTEN_AGAIN}")
    return problems


def write_problems(out: Path, task: str, problems: list[Problem]) -> None:
    """Write the task's problems."""
    folder = task_folder(out, task)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / PROBLEMS, "".join(to_line(asdict(problem)) for problem in problems))


def read_samples(out: Path, task: str, model: str) -> Iterator[Sample]:
    """The task's samples, in the order in which they came, graded or not.

    Args:
        out: the evaluation's folder.
        task: the task's name.
        model: prefix of the hash of the evaluation's model.

    Raises:
        UserError: If one is of another model, or comes twice.
    """
    known_samples: set[Key] = set()
    for file in shards(task_folder(out, task)):
        for of_model, sample in read_lines(file, lambda line: (line.pop("model"), Sample(**line)), MADE_UP):
            if of_model != model:
                raise UserError(f"{file} has samples of another model than settings.json: remove that file")
            if (sample.problem, sample.index) in known_samples:
                raise UserError(f"{file} has sample {sample.index} of {sample.problem} twice: remove that file")
            known_samples.add((sample.problem, sample.index))
            yield sample


def has_samples(out: Path, settings: Settings) -> bool:
    """Whether anything was drawn for any task."""
    return any(file.stat().st_size for task in settings.tasks for file in shards(task_folder(out, task)))


def shards(folder: Path) -> list[Path]:
    """The files of a task's samples, in their order; raises as `task_file`."""
    return [within(folder, file.name) for file in sorted(folder.glob("generated-*.jsonl"))]


def read_grades(out: Path, task: str) -> dict[Key, Grade]:
    """The verifier's word on each sample that was graded."""
    lines = read_lines(task_file(out, task, GRADES), lambda line: Grade(**line), MADE_UP)
    return {grade.key: grade for grade in lines}


def read_timing(out: Path, task: str) -> Timing:
    """How long the generation took; nothing if that is not known."""
    with suppress(TypeError):  # of another version
        return Timing(**(read_json(task_file(out, task, TIMING)) or {}))
    return Timing()


def write_timing(out: Path, task: str, timing: Timing) -> None:
    """Write how long the generation has taken."""
    write_atomically(task_folder(out, task) / TIMING, json.dumps(asdict(timing)) + "\n")


class Store:
    """Appends a task's samples and grades, and knows which there are; of the process that holds the folder's lock.

    Args:
        out: the evaluation's folder.
        task: the task's name.
        model: prefix of the model's hash.
        shard_lines: samples of one file.

    Raises:
        UserError: If what is there is of another model, repeated or unreadable.
    """

    def __init__(self, out: Path, task: str, model: str, shard_lines: int = SHARD_LINES) -> None:
        self._out, self._task, self._model, self._shard_lines = out, task, model, shard_lines
        self.sampled: set[Key] = {(sample.problem, sample.index) for sample in read_samples(out, task, model)}
        grades = read_grades(out, task)
        # A power cut may take a sample and leave its grade; the sample is drawn again, and may be another.
        kept = {key: grade for key, grade in grades.items() if key in self.sampled}
        if len(kept) < len(grades):
            replace_grades(out, task, list(kept.values()))
        self.graded = set(kept)
        self._shard = Appender(shards(task_folder(out, task))[-1]) if self.sampled else self._new_shard()
        self._grades = Appender(task_file(out, task, GRADES))

    def add(self, sample: Sample) -> None:
        """Append a sample that is not there yet."""
        if self.sampled and len(self.sampled) % self._shard_lines == 0:
            self._shard.close()
            self._shard = self._new_shard()
        self._shard.write(asdict(sample) | {"model": self._model})
        self.sampled.add((sample.problem, sample.index))

    def add_grade(self, grade: Grade) -> None:
        """Append the grade of a sample that is there."""
        self._grades.write(asdict(grade))
        self.graded.add(grade.key)

    def ungraded(self) -> Iterator[Sample]:
        """The samples that wait for a grade."""
        if len(self.graded) < len(self.sampled):
            for sample in read_samples(self._out, self._task, self._model):
                if (sample.problem, sample.index) not in self.graded:
                    yield sample

    def close(self) -> None:
        """Close the files."""
        self._shard.close()
        self._grades.close()

    def _new_shard(self) -> Appender:
        return Appender(
            task_file(self._out, self._task, f"generated-{len(self.sampled) // self._shard_lines:04d}.jsonl")
        )


def replace_grades(out: Path, task: str, grades: list[Grade]) -> None:
    """Put other grades in place of the task's."""
    write_atomically(task_folder(out, task) / GRADES, "".join(to_line(asdict(grade)) for grade in grades))
