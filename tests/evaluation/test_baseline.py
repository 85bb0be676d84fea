"""`pacs data baseline` as a user gives it, with an engine of the test's own in vLLM's place."""

import json
import math
import os
import signal
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from transformers import AutoTokenizer

from pacs import cli
from pacs.base.files import file_sha256
from pacs.commands.evaluate import STOPPED
from pacs.data.baseline import baseline_file, read_baseline_file, read_baselines
from pacs.data.rates import problem_key
from pacs.evaluation import engines
from pacs.evaluation.engine import EngineFailure, Finished, Request
from pacs.evaluation.measuring_engine import MeasuringEngine
from pacs.evaluation.model import model_sha256
from tests.evaluation.conftest import write_model

NAME = "reference_probability"


class Engine:
    """Gives each answer's token a probability by its place from the end; dies after so many answers."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        self.dies_after = 10**9
        self.signalled = False
        self.kinds: list[type] = []

    def generate(
        self, ready: Any, queue: deque[Request], deliver: Callable[[Finished], None], tick: Any, stop: Any
    ) -> None:
        while queue:
            if len(self.asked) == self.dies_after:
                if self.signalled:
                    os.kill(os.getpid(), signal.SIGTERM)
                raise EngineFailure("engine 0: it died")
            request = queue.popleft()
            self.asked.append(request)
            log_probs = [math.log((1 + token) / 200) for token in request.prompt[-request.seed :]]
            deliver(Finished(request.id, json.dumps(log_probs), request.seed, False, None, 0))
            tick()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Engine:
    made = Engine()
    monkeypatch.setattr(engines, "cluster", lambda address: nullcontext())
    monkeypatch.setattr(engines, "start_engines", lambda settings, logs, stop, kind: made.kinds.append(kind))
    monkeypatch.setattr(engines, "generate", made.generate)
    return made


ANSWERS = ["a lot", "none", "some or other"]


def write(file: Path, answers: list[str], verifier: str = NAME) -> Path:
    file.parent.mkdir(exist_ok=True)
    rows = [
        {
            "data_source": "words",
            "prompt": [{"role": "user", "content": f"how much {number}"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": answer},
            "extra_info": {"index": number, "split": "train", "verifier": verifier},
        }
        for number, answer in enumerate(answers)
    ]
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write(tmp_path / "words" / "train.parquet", ANSWERS)


@pytest.fixture
def baseline(capsys: pytest.CaptureFixture[str], model: Path) -> Callable[..., tuple[int, str]]:
    """Runs the command; its exit status and all that it says."""

    def run(*words: object, of: Path = model) -> tuple[int, str]:
        capsys.readouterr()
        status = cli.main(["data", "baseline", *map(str, (of, *words))])
        said = capsys.readouterr()
        return status, said.out + said.err

    return run


def test_each_answer_is_measured_behind_the_bare_prompt(baseline: Any, engine: Engine, file: Path, model: Path) -> None:
    status, said = baseline("--data", file)
    assert status == 0, said
    assert engine.kinds == [MeasuringEngine]
    found = read_baseline_file(baseline_file(file))
    assert (found.data_sha256, found.model_sha256) == (file_sha256(file), model_sha256(model))
    tokenizer = AutoTokenizer.from_pretrained(model)
    means = []
    for number, answer in enumerate(ANSWERS):
        prompt = [{"role": "user", "content": f"how much {number}"}]
        rendered = tokenizer.apply_chat_template(prompt, add_generation_prompt=True, tokenize=False)
        assert tokenizer.decode(engine.asked[number].prompt) == f"{rendered}\\boxed{{{answer}"
        tokens = tokenizer.encode(answer, add_special_tokens=False)
        assert engine.asked[number].seed == len(tokens)
        means.append(sum((1 + token) / 200 for token in tokens) / len(tokens))
        assert found.problems[number].key == problem_key(prompt, answer)
    assert [each.probability for each in found.problems] == pytest.approx(means)
    assert read_baselines([file, file.with_name("other.parquet")]) == {
        each.key: each.probability for each in found.problems
    }


def test_it_goes_on_where_it_stopped(baseline: Any, engine: Engine, file: Path) -> None:
    engine.dies_after = 2
    status, said = baseline("--data", file)
    assert (status, "pacs data baseline: engine 0: it died" in said) == (1, True)
    assert not baseline_file(file).exists()
    engine.dies_after = 10**9
    assert baseline("--data", file)[0] == 0
    assert len(engine.asked) == len({request.id for request in engine.asked}) == len(ANSWERS)
    first = baseline_file(file).read_bytes()
    assert baseline("--data", file)[0] == 0
    assert (len(engine.asked), baseline_file(file).read_bytes()) == (len(ANSWERS), first)


def test_engines_that_die_of_a_signal_to_all_processes_are_no_failure(
    baseline: Any, engine: Engine, file: Path
) -> None:
    engine.dies_after, engine.signalled = 1, True
    status, said = baseline("--data", file)
    assert (status, "stopped by SIGTERM" in said, "it died" in said) == (STOPPED, True, False)
    engine.dies_after = 10**9
    assert baseline("--data", file)[0] == 0


def test_what_is_of_other_data_another_model_or_other_settings_is_measured_anew(
    baseline: Any, engine: Engine, file: Path, tmp_path: Path
) -> None:
    assert baseline("--data", file)[0] == 0
    assert baseline("--data", file, "--opens", "<answer>")[0] == 0
    assert len(engine.asked) == 2 * len(ANSWERS)
    assert read_baseline_file(baseline_file(file)).opens == "<answer>"
    other = tmp_path / "other"
    write_model(other, seed=3)
    assert baseline("--data", file, "--opens", "<answer>", of=other)[0] == 0
    assert len(engine.asked) == 3 * len(ANSWERS)
    write(file, [*ANSWERS[:2], "all"])
    assert baseline("--data", file, "--opens", "<answer>", of=other)[0] == 0
    assert len(engine.asked) == 4 * len(ANSWERS)


def test_what_cannot_be_measured_is_refused(baseline: Any, engine: Engine, file: Path, tmp_path: Path) -> None:
    def refused(*words: object, **of: Path) -> str:
        status, said = baseline(*words, **of)
        assert status == 2, said
        assert engine.asked == []
        return said

    assert "no such file" in refused("--data", tmp_path / "none.parquet")
    assert "--opens: give the text" in refused("--data", file, "--opens", " ")
    other = write(tmp_path / "sums" / "train.parquet", ["1"], verifier="math")
    assert f"no row is graded by {NAME}" in refused("--data", other)
    assert "no such folder" in refused("--data", file, of=tmp_path / "no" / "such" / "model")


def test_an_evaluation_of_such_rows_is_refused(
    engine: Engine, file: Path, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["evaluate", str(model), "--tasks", f"words={file}", "--max-tokens", "24", "--out", str(tmp_path / "out")]
    assert cli.main(words) == 2
    assert "a training run alone measures what it grades by" in capsys.readouterr().err


def test_a_damaged_file_is_told_of(file: Path) -> None:
    from pacs.base.errors import UserError

    baseline_file(file).write_text('{"data_sha256": 3}\n')
    with pytest.raises(UserError, match="is not what `pacs data baseline` writes"):
        read_baseline_file(baseline_file(file))
