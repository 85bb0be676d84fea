"""Graded samples, made up."""

from pacs.evaluation.sample import Graded, GradedTask, Problem, Sample
from pacs.rewards.verdict import Status


def problem(id: str, gold: str = "7", verifier: str = "math") -> Problem:
    return Problem(id, [{"role": "user", "content": id}], "source", gold, {"verifier": verifier})


def graded(
    problem: str, index: int, status: Status, predicted: str = "", *, tokens: int = 10, truncated: bool = False
) -> Graded:
    sample = Sample(problem, index, seed=index, response="", tokens=tokens, truncated=truncated)
    return Graded(sample, float(status == "correct"), status, predicted)


def task_of(name: str, right: dict[str, int], n: int, verifier: str = "math") -> GradedTask:
    """A task with so many right samples of n of each problem; the others give the answers 0, 1, 0, 1..."""
    samples = {
        id: [graded(id, i, "correct", "7") if i < c else graded(id, i, "wrong", str(i % 2)) for i in range(n)]
        for id, c in right.items()
    }
    return GradedTask(name, [problem(id, verifier=verifier) for id in right], samples)
