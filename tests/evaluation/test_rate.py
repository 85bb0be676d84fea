"""`pacs data rate` as a user gives it, with an engine of the test's own in vLLM's place."""

import itertools
import math
import random
from collections import Counter, deque
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from pacs import cli
from pacs.algorithm.preference import Preference
from pacs.base.files import file_sha256
from pacs.data.rates import Rate, Rates, rates_file, read_rates
from pacs.evaluation import engines
from pacs.evaluation.engine import EngineFailure, Finished, Request
from pacs.evaluation.model import model_sha256
from pacs.evaluation.rate import mixed_share
from pacs.evaluation.tasks import load_problems
from tests.evaluation.conftest import write_data, write_model

SAMPLES, DIGITS = 6, 4


class Engine:
    """Answers by the request's seed alone; dies after so many answers."""

    def __init__(self) -> None:
        self.answers: list[Request] = []
        self.dies_after = 10**9

    def generate(
        self,
        ready: Any,
        queue: deque[Request],
        deliver: Callable[[Finished], None],
        tick: Callable[[], None],
        stop: Any,
    ) -> None:
        while queue:
            if len(self.answers) == self.dies_after:
                raise EngineFailure("engine 0: it died")
            request = queue.popleft()
            self.answers.append(request)
            deliver(Finished(request.id, f"\\boxed{{{digit(request.seed)}}}", 3, False, None, 0))
            tick()


def digit(seed: int) -> int:
    return random.Random(seed).randrange(DIGITS)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr(engines, "cluster", lambda address: nullcontext())
    monkeypatch.setattr(engines, "start_engines", lambda *rest: [])
    monkeypatch.setattr(engines, "generate", made.generate)
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Twelve sums, as training data of a folder of its own."""
    (tmp_path / "sums").mkdir()
    return write_data(tmp_path / "sums" / "train.parquet", [(a, b) for a in range(3) for b in range(4)])


@pytest.fixture
def rate(capsys: pytest.CaptureFixture[str], model: Path) -> Callable[..., tuple[int, str]]:
    """Runs the command; its exit status and all that it says."""

    def run(*words: object, of: Path = model) -> tuple[int, str]:
        capsys.readouterr()
        status = cli.main(["data", "rate", *map(str, (of, *words))])
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def words(*files: Path, samples: int = SAMPLES) -> list[object]:
    return ["--data", *files, "--samples", samples, "--max-tokens", 24]


def test_the_rates_are_those_of_the_samples(rate: Any, engine: Engine, file: Path, model: Path) -> None:
    status, said = rate(*words(file))
    assert status == 0, said
    assert "12 problems, pass rate 0." in said
    rates = read_rates(rates_file(file))
    assert (rates.data_sha256, rates.model_sha256) == (file_sha256(file), model_sha256(model))
    assert (rates.sampling["temperature"], rates.sampling["top_p"]) == (1.0, 1.0)
    # The requests come problem by problem, in the order of the file.
    right: Counter[str] = Counter()
    for number, request in enumerate(engine.answers):
        problem = load_problems(file)[number // SAMPLES]
        right[problem.id] += str(digit(request.seed)) == problem.ground_truth
    assert [(each.id, each.correct, each.samples) for each in rates.problems] == [
        (problem.id, right[problem.id], SAMPLES) for problem in load_problems(file)
    ]
    assert len(set(right.values())) > 1
    assert (file.parent / "train.rates" / "settings.json").is_file()


def test_it_goes_on_where_it_stopped_and_more_samples_are_added(
    rate: Any, engine: Engine, file: Path, tmp_path: Path
) -> None:
    engine.dies_after = 20
    status, said = rate(*words(file))
    assert (status, "pacs data rate: engine 0: it died" in said, "goes on from there" in said) == (1, True, True)
    assert not rates_file(file).exists()
    engine.dies_after = 10**9
    assert rate(*words(file))[0] == 0
    assert len(engine.answers) == len({request.seed for request in engine.answers}) == 12 * SAMPLES
    first = rates_file(file).read_bytes()
    assert rate(*words(file))[0] == 0
    assert rates_file(file).read_bytes() == first
    assert rate(*words(file, samples=2 * SAMPLES))[0] == 0
    assert len(engine.answers) == 24 * SAMPLES
    # What was stopped and added to is what one start would have made.
    assert rate(*words(file, samples=2 * SAMPLES), "--out", tmp_path / "at_once")[0] == 0
    assert len(engine.answers) == 48 * SAMPLES
    assert rate(*words(file, samples=2 * SAMPLES))[1].count("with run.rollouts.pool.weights=") == 2
    rates = read_rates(rates_file(file))
    assert {each.samples for each in rates.problems} == {2 * SAMPLES}


def test_several_files_have_rates_each(rate: Any, engine: Engine, file: Path, tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    more = write_data(tmp_path / "more" / "train.parquet", [(2, 2), (0, 1)])
    status, said = rate(*words(file, more), "--out", tmp_path / "rated")
    assert status == 0, said
    found = [read_rates(rates_file(each)) for each in (file, more)]
    assert [len(rates.problems) for rates in found] == [12, 2]
    assert [rates.data_sha256 for rates in found] == [file_sha256(file), file_sha256(more)]
    assert not (file.parent / "train.rates").exists()


def test_another_model_is_refused_in_a_folder_and_said_where_it_takes_the_place(
    rate: Any, engine: Engine, file: Path, tmp_path: Path
) -> None:
    assert rate(*words(file))[0] == 0
    before: Rates = read_rates(rates_file(file))
    other = write_model(tmp_path / "other", seed=2)
    status, said = rate(*words(file), of=other)
    assert (status, "samples of another model" in said, "another --out" in said) == (2, True, True)
    assert read_rates(rates_file(file)) == before
    status, said = rate(*words(file), "--out", tmp_path / "of_other", of=other)
    assert (status, "train.rates.jsonl: in place of the rates of " in said) == (0, True)
    assert read_rates(rates_file(file)).model_sha256 == model_sha256(other)


@pytest.mark.parametrize("preference", [Preference("sqrt"), Preference("target", low=0.2)])
def test_the_mixed_share_is_that_of_all_choices_of_a_group(preference: Preference) -> None:
    """Brute force: each group of 8 of 10 samples, drawn by the weight of what the other two say."""
    rates = [Rate(str(right), str(right), right, 10) for right in (0, 1, 1, 3, 6, 9, 10)]
    mixed = total = 0.0
    for each in rates:
        samples = [1] * each.correct + [0] * (10 - each.correct)
        for group in itertools.combinations(range(10), 8):
            p = (each.correct - sum(samples[i] for i in group) + 0.5) / 3
            weight = (
                0.0 if p < preference.low else math.sqrt(p * (1 - p)) if preference.low == 0 else (p * (1 - p)) ** 4
            )
            mixed += weight * (0 < sum(samples[i] for i in group) < 8)
            total += weight
    assert mixed_share(rates, preference) == pytest.approx(mixed / total, rel=1e-12)


def test_what_cannot_be_rated_is_refused(rate: Any, engine: Engine, file: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.parquet"
    broken.write_text("no parquet")
    for given, said in [
        (["--data", "nowhere.parquet"], "--data nowhere.parquet: no such file: `pacs data prepare` makes one"),
        (["--data", broken], "is not a parquet file in verl's schema"),
        (["--data", file, file], "both would go by sums-train: rate one after the other"),
        (
            [*words(file), "--temperature", "0.5", "--reward-kwargs", "math.nothing=1"],
            "math.nothing is not a setting",
        ),
        ([*words(file), "--out", tmp_path / "sums"], "has other files"),
    ]:
        status, printed = rate(*given)
        assert (status, said in printed) == (2, True), printed
    assert not rates_file(file).exists()


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(["data", "rate", "--help"])
    assert stopped.value.code == 0
    said = capsys.readouterr().out
    for word in (
        "run.rollouts.pool.rates=true",
        "train.rates.jsonl",
        "default: 1.0",
        "--samples",
        "Repeating the command resumes it",
    ):
        assert word in said
