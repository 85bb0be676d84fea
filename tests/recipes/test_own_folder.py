"""Whose folder `--out` names."""

from pathlib import Path

import pytest

from pacs.base.errors import UserError
from recipes.own_folder import check_own_folder


def test_a_folder_of_a_start_that_was_killed_is_its_own(tmp_path: Path) -> None:
    """The folder that is made aside, and renamed when it is whole, is still there."""
    (tmp_path / ".task-x1").mkdir()
    (tmp_path / "run").mkdir()
    check_own_folder(tmp_path, ("task", "run"))
    check_own_folder(tmp_path / "new" / "one", ("task", "run"))


def test_another_s_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(UserError, match=r"holds other files \(thesis.tex\): give a folder of its own"):
        check_own_folder(tmp_path, ("task", "run"))
