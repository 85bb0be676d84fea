"""Files of torch's, read so that none can run code: a pickle in one may name nothing but what tensors are made of.

A pickle is a program: it may name any function of any installed package, and call it. With `weights_only=True` torch
takes the names on its own list alone. Random states are numpy arrays, whose names are added here; they only build
arrays.
"""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed.tensor  # puts DTensor on torch's list

#: Of a checkpoint's files, what is not on torch's own list: numpy's random state, as numpy 2 and numpy 1 name it.
ARRAYS: list[Any] = [
    np._core.multiarray._reconstruct,  # type: ignore[attr-defined]
    (np._core.multiarray._reconstruct, "numpy.core.multiarray._reconstruct"),  # type: ignore[attr-defined]
    np.ndarray,
    np.dtype,
    type(np.dtype(np.uint32)),
]
#: torch's switch for every `torch.load` of a process, whatever it asks for.
FORCE = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"


class UnsafeFile(ValueError):
    """A file that would run code, or is none of torch's; the message is one line that names it and what it holds."""


def read_torch_file(file: Path, *, mmap: bool = False) -> Any:
    """What `torch.save` wrote, on the host, without running any code of the file's.

    Args:
        file: its path.
        mmap: map the tensors into memory instead of reading them; do not write to them.

    Raises:
        UnsafeFile: It names what is none of tensors, numbers and texts, or cannot be read as a file of torch's.
        OSError: It cannot be opened.
    """
    # It warns that the ranks' process groups are not here; nothing is sent through them.
    logging.getLogger("torch.distributed.device_mesh").setLevel(logging.ERROR)
    try:
        with torch.serialization.safe_globals(ARRAYS):
            return torch.load(file, map_location="cpu", mmap=mmap, weights_only=True)
    except OSError:
        raise
    except Exception as error:  # unpickling what anyone may have made up raises anything
        raise UnsafeFile(f"{file} {_why(error)}") from error


@contextmanager
def only_safe_loads() -> Iterator[None]:
    """Within it every `torch.load` of this process is one with `weights_only=True`, verl's own too."""
    before = os.environ.get(FORCE)
    os.environ[FORCE] = "1"
    try:
        with torch.serialization.safe_globals(ARRAYS):
            yield
    finally:
        if before is None:
            del os.environ[FORCE]
        else:
            os.environ[FORCE] = before


def _why(error: Exception) -> str:
    # The rest of torch's words advises to read it all the same.
    if named := re.search(r"GLOBAL (\S+)", str(error)):
        why = f"to read it would run code (it names {named.group(1)}), which nothing that a run writes does"
        return f"is refused: {why}. Take it from its source again, or do without it"
    files = f"files of tensors, numbers and texts, which is all that a run writes ({type(error).__name__})"
    return f"is refused: it is damaged, or none of torch's {files}"
