"""The plan's memory against what torch allocates, in real updates by PACS's worker on the CPU."""

from pathlib import Path

import pytest

from benchmarks.plan import measure


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    "case",
    [
        "arithmetic",
        pytest.param("checkpointed", marks=pytest.mark.long),
        pytest.param("vocabulary, fused", marks=pytest.mark.long),
    ],
)
def test_an_update_takes_the_planned_memory(case: str, tmp_path: Path) -> None:
    measured = measure(case, tmp_path, resident=False)
    assert measured.planned == pytest.approx(measured.allocated, rel=0.15)
