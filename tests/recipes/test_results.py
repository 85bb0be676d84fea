"""The results that are kept in the recipes are whole, and their pages are what the file renders to."""

from pathlib import Path

import pytest

from pacs.sweeps.render import PLOT, TABLE, render
from pacs.sweeps.results import read

RECIPES = Path(__file__).parents[2] / "recipes"
RESULTS = sorted(RECIPES.glob("*/*/results.json"))


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: "-".join(file.parts[-3:-1]))
def test_the_page_is_what_the_file_says(file: Path) -> None:
    results = read(file)
    files = render(results)
    assert file.with_name(TABLE).read_bytes() == files[TABLE], f"pacs report {file} --out {file.parent}"
    assert file.with_name(PLOT).is_file()
    for setting in results["settings"]:
        assert setting["finished"] == setting["runs"]
        assert all(measure["interval"] == "seeds" for measure in setting["measures"].values())


@pytest.mark.parametrize("file", RESULTS, ids=lambda file: "-".join(file.parts[-3:-1]))
def test_the_recipe_shows_them(file: Path) -> None:
    page = (file.parents[1] / "README.md").read_text(encoding="utf-8")
    for name in (file.name, TABLE, PLOT):
        assert f"({file.parent.name}/{name})" in page
