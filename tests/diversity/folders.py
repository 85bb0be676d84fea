"""Evaluation folders as `pacs evaluate` writes them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pacs.evaluation.folder import Store, write_problems
from pacs.evaluation.grading import Grading, VerifierSettings
from pacs.evaluation.sample import Grade, Graded, GradedTask, Problem, Sample
from pacs.evaluation.settings import ModelSettings, Sampling, Settings, TaskSettings
from pacs.rewards.verdict import Status


class Response(NamedTuple):
    """What a test says of a sample."""

    text: str
    status: Status = "correct"
    predicted: str = "7"
    token_entropy: float | None = None


Responses = Mapping[str, Sequence[Response]]


def make_task(responses: Responses, name: str = "sums") -> GradedTask:
    problems = [
        Problem(problem, [{"role": "user", "content": f"problem {problem}"}], "test", "7", {}) for problem in responses
    ]
    samples = {
        problem: [
            Graded(
                Sample(problem, index, 0, one.text, len(one.text), False, one.token_entropy),
                float(one.status == "correct"),
                one.status,
                one.predicted,
            )
            for index, one in enumerate(some)
        ]
        for problem, some in responses.items()
    }
    return GradedTask(name, problems, samples)


def write_folder(
    out: Path, tasks: Mapping[str, Responses], model: str = "/nowhere/model", given: VerifierSettings | None = None
) -> Path:
    """Write an evaluation; `model` is the folder whose tokenizer is looked for, `given` what graded it."""
    out.mkdir(parents=True)
    settings = Settings(
        ModelSettings(model, model, "ab" * 32),
        Sampling(),
        {
            name: TaskSettings("data.parquet", "0" * 64, len(some), len(next(iter(some.values()))), (1,))
            for name, some in tasks.items()
        },
        {},
        grading=Grading.of(None, given or {}),
    )
    settings.write(out)
    for name, responses in tasks.items():
        task = make_task(responses, name)
        write_problems(out, name, task.problems)
        store = Store(out, name, settings.model.prefix)
        for graded in (one for some in task.samples.values() for one in some):
            store.add(graded.sample)
            store.add_grade(
                Grade(graded.sample.problem, graded.sample.index, graded.score, graded.status, graded.predicted)
            )
        store.close()
    return out
