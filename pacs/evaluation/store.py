"""What is written of one task, by the one process that holds the folder's lock."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from pacs.base.files import Appender, to_line, write_atomically
from pacs.evaluation.folder import GRADES, Grade, Key, read_grades, read_samples, shards, task_file, task_folder
from pacs.evaluation.sample import Sample

#: Samples of one file.
SHARD_LINES = 10_000


class Store:
    """Appends a task's samples and grades; knows which there are.

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
        self._lines = len(self.sampled)
        grades = read_grades(out, task)
        # A power cut may take a sample and leave its grade; the sample is drawn again, and may be another.
        kept = {key: grade for key, grade in grades.items() if key in self.sampled}
        if len(kept) < len(grades):
            replace_grades(out, task, list(kept.values()))
        self.graded = set(kept)
        self._shard = Appender(shards(task_folder(out, task))[-1]) if self._lines else self._new_shard()
        self._grades = Appender(task_file(out, task, GRADES))

    def add(self, sample: Sample) -> None:
        """Append a sample that is not there yet."""
        if self._lines and self._lines % self._shard_lines == 0:
            self._shard.close()
            self._shard = self._new_shard()
        self._shard.write(asdict(sample) | {"model": self._model})
        self._lines += 1
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
        return Appender(task_file(self._out, self._task, f"generated-{self._lines // self._shard_lines:04d}.jsonl"))


def replace_grades(out: Path, task: str, grades: list[Grade]) -> None:
    """Put other grades in the place of the task's."""
    write_atomically(task_folder(out, task) / GRADES, "".join(to_line(asdict(grade)) for grade in grades))
