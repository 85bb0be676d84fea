"""Three evaluations with unlike numbers of samples, and what is only in some of them."""

import re
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from pacs import cli
from pacs.base.statistics import pass_at_k
from pacs.evaluation.compare import compare, notes
from pacs.evaluation.results import read_evaluations, write_results
from pacs.evaluation.summary import summarize
from tests.evaluation.grading import task_of

#: Evaluation -> samples of a problem, right ones of each problem, ks of its results.
GIVEN: dict[str, tuple[int, dict[str, int], list[int]]] = {
    "base": (8, {"a": 1, "b": 4, "c": 0}, [1, 2, 8]),
    "few": (4, {"a": 2, "b": 4, "c": 1}, [1, 4]),
    "many": (16, {"a": 1, "b": 15, "c": 8}, [1, 16]),
}


def settings(**sampling: object) -> dict[str, Any]:
    return {
        "model": {"name": "org/model", "sha256": "0123456789abcdef"},
        "sampling": {"temperature": 0.6, **sampling},
        "tasks": {"aime24": {"sha256": "d1"}},
        "versions": {"vllm": "1"},
    }


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """The third alone was sampled otherwise, and the second alone lacks the task `u`."""
    for name, (n, right, ks) in GIVEN.items():
        (tmp_path / name).mkdir()
        tasks = [summarize(task_of("aime24", right, n), ks)]
        if name != "few":
            tasks.append(summarize(task_of("u", {"d": 1}, n), [1]))
        write_results(tmp_path / name, settings(temperature=1.0 if name == "many" else 0.6), tasks)
    return [tmp_path / name for name in GIVEN]


def test_each_is_compared_with_the_first_at_the_ks_that_all_have_samples_for(folders: list[Path]) -> None:
    (task,) = compare(read_evaluations(folders))
    mean = {
        name: {k: fmean(pass_at_k(n, count, k) for count in right.values()) for k in (1, 2, 4)}
        for name, (n, right, _) in GIVEN.items()
    }
    found = {name: {k: value.mean for k, value in at.items()} for name, at in task.pass_at.items()}
    assert found == {name: pytest.approx(at) for name, at in mean.items()}
    less = {name: {k: value.mean for k, value in at.items()} for name, at in task.differences.items()}
    assert less == {
        name: pytest.approx({k: mean[name][k] - mean["base"][k] for k in (1, 2, 4)}, abs=1e-12)
        for name in ("few", "many")
    }


def test_a_k_is_refused_that_one_of_them_lacks_samples_for(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["evaluate", "compare", *map(str, folders), "--k", "1,8"]) == 2
    assert "--k 8 is more than the 4 samples a problem of aime24 in few" in capsys.readouterr().err


def test_what_the_third_alone_has_otherwise_is_said(folders: list[Path]) -> None:
    said = notes(read_evaluations(folders), ["aime24"])
    assert "sampling.temperature differs: 0.6 (base), 0.6 (few), 1.0 (many)." in said
    assert "aime24: samples a problem differs: 8 (base), 4 (few), 16 (many)." in said
    assert [note for note in said if "left out" in note] == [
        "Only some have u (base): left out.",
        "Only some have u (many): left out.",
    ]


def test_the_mean_over_tasks_is_of_tasks_and_missing_where_one_is(
    folders: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Tasks weigh the same, whatever number of problems they have; a reported column without one has no mean."""
    base, _, many = folders
    assert cli.main(["evaluate", "compare", str(base), str(many), "--reported", "LIMO"]) == 0
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in capsys.readouterr().out.split("## pass@1")[1].splitlines()
        if line.startswith("|")
    ]
    shares = {row[0]: row[1:] for row in rows[2:6]}
    assert shares["base"][:2] == [f"{100 * 5 / 24:.2f}", f"{100 / 8:.2f}"]
    means = {"base": 100 * (5 / 24 + 1 / 8) / 2, "many": 100 * (24 / 48 + 1 / 16) / 2}
    for label, mean in means.items():
        said, low, high = map(float, re.findall(r"[\d.]+", shares[label][2]))
        assert said == pytest.approx(mean, abs=0.005)
        assert low < said < high
    # The same problems are drawn for both.
    gained = [float(number) for number in re.findall(r"[-+][\d.]+", shares["many − base"][2])]
    assert gained[0] == pytest.approx(means["many"] - means["base"], abs=0.005)
    assert gained[1] < gained[0] < gained[2]
    assert float(shares["many − base"][0]) == pytest.approx(100 * (24 / 48 - 5 / 24), abs=0.005)
    known, *others = shares["LIMO (reported)"]
    assert float(known) > 0
    assert others == ["–", "–"]
