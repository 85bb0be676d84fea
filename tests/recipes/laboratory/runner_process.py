"""A runner for the tests that end it, on starts that are there.

python -m tests.recipes.laboratory.runner_process FOLDER QUESTION_AS_TEXT
"""

import sys
from pathlib import Path

import pytest

from recipes.laboratory.runner import Runner
from tests.recipes.laboratory.made import ask, no_starts

CHILD = (sys.executable, "-m", "tests.recipes.laboratory.fake_child")


def main() -> int:
    """Run it; returns the status of a command that ends so."""
    folder = Path(sys.argv[1])
    with pytest.MonkeyPatch.context() as patch:
        no_starts(patch)
        question = ask(folder / "questions", patch, sys.argv[2])
        number = Runner(question, "countdown", results=folder / "results", work=folder / "work", child=CHILD).run()
    return 128 + number if number else 0


if __name__ == "__main__":
    sys.exit(main())
