"""Evaluations side by side, from their folders."""

import json
import random
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from pacs import cli
from pacs.base.statistics import RESAMPLES, SEED, pass_at_k
from pacs.evaluation.compare import compare
from pacs.evaluation.grading import Grading
from pacs.evaluation.results import read_evaluations, write_results
from pacs.evaluation.summary import summarize
from tests.evaluation.grading import task_of

N = 8


def right(seed: int, lift: float = 0.0, problems: int = 20) -> dict[str, int]:
    """Right samples of each problem."""
    generator = random.Random(seed)
    return {f"p{i}": min(N, round(N * (generator.random() * 0.6 + lift))) for i in range(problems)}


def settings(**sampling: object) -> dict:
    return {
        "model": {"name": "org/model", "sha256": "0123456789abcdef"},
        "sampling": {"temperature": 0.6, "seed": 0, **sampling},
        "tasks": {"aime24": {"sha256": "d1"}},
        "versions": {"vllm": "1"},
    }


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Two evaluations of one task, the second better on most problems; each has another task of its own."""
    folders = [tmp_path / "base", tmp_path / "tuned"]
    for folder, counts, other in zip(folders, [right(0), right(0, 0.3)], ["amc23", "math500"], strict=True):
        folder.mkdir()
        tasks = [task_of("aime24", counts, N), task_of(other, right(1), N)]
        write_results(folder, settings(), [summarize(task, [1, 4, 8]) for task in tasks])
    return folders


def run(*arguments: object) -> int:
    return cli.main(["evaluate", "compare", *map(str, arguments)])


def refuses(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What one line of stderr says."""
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("pacs evaluate compare: ")


def test_a_difference_is_that_of_the_same_problems(folders: list[Path]) -> None:
    """A loop over the draws, of which each takes the same problems from both."""
    (task,) = compare(read_evaluations(folders))
    base, tuned = right(0), right(0, 0.3)
    drawn = np.random.default_rng(SEED).integers(20, size=(RESAMPLES, 20))
    for k in (1, 4, 8):
        values = [[pass_at_k(N, counts[f"p{i}"], k) for i in range(20)] for counts in (base, tuned)]
        means = [fmean(values[1][i] for i in draw) - fmean(values[0][i] for i in draw) for draw in drawn[:2000]]
        found = task.differences["tuned"][k]
        assert found.mean == pytest.approx(fmean(values[1]) - fmean(values[0]))
        low, high = np.percentile(means, [2.5, 97.5])
        assert (found.low, found.high) == pytest.approx((low, high), abs=0.15 * (high - low))
        # Two independent intervals would be wider: the problems are as hard for both.
    apart = task.pass_at["tuned"][1].high - task.pass_at["base"][1].low
    assert task.differences["tuned"][1].high < apart


def test_the_order_of_the_problems_does_not_matter(folders: list[Path], tmp_path: Path) -> None:
    turned = tmp_path / "turned"
    turned.mkdir()
    counts = dict(reversed(right(0, 0.3).items()))
    write_results(turned, settings(), [summarize(task_of("aime24", counts, N), [1, 4, 8])])
    (straight,), (other) = compare(read_evaluations(folders)), compare(read_evaluations([folders[0], turned]))
    assert straight.differences["tuned"] == other[0].differences["turned"]


def test_the_page(folders: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*folders, "--reported", "Qwen3-8B PACS") == 0
    page = capsys.readouterr().out
    rows = {
        line.split("|")[1].strip(): line for line in page.split("## aime24: 20 problems")[1].splitlines() if "|" in line
    }
    assert list(rows)[2:] == ["base", "tuned", "tuned − base", "Qwen3-8B PACS (reported)"]
    assert rows["tuned − base"].count("*") >= 1
    assert rows["tuned − base"].split("|")[2].strip().startswith("+")
    assert [cell.strip() for cell in rows["Qwen3-8B PACS (reported)"].split("|")[2:-1]] == ["57.58", "76.24", "81.21"]
    assert "arXiv 2509.02522v2" in page
    assert "of 128 samples a problem" in page
    assert "Only some have amc23 (base): left out." in page
    assert "differs" not in page


def test_no_star_where_nothing_differs(folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twin = tmp_path / "twin"
    twin.mkdir()
    (twin / "results.json").write_bytes((folders[0] / "results.json").read_bytes())
    assert run(folders[0], twin) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| twin − base")][:1]
    assert "+0.00 [+0.00, +0.00]" in row
    assert "*" not in row


def test_a_single_problem_is_no_evidence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, count in (("a", 1), ("b", 7)):
        (tmp_path / name).mkdir()
        write_results(tmp_path / name, settings(), [summarize(task_of("t", {"p": count}, N), [1])])
    assert run(tmp_path / "a", tmp_path / "b") == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| b − a")]
    assert len(rows) == 2  # of the mean over tasks, and of the task
    for row in rows:
        assert "+75.00" in row
        assert "*" not in row


def test_other_settings_are_said_above_the_table(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hot = tmp_path / "hot"
    hot.mkdir()
    tasks = [summarize(task_of("aime24", {p: 2 * c for p, c in right(0).items()}, 2 * N), [1, 16])]
    write_results(hot, settings(temperature=1.0, top_k=50), tasks)
    assert run(folders[0], hot) == 0
    said = capsys.readouterr().out.split("## pass@1")[0]
    assert "**Not everything but the model is the same:**" in said
    assert "- sampling.temperature differs: 0.6 (base), 1.0 (hot)." in said
    assert "- sampling.top_k differs: None (base), 50 (hot)." in said
    assert "- aime24: samples a problem differs: 8 (base), 16 (hot)." in said


def test_json_holds_the_same(folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "comparison.json"
    assert run(*folders, "--k", "2", "--reported", "LIMO", "--out", out) == 0
    assert capsys.readouterr().out == f"{out}\n"
    content = json.loads(out.read_text())
    (task,) = content["tasks"]
    values = [pass_at_k(N, c, 2) for c in right(0).values()]
    assert task["pass_at"]["base"]["2"]["mean"] == pytest.approx(fmean(values))
    assert list(task["differences"]) == ["tuned"]
    assert content["reported"][0]["pass_at"]["aime24"] == {"1": 0.4086}


def test_the_reported_names_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--reported", "list") == 0
    assert "Qwen3-8B PACS w/o weight" in capsys.readouterr().out.splitlines()


def test_other_problems_are_refused_and_named(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    counts = {f"p{i}": 1 for i in range(5, 22)}
    task = task_of("aime24", counts, N)
    write_results(other, settings(), [summarize(task, [1])])
    said = refuses(capsys, folders[0], other)
    assert "aime24 has other problems in other than in base" in said
    assert "only base has p0, p1, p2 and 2 more; only other has p20, p21" in said


def test_another_right_answer_is_another_problem(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    content = json.loads((folders[0] / "results.json").read_text())
    content["tasks"][0]["problems"][3]["gold"] = "another"
    (other / "results.json").write_text(json.dumps(content))
    assert "(of another right answer p3)" in refuses(capsys, folders[0], other)


def test_no_task_in_common(folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other"
    other.mkdir()
    write_results(other, settings(), [summarize(task_of("beyondaime", {"p": 1}, N), [1])])
    said = refuses(capsys, folders[0], other)
    assert "no task in common: base has aime24, amc23; other has beyondaime" in said


def test_folders_of_one_name_are_told_apart_by_their_paths(folders: list[Path], tmp_path: Path) -> None:
    twin = tmp_path / "elsewhere" / "base"
    twin.mkdir(parents=True)
    (twin / "results.json").write_bytes((folders[1] / "results.json").read_bytes())
    assert [evaluation.label for evaluation in read_evaluations([folders[0], twin])] == [
        f"{tmp_path.name}/base",
        "elsewhere/base",
    ]


def test_evaluations_that_were_graded_otherwise_are_said_so(
    folders: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gradings = {
        "plain": {"math": {"accept_unevaluated": False, "timeout_seconds": 3.0}},
        "lenient": {"math": {"accept_unevaluated": True, "timeout_seconds": 3.0}, "newer": {"a": 1}},
        "old": None,
    }
    for name, verifiers in gradings.items():
        (tmp_path / name).mkdir()
        content = json.loads((folders[0] / "results.json").read_text())
        content["settings"]["grading"] = verifiers and vars(Grading(verifiers))
        (tmp_path / name / "results.json").write_text(json.dumps(content))

    def said(*names: str) -> list[str]:
        assert run(*(tmp_path / name for name in names), "--k", 1) == 0
        return [line for line in capsys.readouterr().out.splitlines() if "grad" in line]

    assert said("plain", "lenient") == ["- grading: math.accept_unevaluated differs: false (plain), true (lenient)."]
    recorded = "- By which settings of the verifiers the samples were graded is not recorded"
    assert said("old", "plain") == [f"{recorded}: old (`pacs evaluate grade` grades them again)."]
    assert len(said("old", "plain", "lenient")) == 2
