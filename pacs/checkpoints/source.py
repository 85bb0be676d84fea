"""What is exported: the checkpoint, the run it belongs to and the run's settings."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from omegaconf import OmegaConf

from pacs.base.errors import UserError
from pacs.base.moved_keys import with_new_keys
from pacs.base.run_folder import RunFolder
from pacs.checkpoints.folder import CONFIG, CRITIC, Checkpoint, newest_checkpoint, read_checkpoint


@dataclass(frozen=True)
class Source:
    """A checkpoint to export.

    Attributes:
        checkpoint: complete.
        run: folder of the run it belongs to, if it still lies where it was written.
        config: the run's resolved settings, empty if the checkpoint has none.
        passed_over: why newer checkpoints were not taken, a sentence each.
        part: of the checkpoint: the policy, or the critic.
    """

    checkpoint: Checkpoint
    run: Path
    config: Mapping[str, Any]
    passed_over: list[str]
    part: Literal["actor", "critic"] = "actor"

    @property
    def has_value_head(self) -> bool:
        """Whether the part is a critic of PPO's, and not one that writes text."""
        return self.part == "critic" and "genac" not in self.config

    @property
    def actor(self) -> Path:
        """Folder of the part's shards."""
        return self.checkpoint.folder / self.part

    @property
    def huggingface(self) -> Path:
        """Folder of its config and tokenizer."""
        return self.actor / "huggingface"

    def setting(self, key: str) -> Any:
        """The setting with a dotted key, or None."""
        value: Any = self.config
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value


def find_source(path: Path, part: Literal["actor", "critic"] = "actor") -> Source:
    """Find what is to be exported.

    Args:
        path: a checkpoint (`.../global_step_N`), or a run's folder: then its newest complete checkpoint.
        part: as in `Source`.

    Raises:
        BrokenCheckpoint: If the checkpoint lacks something.
        UserError: If `path` is neither, or the run has no complete checkpoint or no such part, or `config.yaml` is no
            mapping.
    """
    path = path.absolute()
    passed_over: list[str] = []
    if path.name.startswith("global_step_"):
        checkpoint = read_checkpoint(path)
    elif (RunFolder(path).checkpoints).is_dir():
        newest, passed_over = newest_checkpoint(RunFolder(path).checkpoints)
        if newest is None:
            raise UserError("; ".join([f"{RunFolder(path).checkpoints} has no complete checkpoint", *passed_over]))
        checkpoint = newest
    else:
        run = f"the folder of a run with {RunFolder.CHECKPOINTS}/"
        raise UserError(f"{path} is neither a checkpoint (a folder global_step_N) nor {run}")
    config = _read_config(checkpoint.folder / CONFIG)
    if part == "critic" and not (checkpoint.folder / CRITIC).is_dir():
        raise UserError(f"--part critic: {checkpoint.folder} has none, as runs of PPO, VC-PPO and GenAC have")
    return Source(checkpoint, checkpoint.folder.parent.parent, config, passed_over, part)


def _read_config(file: Path) -> Mapping[str, Any]:
    if not file.is_file():
        return {}
    config = OmegaConf.to_container(OmegaConf.load(file), resolve=False)
    if not isinstance(config, dict):
        raise UserError(f"{file} must hold a mapping of settings, found {type(config).__name__}")
    return with_new_keys({str(key): value for key, value in config.items()})
