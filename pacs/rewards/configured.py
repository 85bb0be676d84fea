"""How a training run graded: read from its config, and carried by its export."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from omegaconf import OmegaConf

from pacs.rewards.reasoning import SETTING, check_named
from pacs.rewards.registry import PATH, VERIFIERS
from pacs.verl_keys.names import REWARD_FUNCTION

#: An exported model's, with the run's setting that names its reward function.
FILE = "reward.yaml"
_HEAD = "# How the training run graded; `pacs evaluate` takes it from here. (pacs export)\n"


@dataclass(frozen=True)
class RunReward:
    """The reward function of a run.

    Attributes:
        settings: by verifier, what the run set for it; None where the function is not ours.
        function: the run's own function in words, `compute_score of mine.py`; None where it is ours.
        delimiters: of the model's reasoning, as the run named them; None where it did not.
    """

    settings: Mapping[str, Mapping[str, Any]] | None
    function: str | None = None
    delimiters: list[list[str]] | None = None


def reward_of(function: Mapping[str, Any] | None, delimiters: list[list[str]] | None = None) -> RunReward | None:
    """The reward of a run; None if nothing is known of it.

    Args:
        function: `reward.custom_reward_function` of the run's resolved config, None if the config has none.
        delimiters: `run.reasoning.delimiters` of it.
    """
    if function is None:
        return None
    path, settings = function.get("path"), function.get("reward_kwargs") or {}
    if path == PATH:
        return RunReward(settings, None, delimiters)
    for name, place in VERIFIERS.items():  # one verifier alone, whatever a row names
        if path == f"pkg://{place.partition(':')[0]}":
            return RunReward({name: settings}, None, delimiters)
    if path is None:
        return RunReward(None, "verl's default_compute_score", delimiters)
    return RunReward(None, f"{function.get('name')} of {PurePath(path).name}", delimiters)


def write_reward(function: Mapping[str, Any], folder: Path, delimiters: list[list[str]] | None = None) -> None:
    """Write `reward.yaml` into an exported model's folder.

    Of a function that is not ours only the names are written: a path says where it lay on another machine, and what is
    set for it may be a secret.

    Args:
        function, delimiters: as `reward_of` takes them.
        folder: of the model.
    """
    reward = reward_of(function)
    kept = dict(function)
    if reward is not None and reward.function is not None:
        kept = {"path": function.get("path") and PurePath(function["path"]).name, "name": function.get("name")}
    settings = OmegaConf.create()
    OmegaConf.update(settings, REWARD_FUNCTION, kept)
    if delimiters is not None:
        OmegaConf.update(settings, SETTING, delimiters)
    (folder / FILE).write_text(_HEAD + OmegaConf.to_yaml(settings), encoding="utf-8")


def read_reward(folder: Path) -> RunReward | None:
    """The reward that an exported model carries; None of another folder.

    Raises:
        ValueError: `reward.yaml` is not what `pacs export` writes.
    """
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        settings = OmegaConf.load(file)
        function = OmegaConf.select(settings, REWARD_FUNCTION)  # type: ignore[arg-type]
        named = OmegaConf.select(settings, SETTING)  # type: ignore[arg-type]
        delimiters = None if named is None else OmegaConf.to_container(named)
        check_named(delimiters)
        return reward_of(OmegaConf.to_container(function), delimiters)  # type: ignore[arg-type]
    except Exception as error:  # YAML's, OmegaConf's, or of a value of another kind
        said = " ".join(str(error).split())
        raise ValueError(f"{file} is not what `pacs export` writes ({said}): export again, or remove it") from error
