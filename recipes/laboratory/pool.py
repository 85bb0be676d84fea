"""Training problems drawn by how often the policy is believed to solve them, as `run.rollouts.pool` has it."""

from pathlib import Path

import torch

from pacs.algorithm.pool import Pool
from pacs.algorithm.preference import Preference
from pacs.base.files import file_sha256
from pacs.data.rates import Rate, Rates, problem_key, read_rates, write_rates
from recipes.laboratory.beginning import Beginning
from recipes.laboratory.grading import grade
from recipes.laboratory.sampling import sample
from recipes.laboratory.settings import Settings
from recipes.laboratory.starts import start_digest
from recipes.starts.read import Problems, read_problems

#: Of each problem, by the start, for `rates`; and problems that are sampled at a time.
SAMPLES, AT_A_TIME = 16, 128


def pool_of(start: Path, begun: Beginning, settings: Settings) -> Pool | None:
    """The pool of a run's problems; None where they are drawn alike.

    With `rates` it begins with what the start solves, sampled once for all runs of a start and kept beside it; the run
    does not count that among its rollouts.

    Args:
        start: the folder of the run's start.
        begun: what is read of it, before any update.
        settings: of the run.
    """
    drawing = settings.drawing
    if drawing.weights is None:
        return None
    preference = Preference(**drawing.preference(settings.responses))
    pool = Pool(len(begun.train), preference, drawing.half_life, settings.seed)
    if drawing.rates:
        rates = {rate.key: rate for rate in _rates(start, begun)}
        for problem, key in enumerate(_keys(begun.train)):
            pool.observe(problem, rates[key].correct, rates[key].samples)
    return pool


def _rates(start: Path, begun: Beginning) -> list[Rate]:
    """Of all of a start's training problems. Two runs that begin at once rate them both, and write the same."""
    place = start.absolute()
    file = place.with_name(f"{place.name}.rates.jsonl")
    if file.is_file() and (known := read_rates(file)).model_sha256 == start_digest(start):
        return known.problems
    data = start / "train.parquet"
    rates = _rated(begun, read_problems(data))
    about = Rates(file_sha256(data), str(start), start_digest(start), {"temperature": 1.0}, {}, {}, rates)
    write_rates(file, about)
    return rates


def _rated(begun: Beginning, problems: Problems) -> list[Rate]:
    generator, right = torch.Generator().manual_seed(0), []
    for first in range(0, len(problems), AT_A_TIME):
        some = problems.of(range(first, min(first + AT_A_TIME, len(problems))))
        samples = sample(
            begun.policy,
            begun.tokenizer,
            some.messages,
            samples=SAMPLES,
            max_tokens=begun.max_response_tokens,
            generator=generator,
        )
        each = some.of([row // SAMPLES for row in range(len(samples))])
        right += grade(samples.texts, each.answers, each.verifiers).view(-1, SAMPLES).sum(1).int().tolist()
    return [Rate(key, str(i), right[i], SAMPLES) for i, key in enumerate(_keys(problems))]


def _keys(problems: Problems) -> list[str]:
    return [problem_key(*one) for one in zip(problems.messages, problems.answers, strict=True)]
