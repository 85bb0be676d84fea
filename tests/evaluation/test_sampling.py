"""What is asked of the engines, and what is kept of it."""

from pathlib import Path

from pacs.evaluation.engine import Finished
from pacs.evaluation.folder import read_samples, write_problems
from pacs.evaluation.sample import sample_seed
from pacs.evaluation.sampling import Work
from pacs.evaluation.settings import Sampling
from tests.evaluation.folders import MODEL, TASK, problems, settings_of, write_evaluation

PROMPTS = {(TASK, problem.id): [number] for number, problem in enumerate(problems())}
SEED = 7


def test_every_sample_of_a_problem_is_drawn_with_a_seed_of_its_own_and_kept_with_it(tmp_path: Path) -> None:
    settings = settings_of(samples=5, sampling=Sampling(seed=SEED))
    write_problems(tmp_path, TASK, problems())
    with Work(tmp_path, settings, {TASK: problems()}, PROMPTS) as work:
        asked = list(work.queue)
        wanted = [
            ([number], sample_seed(SEED, TASK, problem.id, index))
            for number, problem in enumerate(problems())
            for index in range(5)
        ]
        assert [(request.prompt, request.seed) for request in asked] == wanted
        assert len({request.seed for request in asked}) == len(asked) == 15
        for request in reversed(asked):
            work._deliver(Finished(request.id, "\\boxed{1}", 3, False, None, 0))
    kept = {(sample.problem, sample.index): sample.seed for sample in read_samples(tmp_path, TASK, MODEL.prefix)}
    assert kept == {key: sample_seed(SEED, TASK, *key) for key in kept}
    assert len(kept) == 15


def test_what_is_there_is_not_asked_for_again(tmp_path: Path) -> None:
    there = {(sample.problem, sample.index) for sample in write_evaluation(tmp_path, samples=4, keep=5)}
    with Work(tmp_path, settings_of(samples=6), {TASK: problems()}, PROMPTS) as work:
        asked = {request.seed for request in work.queue}
    every = {(problem.id, index) for problem in problems() for index in range(6)}
    assert asked == {sample_seed(0, TASK, *key) for key in every - there}
