"""Grading all samples of a task again, from its folder alone."""

from itertools import islice
from pathlib import Path

from tqdm import tqdm

from pacs.evaluation.folder import Grade, read_grades, read_problems, read_samples
from pacs.evaluation.grade import Grader
from pacs.evaluation.settings import read_settings
from pacs.evaluation.store import replace_grades

#: Samples that are in memory at a time.
BATCH = 1000


def regrade(out: Path, task: str) -> str:
    """Grade all samples of a task, then replace its grades.

    Returns:
        How many grades there are, and how many are others than before.

    Raises:
        EvaluationError: If its files are damaged.
    """
    problems = {problem.id: problem for problem in read_problems(out, task)}
    samples = read_samples(out, task, read_settings(out).model.prefix)
    before = read_grades(out, task)
    grades: list[Grade] = []
    grader = Grader()
    try:
        with tqdm(desc=task, unit=" samples", disable=None) as progress:
            while batch := list(islice(samples, BATCH)):
                for sample in batch:
                    grader.submit(task, problems[sample.problem], sample)
                for _, grade in grader.graded(wait=True):
                    grades.append(grade)
                    progress.update()
    finally:
        grader.close()
    replace_grades(out, task, grades)
    changed = sum(grade != before.get(grade.key) for grade in grades)
    return f"{len(grades):,} samples graded, {changed:,} otherwise than before"
