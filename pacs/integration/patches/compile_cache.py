"""vLLM's index of what it has compiled, written whole: all runs of a user share it (`VLLM_CACHE_ROOT`)."""

import os
from pathlib import Path
from typing import Any

from pacs.integration.patches.patch import Function, Patch, patches

COMPILE_CACHE: list[Patch] = []


@patches(
    COMPILE_CACHE, "vllm.compilation.backends", "CompilerManager.save_to_file",
    'with open(self.cache_file_path, "w") as f:',
)  # fmt: skip
def the_index_is_written_whole(original: Function, self: Any) -> None:
    """an engine that reads half of the file ends; another run's may read while it is written, and where the disk was
    full every later one does"""
    place = Path(self.cache_file_path)
    written = place.with_name(f"{place.name}.{os.getpid()}")
    self.cache_file_path = str(written)
    try:
        original(self)
        if written.exists():  # vLLM writes none where it has compiled nothing
            written.replace(place)
    finally:
        self.cache_file_path = str(place)
        written.unlink(missing_ok=True)
