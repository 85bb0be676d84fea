"""`pacs data rate` with vLLM: killed in the middle, gone on with, and its rates counted from its samples."""

import json
import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from pacs.data.rates import problem_key, rates_file, read_rates
from tests.evaluation.conftest import write_data
from tests.evaluation.real_evaluation import family, finish, lines, run, start, those_left, wait_for

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1800)]

COMMAND, TASK, SAMPLES, MORE = ("data", "rate"), "train-sums", 30, 40


def test_a_killed_rating_goes_on_and_counts_every_sample_once(model: Path, tmp_path: Path) -> None:
    (tmp_path / "train").mkdir()
    sums = [(a, b) for a in range(5) for b in range(8)]
    file = write_data(tmp_path / "train" / "sums.parquet", sums)
    words = [model, "--data", file, "--max-tokens", 32, "--dtype", "float32", "--samples"]
    out = file.with_name("sums.rates")

    process = start(*words, SAMPLES, command=COMMAND)
    wait_for(process, lambda: out.is_dir() and len(lines(out, TASK)) >= 100)
    started = family(process)
    process.kill()
    assert finish(process)[0] == -signal.SIGKILL
    assert those_left(started) == []
    before = lines(out, TASK)
    assert 100 <= len(before) < SAMPLES * len(sums)
    assert not rates_file(file).exists()

    for samples in (SAMPLES, MORE):  # goes on; then has more of each
        status, said = run(*words, samples, command=COMMAND)
        assert status == 0, said
        after = lines(out, TASK)
        assert after[: len(before)] == before
        before = after
        told = [json.loads(line) for line in after]
        assert len({(each["problem"], each["index"]) for each in told}) == len(told) == samples * len(sums)
        right: Counter[str] = Counter()
        for each in told:
            answers = re.findall(r"\\boxed\{(\d)\}", each["response"])
            a, b = each["problem"].split("+")
            right[each["problem"]] += bool(answers) and int(answers[-1]) == int(a) + int(b)
        rates = read_rates(rates_file(file))
        assert rates.model == str(model)
        assert {rate.id: (rate.correct, rate.samples) for rate in rates.problems} == {
            f"{a}+{b}": (right[f"{a}+{b}"], samples) for a, b in sums
        }
        asked = [{"role": "user", "content": "What is 2+3? Think well."}]
        assert problem_key(asked, "5") in {rate.key for rate in rates.problems}
        assert sum(right.values()) > 0
        assert "of the groups of these" in said

    status, said = run(*words, MORE, command=COMMAND)
    assert status == 0, said
    assert lines(out, TASK) == before
