"""docs/metrics.md: a row for every metric, which says all that is asked of it."""

from pacs.metrics.ours import METRICS, SUFFIXES
from tests.metrics.page import BEFORE, KEYS, ROWS


def test_every_metric_of_ours_has_a_row() -> None:
    assert [metric.name for metric in METRICS if metric.name not in KEYS] == []


def test_no_key_has_two_rows() -> None:
    assert sorted(KEYS) == sorted(set(KEYS))


def test_names_of_ours_end_in_how_they_are_reduced() -> None:
    ours = [key for key in KEYS if key.startswith("pacs/") and not key.endswith("*")]
    assert len(ours) > 55
    assert [key for key in ours if not key.endswith(tuple(f"{line}{end}" for end in SUFFIXES for line in "/_"))] == []


def test_the_page_says_what_each_suffix_is() -> None:
    assert [suffix for suffix in SUFFIXES if f"`{suffix}`" not in BEFORE] == []


def test_no_line_runs_into_markup() -> None:
    """Each row has three cells, the last one sentences, and every code span that is opened is closed."""
    for row in ROWS:
        assert row.count("`") % 2 == 0, row
        assert row.count("|") == 2, row
        _, what, expected = (cell.strip() for cell in row.split("|"))
        assert what, row
        assert not what.endswith("."), row
        assert all(sentences.endswith(".") for sentences in expected.split("<br>")), row
