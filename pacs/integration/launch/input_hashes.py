"""What a run reads and does not write: its data, its reward function's file, its model's folder. Has any changed since?

A setting names a file; that the file is another one by now, no setting says. inputs.json in the run's folder and in
each checkpoint has the digests.
"""

import functools
import hashlib
import json
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from pacs.base.files import file_sha256, write_atomically
from pacs.base.run_folder import RunFolder
from pacs.base.settings import flatten
from pacs.checkpoints.integrity import SMALL_BYTES
from pacs.evaluation.model import SUFFIXES
from pacs.verl_keys.algorithm_changes import counts, matters, plain

#: Settings that name files which decide nothing of training, but what its numbers mean.
VALIDATION = "data.val_files"
_NAMES_FILES = re.compile(r"(^|_)(path|file|files)$|^(teacher|template)$")
_THREADS = 8

#: Setting -> what it names, as it is written, in order -> file in it ("" for a file itself) -> digest.
Inputs = dict[str, list[tuple[str, dict[str, str]]]]


def read_inputs(config: DictConfig) -> Inputs:
    """The digests of all files and folders of this machine that the config names and the run depends on.

    A file is read as a whole (SHA-256), and so is every file of a folder of data. Of another folder, which is a
    model's, those that decide what it says are read: as a whole up to 16 MiB, and of larger ones, its weights, the size
    and the last 16 MiB. What is not here (a name on the Hub, an import path) is left out.

    Raises:
        OSError: One cannot be read.
    """
    flat = flatten(plain(config))
    named = {
        key: [path for path in _texts(value) if Path(path).expanduser().exists()]
        for key, value in flat.items()
        if names_files(key) and (key == VALIDATION or (counts(key) and matters(key, flat, flat)))
    }
    with ThreadPoolExecutor(_THREADS) as threads:

        def digests(path: str, is_data: bool) -> dict[str, str]:
            return dict(threads.map(lambda file: _name_and_digest(file, path, is_data), _files(path, is_data)))

        return {
            key: [(path, digests(path, key.startswith("data."))) for path in paths]
            for key, paths in named.items()
            if paths
        }


def names_files(key: str) -> bool:
    """Whether a setting names files or folders, or may: a name on the Hub, an import path."""
    return _NAMES_FILES.search(key.rpartition(".")[2]) is not None


def write_inputs(config: DictConfig, run_dir: Path) -> None:
    """Write `inputs.json`.

    Raises:
        OSError: One of the files cannot be read, or this one not be written.
    """
    write_atomically(RunFolder(run_dir).inputs, json.dumps(read_inputs(config), indent=1) + "\n")


def input_changes(checkpoint: Path, config: DictConfig) -> list[str]:
    """The files that a config names as a checkpoint's did, and that hold something else by now, a sentence each.

    What another setting names is not looked at: that it is another is said by `algorithm_changes`.

    Args:
        checkpoint: its folder.
        config: of the run that wants to go on from it.

    Raises:
        ValueError: `inputs.json` is not what a run writes.
        OSError: One of the files cannot be read.
    """
    before, now = json.loads((checkpoint / RunFolder.INPUTS).read_text(encoding="utf-8")), read_inputs(config)
    try:
        return [
            f"{key}: {Path(path, name) if name else path} {what} "
            f"(sha256 {_short(then.get(name))} in the checkpoint, {_short(here.get(name))} now)"
            for key in now
            for (old_path, then), (path, here) in product(before.get(key, []), now[key])
            if os.path.realpath(Path(old_path).expanduser()) == os.path.realpath(Path(path).expanduser())
            for name in sorted(then.keys() | here.keys())
            if (what := _change(then.get(name), here.get(name)))
        ]
    except (TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{checkpoint / RunFolder.INPUTS} is not what a run writes ({error})") from error


def _change(then: str | None, here: str | None) -> str | None:
    if then == here:
        return None
    if then is None:
        return "was not there"
    return "is gone" if here is None else "holds something else"


def _short(digest: str | None) -> str:
    return "none" if digest is None else digest[:12]


def _texts(value: Any) -> list[str]:
    return [text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str) and text]


def _files(path: str, is_data: bool) -> Iterator[Path]:
    """The file that `path` names, or the folder's: of data all, of a model what decides what it says."""
    place = Path(path).expanduser()
    if place.is_file():
        yield place
        return
    for folder, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            if (is_data or Path(name).suffix in SUFFIXES) and not name.startswith("."):
                yield Path(folder, name)


def _name_and_digest(file: Path, path: str, is_data: bool) -> tuple[str, str]:
    about, top = file.stat(), Path(path).expanduser()
    as_a_whole = is_data or file == top or about.st_size <= SMALL_BYTES
    name = "" if file == top else str(file.relative_to(top))
    return name, _digest(file, as_a_whole, about.st_size, about.st_mtime_ns, about.st_ino)


@functools.cache
def _digest(file: Path, as_a_whole: bool, size: int, changed_ns: int, inode: int) -> str:
    """One start looks at its inputs twice: before it goes on, and for its own folder."""
    if as_a_whole:
        return file_sha256(file)
    with file.open("rb") as stream:
        stream.seek(-SMALL_BYTES, os.SEEK_END)
        return f"{hashlib.sha256(stream.read()).hexdigest()} of the last {SMALL_BYTES:,} of {size:,} bytes"
