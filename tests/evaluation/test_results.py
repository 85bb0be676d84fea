"""The numbers of a task, counted by hand, and the files they are written to."""

import json
import re
from pathlib import Path

import pytest

from pacs.base.errors import UserError
from pacs.evaluation.folder import Timing
from pacs.evaluation.results import read_results, write_results
from pacs.evaluation.sample import GradedTask
from pacs.evaluation.summary import TaskResult, summarize
from tests.evaluation.grading import graded, problem, task_of

SETTINGS = {
    "model": {"name": "org/tiny|model", "sha256": "ab12"},
    "sampling": {"temperature": 0.6, "max_tokens": 64},
    "tasks": {"sums": {"samples": 4}},
}


@pytest.fixture
def result() -> TaskResult:
    samples = {
        "one": [
            graded("one", 0, "correct", "7", tokens=10),
            graded("one", 1, "correct", "7.0", tokens=20),
            graded("one", 2, "wrong", "8", tokens=30),
            graded("one", 3, "no_answer", tokens=64, truncated=True),
        ],
        "two": [
            graded("two", 0, "unevaluated", "3+4", tokens=5),
            graded("two", 1, "timeout", "2", tokens=5),
            graded("two", 2, "error", "3", tokens=64, truncated=True),
            graded("two", 3, "correct", "7", tokens=6),
        ],
    }
    return summarize(GradedTask("sums", [problem("one"), problem("two")], samples), [1, 2, 4], Timing(4.0, 200))


def test_every_number_of_a_task(result: TaskResult) -> None:
    assert [(count.id, count.n, count.right) for count in result.problems] == [("one", 4, 2), ("two", 4, 1)]
    assert result.samples == 4
    assert result.accuracy.mean == 3 / 8
    assert {k: estimate.mean for k, estimate in result.pass_at.items()} == {
        1: 3 / 8,
        2: pytest.approx((5 / 6 + 3 / 6) / 2),
        4: 1.0,
    }
    assert result.maj_at[1].mean == pytest.approx(3 / 8)
    # Of the pairs of `one` RR, RW (4, of which 2 with W a vote), W-; of `two` each right one ties with a wrong one.
    drawn = ((1 + 2 * 0.5 + 2) / 6 + 3 * 0.5 / 6) / 2
    assert result.maj_at[2].mean == pytest.approx(drawn, abs=0.03)
    assert result.maj_at[4].mean == pytest.approx((1 + 1 / 4) / 2)
    assert result.statuses == {
        "correct": 3 / 8, "wrong": 1 / 8, "unevaluated": 1 / 8, "no_answer": 1 / 8, "timeout": 1 / 8, "error": 1 / 8
    }  # fmt: skip
    assert result.truncated == 2 / 8
    assert (result.mean_tokens, result.mean_tokens_right, result.mean_tokens_wrong) == (204 / 8, 36 / 3, 168 / 5)
    assert (result.seconds, result.tokens_per_second) == (4.0, 200 / 4)


def test_what_is_not_there_is_not_made_up() -> None:
    result = summarize(task_of("sums", {"one": 0, "two": 0}, 4), [4])
    assert (result.mean_tokens_right, result.seconds, result.tokens_per_second) == (None, None, None)
    assert result.accuracy.mean == 0.0
    assert list(result.pass_at) == [4]


def test_programs_have_no_majority() -> None:
    assert summarize(task_of("programs", {"one": 2}, 4, verifier="code"), [1, 4]).maj_at == {}


def test_problems_are_told_apart_by_their_right_answer() -> None:
    samples = {"one": [graded("one", 0, "wrong", "1")]}
    results = [summarize(GradedTask("sums", [problem("one", gold)], samples), [1]) for gold in ("7", "8", "7")]
    golds = [result.problems[0].gold for result in results]
    assert golds[0] == golds[2] != golds[1]


def test_refuses_what_cannot_be_estimated() -> None:
    with pytest.raises(ValueError, match=r"^k=5: .*n=4"):
        summarize(task_of("sums", {"one": 1}, 4), [1, 5])
    uneven = task_of("sums", {"one": 1, "two": 1}, 4)
    uneven.samples["two"].pop()
    with pytest.raises(ValueError, match=r"sums: problems have \[3, 4\] samples"):
        summarize(uneven, [1])


def test_results_can_be_read_again(result: TaskResult, tmp_path: Path) -> None:
    write_results(tmp_path, SETTINGS, [result])
    assert read_results(tmp_path) == (SETTINGS, [result])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["results.json", "results.md"]


def cells(page: str, title: str) -> list[list[str]]:
    """The table under a heading, without its rule."""
    lines = page.split(f"## {title}\n\n")[1].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert len({len(line) for line in lines}) == 1, "columns are not aligned"
    return [rows[0], *rows[2:]]


def test_the_page_has_the_papers_tables(result: TaskResult, tmp_path: Path) -> None:
    other = summarize(task_of("products", {"a": 8, "b": 4}, 8, verifier="code"), [1, 8])
    write_results(tmp_path, SETTINGS, [result, other])
    page = (tmp_path / "results.md").read_text()
    assert page.startswith("# Evaluation of org/tiny|model\n")
    assert re.search(r"^20\d\d-\d\d-\d\d\. In percent", page, re.MULTILINE)
    head, (name, *shares, mean) = cells(page, "pass@1")
    assert head == ["", "sums", "products", "mean"]
    assert (name, *shares) == ("org/tiny\\|model", "37.50", "75.00")
    # Of all draws of each task's problems by themselves.
    assert mean == "56.25 [37.50, 75.00]"
    # Both draws of one problem alone have a chance of 1/4, so the interval reaches from one to the other.
    assert cells(page, "pass@k") == [
        ["", "problems", "samples", "pass@1", "pass@2", "pass@4", "pass@8"],
        ["sums", "2", "4", "37.50 [25.00, 50.00]", "66.67 [50.00, 83.33]", "100.00 [100.00, 100.00]", "–"],
        ["products", "2", "8", "75.00 [50.00, 100.00]", "–", "–", "100.00 [100.00, 100.00]"],
    ]
    assert [row[0] for row in cells(page, "maj@k")] == ["", "sums", "products"]
    shares, lengths = ["25.00", "37.50", *["12.50"] * 5], ["25.5", "12.0", "33.6"]
    assert cells(page, "Samples")[1] == ["sums", *shares, *lengths, "4.0", "50.0"]
    assert ["sampling.temperature", "0.6"] in cells(page, "Settings")
    assert ["tasks.sums.samples", "4"] in cells(page, "Settings")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "has no results.json: give the --out folder of an evaluation"),
        ("{", "cannot be read (Expecting"),
        ("[]", "cannot be read"),
        (json.dumps({"settings": {}, "tasks": [{"task": "sums"}]}), "0.samples: Field required"),
    ],
)
def test_damaged_results_are_refused(content: str | None, says: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    with pytest.raises(UserError, match=re.escape(says)):
        read_results(tmp_path)
