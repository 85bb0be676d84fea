"""recipes/minimal.ipynb runs from its first cell to its last, and its scores do what it says."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "recipes" / "minimal.ipynb"

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(900)]

CHECK = """
firsts = [point for point in curve if (point["step"] - 1) % settings.reset_every == 0]
assert len(firsts) == 3
assert all(point["right"].mean() > point["wrong"].mean() for point in firsts)
assert any(point["loss"] > 0.8 for point in curve)
rewards = [point["reward"] for point in curve]
assert sum(rewards[-4:]) > sum(rewards[:4]) + 1
"""


def execute(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    return NotebookClient(notebook, timeout=800, resources={"metadata": {"path": NOTEBOOK.parent}}).execute()


def test_it_runs_and_shows_what_it_says() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "the notebook is kept without outputs"
    notebook.cells.append(nbformat.v4.new_code_cell(CHECK))
    done = execute(notebook)
    assert any("image/png" in output.get("data", {}) for cell in done.cells for output in cell.get("outputs", ()))


def test_it_runs_without_resets_as_its_end_proposes() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    made = re.compile(r"settings = (Settings\(.*\))")
    changed = r"settings = dataclasses.replace(\1, steps=2, reset_every=None)"
    for cell in notebook.cells:
        cell.source = made.sub(changed, cell.source).replace("import copy\n", "import copy\nimport dataclasses\n")
    execute(notebook)
