"""Pages as a whole: what they rest on, and that those that are kept are of today's records."""

from collections.abc import Callable
from pathlib import Path

import pytest

from recipes.laboratory import questions, report, tables
from recipes.laboratory import records as files
from recipes.laboratory.compared import Comparison, compare
from recipes.laboratory.plan import jobs
from recipes.laboratory.records import Records, record_of
from tests.recipes.laboratory.made import QUESTION, START, ask, recorded, records_of

Made = Callable[..., Comparison]


def test_what_a_page_rests_on(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = made()
    page = report.page(comparison)
    assert "18 finished runs" in page
    assert "of several versions" not in page
    assert "Not complete" not in page
    assert page.startswith("# Better: countdown\n")
    assert "Which is better?" in page
    comparison.records[0]["code"] = "another"  # type: ignore[index]
    assert "of several versions" in report.page(comparison)


def test_a_page_says_where_rates_were_chosen_on_the_test_problems(made: Made) -> None:
    on_test = QUESTION.replace("split: probe", "split: test")
    told = "**The rate of never and grpo was chosen on the test problems**"
    assert told in report.page(made(text=on_test))
    assert "chosen on the test problems" not in report.page(made())
    assert "chosen on the test problems" not in report.page(made(text="own_starts: true\n" + on_test))


@pytest.mark.parametrize("own_starts", [True, False])
def test_what_runs_of_a_pair_share(own_starts: bool, made: Made) -> None:
    page = report.page(made(text=f"pairs: true\nown_starts: {str(own_starts).lower()}\n{QUESTION}"))
    assert ("at the same start of their own" in page) == own_starts
    assert ("All runs begin at one start" in page) == (not own_starts)


def test_a_question_that_is_not_complete_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = ask(tmp_path / "questions", monkeypatch)
    first = next(iter(jobs(question, "countdown", lambda run: None)))
    records = records_of(tmp_path / "results", recorded(first.run))
    page = report.page(compare(question, "countdown", records))
    assert "**Not complete: 17 runs are missing; nothing is concluded yet.**" in page
    assert "missing" in tables.learning_rates(compare(question, "countdown", records))


def test_files_are_written_for_what_has_records(made: Made, tmp_path: Path) -> None:
    made()
    written = report.write("", tmp_path / "results")
    assert [file.name for file in written] == ["better-countdown.md", "better-countdown.png"]
    before = [file.read_bytes() for file in written]
    assert [file.read_bytes() for file in report.write("better", tmp_path / "results")] == before


def test_a_question_of_which_another_ran_some_runs_has_no_page_before_it_is_begun(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made()
    written = ["better-countdown.md", "better-countdown.png"]
    of_more_seeds = QUESTION.replace("seeds: [0, 1, 2]", "seeds: [0, 1, 2, 3]")
    ask(tmp_path / "questions", monkeypatch, of_more_seeds, "larger")
    assert [file.name for file in report.write("", tmp_path / "results")] == written
    ask(tmp_path / "questions", monkeypatch, QUESTION, "larger")  # all its runs are there
    assert [file.name for file in report.write("", tmp_path / "results")] == [
        *written,
        "larger-countdown.md",
        "larger-countdown.png",
    ]


def test_a_figure_of_runs_that_are_no_longer_asked_for_goes(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made()
    report.write("", tmp_path / "results")
    ask(tmp_path / "questions", monkeypatch, QUESTION.replace("seeds: [100, 101]", "seeds: [100, 101, 102]"))
    assert [file.name for file in report.write("", tmp_path / "results")] == ["better-countdown.md"]
    assert not (tmp_path / "results" / "better-countdown.png").exists()


def test_records_of_edited_settings_are_not_mixed_in(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made()
    edited = ask(tmp_path / "questions", monkeypatch, QUESTION.replace("steps: 4", "steps: 5"))
    comparison = compare(edited, "countdown", Records(tmp_path / "results"))
    assert (comparison.records, comparison.missing) == ([], 18)


KEPT = [
    (name, task)
    for name in questions.names()
    for task in questions.read(name).tasks
    if (files.FOLDER / f"{name}-{task}.md").exists()
]


#: One page in so many is compared without `--all`: all are written by the same function.
EACH = 3


@pytest.mark.parametrize(
    ("name", "task"),
    [pytest.param(*page, marks=pytest.mark.long if i % EACH else ()) for i, page in enumerate(KEPT)],
)
def test_a_page_that_is_kept_is_what_the_records_say(name: str, task: str) -> None:
    kept = (files.FOLDER / f"{name}-{task}.md").read_text(encoding="utf-8")
    page = report.page(compare(questions.read(name), task, Records()))
    assert page == kept, f"run `python -m recipes.laboratory report {name}`"
    assert (files.FOLDER / f"{name}-{task}.png").exists() == (f"{name}-{task}.png" in kept)


def test_every_file_of_records_is_of_a_question_and_has_its_page() -> None:
    known = {f"{name}-{task}" for name in questions.names() for task in questions.read(name).tasks}
    for file in files.FOLDER.glob("*.jsonl"):
        assert file.stem in known, "the question, or its task, is no longer there"
        assert file.with_suffix(".md").exists(), "run `python -m recipes.laboratory report`"


def test_a_failure_that_was_mended_is_told(made: Made, tmp_path: Path) -> None:
    comparison = made()
    first = next(iter(jobs(comparison.question, "countdown", lambda run: None)))
    failed = record_of(first.run, START, wall_seconds=1.0, cause="not finite") | {"date": "2020-01-01T00:00:00+00:00"}
    again = compare(comparison.question, "countdown", records_of(tmp_path / "results", failed))
    assert "`not finite` (finished when it was tried again)" in report.page(again)
    assert not again.missing
