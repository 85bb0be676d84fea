"""Grades samples by the verifier of the training, beside whatever else this process does."""

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue

from pacs.evaluation.folder import Grade
from pacs.evaluation.sample import Problem, Sample
from pacs.rewards.registry import compute_score

#: A thread waits while a process compares answers, or runs a program.
MAX_THREADS = 16


def grade(problem: Problem, sample: Sample) -> Grade:
    """The verifier's word on one sample."""
    verdict = compute_score(problem.data_source, sample.response, problem.ground_truth, problem.extra_info)
    return Grade(problem.id, sample.index, verdict["score"], verdict["status"], verdict["predicted"])


class Grader:
    """Grades in threads; each sample's grade is handed back with what it was submitted with."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(min(MAX_THREADS, max(2, (os.cpu_count() or 2) // 2)), "grade")
        self._done: SimpleQueue[tuple[str, Future[Grade]]] = SimpleQueue()
        self.waiting = 0

    def submit(self, task: str, problem: Problem, sample: Sample) -> None:
        """Have a sample graded."""
        self.waiting += 1
        future = self._threads.submit(grade, problem, sample)
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
