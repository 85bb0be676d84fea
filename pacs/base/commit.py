"""Which code this is."""

import os
import subprocess
from pathlib import Path

#: Says it where there is no checkout, as in a container's image.
VARIABLE = "PACS_COMMIT"


def git_commit() -> str | None:
    """The commit of the checkout this code runs from, with "+" if it has changes; elsewhere PACS_COMMIT, or None."""
    root = Path(__file__).parents[2]
    try:
        commit, changes = (
            # In a session of its own: a Ctrl-C that stops this process would end git, as if there were none.
            subprocess.run(
                ["git", "-C", root, *command], capture_output=True, text=True, check=True, start_new_session=True
            ).stdout.strip()
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain", "--untracked-files=no"])
        )
    except (OSError, subprocess.CalledProcessError):
        # A checkout that git does not read, as another user's, is not the one that the variable speaks of.
        return None if (root / ".git").exists() else os.environ.get(VARIABLE) or None
    return commit + ("+" if changes else "")
