from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.planning import page

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"


def test_the_page_ends_in_what_the_plan_says() -> None:
    end = page.tables()
    assert PAGE.read_text(encoding="utf-8").endswith(end), "end docs/scaling.md with `python -m tests.planning.page`"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_page_s_partial_rollouts_are_what_the_plan_says() -> None:
    assert f"\n\n{page.partial_rollouts()}\n" in PAGE.read_text(encoding="utf-8")


def test_a_run_that_does_not_fit_is_not_written_as_one_that_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "make_plan", lambda *_, **__: SimpleNamespace(fits=False))
    with pytest.raises(ValueError, match="does not fit"):
        page.planned("pacs", "Qwen/Qwen3-8B")
