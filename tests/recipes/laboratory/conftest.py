"""What several tests of the report begin with."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recipes.laboratory.compared import Comparison, compare
from recipes.laboratory.plan import Run, jobs
from tests.recipes.laboratory.made import QUESTION, ask, recorded, records_of

Made = Callable[..., Comparison]


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """The comparison of a question whose runs are all recorded as `record` has them."""

    def make(record: Callable[[Run], dict[str, Any]] = recorded, text: str = QUESTION) -> Comparison:
        question = ask(tmp_path / "questions", monkeypatch, text)
        seen: dict[str, dict[str, Any]] = {}

        def found(run: Run) -> dict[str, Any]:
            one = record(run)
            return seen.setdefault(one["key"], one)

        for job in jobs(question, "countdown", found):
            found(job.run)
        return compare(question, "countdown", records_of(tmp_path / "results", *seen.values()))

    return make
