"""A folder that a recipe's program makes, and nothing else has written to."""

import json
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.files import check_folder, read_json
from pacs.base.terminal import print

MANIFEST = "manifest.json"


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


def is_made(out: Path, made: Collection[str], manifest: Mapping[str, Any]) -> bool:
    """Whether a folder is whole, and of this manifest; then that is said.

    Args:
        out: the folder.
        made: names of all that is in it.
        manifest: what decides what is made, its seed among it.

    Raises:
        UserError: as `check_own_folder`.
    """
    check_own_folder(out, made)
    if read_json(out / MANIFEST) != manifest or not all((out / name).exists() for name in made):
        return False
    print(f"{out}: already made with seed {manifest['seed']}; reusing it", flush=True)
    return True


@contextmanager
def made_whole(out: Path, manifest: Mapping[str, Any]) -> Iterator[Path]:
    """A folder to make things in, which takes the place of `out` with its manifest, or is gone where that fails.

    Args:
        out: the folder that appears whole or not at all.
        manifest: what decides what is made, its seed among it.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    try:
        yield aside
        (aside / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n")
        aside.chmod(0o755)  # mkdtemp's folders are private
        if out.exists():
            print(f"{out}: made with another seed or by other code; replacing it", flush=True)
            shutil.rmtree(out)
        aside.replace(out)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    print(f"{out}: made with seed {manifest['seed']}", flush=True)
