import pytest

from pacs.metrics.document import written_into
from pacs.metrics.entry import SUFFIXES
from pacs.metrics.ours import OURS
from tests.metrics.page import KEYS, PAGE, ROWS


def test_the_page_is_what_is_declared() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written_into(page), "run `python -m pacs.metrics docs/metrics.md`"


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="the page lacks the lines <!-- These tables are written by"):
        written_into("# Metrics\n")


def test_the_page_has_a_row_for_every_entry() -> None:
    declared = [metric.name for metrics in OURS.values() for metric in metrics]
    assert KEYS[: len(declared)] == declared
    assert len(KEYS) > len(declared) + 60  # verl's


def test_the_page_says_what_each_suffix_is() -> None:
    before = PAGE.read_text(encoding="utf-8").partition("<!-- These tables")[0]
    assert [suffix for suffix in SUFFIXES if f"`{suffix}`" not in before] == []


def test_no_line_runs_into_markup() -> None:
    """Each row has three cells, the last one sentences, and every code span that is opened is closed."""
    for row in ROWS:
        assert row.count("`") % 2 == 0, row
        assert row.count("|") == 2, row
        assert all(cell.strip() for cell in row.split("|")), row
        assert all(sentence.endswith(".") for sentence in row.split(" | ")[2].split("<br>")), row
