"""Times and sizes as a person reads them."""

import pytest

from pacs.base.units import duration, size


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (99_949, "99.9 kB"), (99_950, "100 kB"), (999_499, "999 kB"),
     (999_500, "1.0 MB"), (12_345_678, "12.3 MB"), (98.8e9, "98.8 GB"), (1.5e12, "1.5 TB"), (2.5e15, "2500.0 TB")],
)  # fmt: skip
def test_sizes(count, text):
    assert size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (99, "99 s"), (100, "2 min"), (5940, "99 min"), (5999, "1 h 40 min"), (170_000, "47 h 13 min"),
     (172_800, "2 d 0 h"), (3600 * 100, "4 d 4 h")],
)  # fmt: skip
def test_durations(seconds, text):
    assert duration(seconds) == text
