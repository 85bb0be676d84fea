"""Composed runs, each once."""

from functools import cache

from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from pacs.base.paths import config_dir


@cache
def composed(*overrides: str, algorithm: str = "pacs") -> DictConfig:
    """A run as `pacs train` composes it."""
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose(algorithm, overrides=list(overrides))
