from pathlib import Path

from pacs.planning.document import page

PAGE = Path(__file__).parents[2] / "docs" / "scaling.md"


def test_the_page_is_what_the_plan_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m pacs.planning > docs/scaling.md`"
