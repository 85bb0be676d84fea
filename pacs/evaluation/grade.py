"""Grades samples by the verifier of the training: beside whatever else this process does, or all of a folder again."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

from tqdm import tqdm

from pacs.base.errors import UserError
from pacs.data.verify import gold_problems
from pacs.evaluation.folder import read_grades, read_problems, read_samples, replace_grades
from pacs.evaluation.grading import OPTION, Grading, VerifierSettings
from pacs.evaluation.sample import Grade, Problem, Sample
from pacs.evaluation.settings import Settings, read_settings
from pacs.rewards.cores import cores_to_grade
from pacs.rewards.reasoning import ANSWER_BEGINS
from pacs.rewards.registry import DEFAULT, compute_score

#: A thread waits while a process compares answers, or runs a program.
MAX_THREADS = 16
#: Samples that are in memory at a time while all are graded again.
BATCH = 1000


def grade(problem: Problem, sample: Sample, verifiers: VerifierSettings) -> Grade:
    """The verifier's word on one sample.

    Args:
        problem: that it answers.
        sample: to be graded.
        verifiers: their settings.

    Raises:
        ValueError: If the verifier refuses its settings, or gives a score that is neither right nor wrong.
    """
    name = problem.extra_info.get("verifier") or DEFAULT
    settings: dict[str, Any] = {name: verifiers[name]} if name in verifiers else {}
    info = problem.extra_info | ({} if sample.answer_begins is None else {ANSWER_BEGINS: sample.answer_begins})
    verdict = compute_score(problem.data_source, sample.response, problem.ground_truth, info, **settings)
    score, status = verdict["score"], verdict["status"]
    if score != (status == "correct"):
        raise ValueError(
            f"the verifier {name} gave {problem.id} the score {score} with the status {status}: an evaluation counts "
            "right and wrong answers; give the score 1.0 with the status correct, and 0.0 with any other"
        )
    return Grade(problem.id, sample.index, score, status, verdict["predicted"])


def ungradable(problems: Sequence[Problem], verifiers: VerifierSettings) -> list[Problem]:
    """Grade an empty response to each problem; return those whose right answers the verifier cannot grade by.

    Raises:
        UserError: If a verifier refuses its settings.
    """
    try:
        statuses = [grade(each, Sample(each.id, 0, 0, "", 0, truncated=False), verifiers).status for each in problems]
    except ValueError as error:
        raise UserError(f"{OPTION}: {error}") from error
    return [problem for problem, status in zip(problems, statuses, strict=True) if status == "error"]


def check_grading_works(problems: Sequence[Problem], verifiers: VerifierSettings) -> list[str]:
    """Look for what cannot be graded before any sample is drawn.

    Returns:
        Of each verifier that cannot grade by some of the right answers what that means, as a sentence.

    Raises:
        UserError: If a verifier refuses its settings, or the right answers of half of its problems or more: these would
            count as never solved. Of choices one is enough, since the letters are a setting.
    """
    if wrong := ungradable(problems, verifiers):
        first, name = wrong[0], wrong[0].extra_info.get("verifier") or DEFAULT
        by_letters = name == "multiple_choice" and first.extra_info.get("choices") is None
        letters = f"name the letters of all choices ({OPTION} {name}.letters=ABCDE), or " * by_letters
        raise UserError(
            f"by the right answers of {len(wrong):,} of {len(problems):,} problems {name} cannot grade (the first: "
            f"{first.ground_truth[:60]!r}, of {first.id} of {first.data_source}): {letters}leave such rows out"
        )
    by_verifier: dict[str, list[Problem]] = {}
    for problem in problems:
        by_verifier.setdefault(problem.extra_info.get("verifier") or DEFAULT, []).append(problem)
    said = []
    for name, some in by_verifier.items():
        reasons = gold_problems([problem.ground_truth for problem in some], name)
        found = [(problem, why) for problem, why in zip(some, reasons, strict=True) if why]
        if not found:
            continue
        first, why = found[0]
        what = (
            f"by the right answers of {len(found):,} of {len(some):,} problems {name} cannot grade (the first: "
            f"{first.ground_truth[:60]!r}, of {first.id} of {first.data_source}: {why})"
        )
        if 2 * len(found) >= len(some):
            raise UserError(f"{what}: leave such rows out, or name another verifier in extra_info.verifier")
        said.append(f"{what}: what differs from their text is not right; leave such rows out")
    return said


class Grader:
    """Grades in threads; each sample's grade is handed back with what it was submitted with.

    Args:
        verifiers: their settings.
    """

    def __init__(self, verifiers: VerifierSettings) -> None:
        self._verifiers = verifiers
        self._threads = ThreadPoolExecutor(min(MAX_THREADS, cores_to_grade()), "grade")
        self._done: SimpleQueue[tuple[str, Future[Grade]]] = SimpleQueue()
        self.waiting = 0

    def submit(self, task: str, problem: Problem, sample: Sample) -> None:
        """Have a sample graded."""
        self.waiting += 1
        future = self._threads.submit(grade, problem, sample, self._verifiers)
        future.add_done_callback(lambda done: self._done.put((task, done)))

    def graded(self, wait: bool = False) -> Iterator[tuple[str, Grade]]:
        """The grades that have come since, with their tasks.

        Args:
            wait: for all that was submitted.

        Raises:
            Exception: What the verifier raises: it is broken, and no answer is.
        """
        while self.waiting:
            try:
                task, future = self._done.get(block=wait)
            except Empty:
                return
            self.waiting -= 1
            yield task, future.result()

    def close(self) -> None:
        """End; what has not begun is not graded."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def regrade(out: Path, given: VerifierSettings) -> dict[str, str]:
    """Grade all samples, then replace all grades, and write down by which settings that was.

    Args:
        out: the evaluation's folder; this process holds its lock.
        given: settings of the verifiers in place of those that the folder was graded with.

    Returns:
        Of each task how many grades there are, and how many are others than before.

    Raises:
        UserError: If its files are damaged, or a verifier refuses its settings.
        KeyboardInterrupt: By Ctrl-C while samples are graded, with what is kept.
    """
    settings = read_settings(out)
    grading = settings.grading.changed(given) if settings.grading else Grading.of(None, given)
    new = replace(settings, grading=grading)
    try:
        grades = {task: _grade(out, task, new) for task in settings.tasks}
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the old grades are kept") from None
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
    problems = read_problems(out, task, settings.tasks[task].problems)
    ungradable(problems, settings.verifiers)  # settings that a verifier refuses
    return grade_all(task, problems, read_samples(out, task, settings.model.prefix), settings.verifiers)


def grade_all(
    task: str, problems: Sequence[Problem], samples: Iterator[Sample], verifiers: VerifierSettings
) -> list[Grade]:
    """The grades of samples, in any order, with a progress bar.

    Args:
        task: its name.
        problems: of the task.
        samples: of these; a part of them is in memory at a time.
        verifiers: their settings.
    """
    by_id = {problem.id: problem for problem in problems}
    grades: list[Grade] = []
    with closing(Grader(verifiers)) as grader, tqdm(desc=task, unit=" samples", disable=None) as progress:
        while batch := list(islice(samples, BATCH)):
            for sample in batch:
                grader.submit(task, by_id[sample.problem], sample)
            for _, grade in grader.graded(wait=True):
                grades.append(grade)
                progress.update()
    return grades
