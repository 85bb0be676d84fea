"""Grading all samples of an evaluation again, from its folder alone."""

from dataclasses import replace
from itertools import islice
from pathlib import Path

from tqdm import tqdm

from pacs.evaluation.folder import Grade, read_grades, read_problems, read_samples
from pacs.evaluation.grade import Grader, check_settings_work
from pacs.evaluation.grading import Grading, VerifierSettings
from pacs.evaluation.settings import Settings, read_settings
from pacs.evaluation.store import replace_grades

#: Samples that are in memory at a time.
BATCH = 1000


def regrade(out: Path, given: VerifierSettings) -> dict[str, str]:
    """Grade all samples, then replace all grades, and write down by which settings that was.

    Args:
        out: the evaluation's folder; this process holds its lock.
        given: settings of the verifiers in the place of those that the folder was graded with.

    Returns:
        Of each task how many grades there are, and how many are others than before.

    Raises:
        UserError: If its files are damaged, or a verifier refuses its settings.
    """
    settings = read_settings(out)
    grading = settings.grading.changed(given) if settings.grading else Grading.of(None, given)
    new = replace(settings, grading=grading)
    grades = {task: _grade(out, task, new) for task in settings.tasks}
    said = {}
    for task, some in grades.items():
        before = read_grades(out, task)
        changed = sum(grade != before.get(grade.key) for grade in some)
        said[task] = f"{len(some):,} samples graded, {changed:,} otherwise than before"
    if new != settings:
        # Cut off anywhere, no grade is of other settings than those written down; `pacs evaluate` grades the rest.
        for task in grades:
            replace_grades(out, task, [])
        new.write(out)
    for task, some in grades.items():
        replace_grades(out, task, some)
    return said


def _grade(out: Path, task: str, settings: Settings) -> list[Grade]:
    problems = {problem.id: problem for problem in read_problems(out, task)}
    check_settings_work(list(problems.values()), settings.verifiers)
    samples = read_samples(out, task, settings.model.prefix)
    grades: list[Grade] = []
    grader = Grader(settings.verifiers)
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
    return grades
