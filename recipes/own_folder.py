"""A folder that a recipe's program makes, and nothing else has written to."""

from collections.abc import Collection
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.files import check_folder


def check_own_folder(out: Path, made: Collection[str]) -> None:
    """Refuse a folder whose files are not the program's, before anything is written.

    Args:
        out: the folder that `--out` names; it need not be there.
        made: names of what the program makes in it.

    Raises:
        UserError: it is a file, holds other files, or cannot be written or made.
    """
    check_folder(out)
    # What is hidden was left by a start that was killed: it writes aside first.
    names = [path.name for path in out.iterdir()] if out.exists() else []
    foreign = sorted(name for name in names if name not in made and not name.startswith("."))
    if foreign:
        raise UserError(f"--out {out} holds other files ({', '.join(foreign[:3])}): give a folder of its own")
