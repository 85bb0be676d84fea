"""Evaluations on disk as `pacs evaluate` leaves them, made by its own writers."""

import random
from pathlib import Path

from pacs.evaluation.folder import Store, write_problems
from pacs.evaluation.grade import grade
from pacs.evaluation.grading import Grading
from pacs.evaluation.sample import Problem, Sample, sample_seed
from pacs.evaluation.settings import ModelSettings, Sampling, Settings, TaskSettings

TASK = "sums"
MODEL = ModelSettings(name="tiny", folder="/models/tiny", sha256="ab" * 32)


def settings_of(*, samples: int = 4, model: ModelSettings = MODEL, sampling: Sampling | None = None) -> Settings:
    task = TaskSettings(data="/data/sums.parquet", sha256="cd" * 32, problems=3, samples=samples, ks=(1, 2))
    return Settings(model, sampling or Sampling(), {TASK: task}, {"pacs": "0"}, grading=Grading.of(None, {}))


def problems() -> list[Problem]:
    return [
        Problem(f"p{a}", [{"role": "user", "content": f"{a}+{a}"}], "sums", str(2 * a), {"index": a}) for a in range(3)
    ]


def sample_of(problem: Problem, index: int) -> Sample:
    """Right for even indices; else wrong, without an answer, or cut off."""
    answer = {1: "\\boxed{77}", 3: "I wonder"}.get(index % 4, f"\\boxed{{{problem.ground_truth}}}")
    seed = sample_seed(0, TASK, problem.id, index)
    return Sample(problem.id, index, seed, f"Well: {answer}", 5 + index, truncated=index % 4 == 3)


def write_evaluation(out: Path, *, samples: int = 4, keep: int | None = None, graded: bool = True) -> list[Sample]:
    """An evaluation with its samples in the order of no problem; `keep` of them, if it was cut off."""
    settings = settings_of(samples=samples)
    write_problems(out, TASK, problems())
    settings.write(out)
    pairs = [(problem, index) for problem in problems() for index in range(samples)]
    random.Random(0).shuffle(pairs)
    store = Store(out, TASK, MODEL.prefix)
    drawn = []
    for problem, index in pairs[:keep]:
        drawn.append(sample_of(problem, index))
        store.add(drawn[-1])
        if graded:
            store.add_grade(grade(problem, drawn[-1], settings.verifiers))
    store.close()
    return drawn
