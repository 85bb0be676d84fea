import math

import pytest

from pacs.base.tables import format_cell
from pacs.report import format_table


def test_columns_are_aligned_numbers_to_the_right():
    table = {
        "greedy accuracy": {"before": 0.61, "after": 0.957},
        "seconds": {"after": 412.04, "steps": 90},
    }
    assert format_table(table, corner="held-out").splitlines() == [
        "held-out         before  after  steps",
        "---------------  ------  -----  -----",
        "greedy accuracy   0.610  0.957      –",
        "seconds               –  412.0     90",
    ]


def test_a_table_without_rows_is_its_header():
    assert format_table({}, corner="empty") == "empty\n-----"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (0.0, "0.000"),
        (0.5, "0.500"),
        (-3.14159, "-3.142"),
        (99.9, "99.900"),
        (1234.56, "1234.6"),
        (1e-6, "1.0e-06"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (12345, "12345"),
        (True, "yes"),
        (None, "–"),
        ("two\nlines\t here", "two lines here"),
    ],
)
def test_cells(cell, text):
    assert format_cell(cell) == text
