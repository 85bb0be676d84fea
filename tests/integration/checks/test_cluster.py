"""What is said of several nodes before a run starts; tests/cluster has the rest, on two machines."""

import socket

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig

from pacs.base.paths import config_dir
from pacs.integration.checks import ConfigError, check_surroundings


def composed(*overrides: str) -> DictConfig:
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose("pacs", ["recipe=arithmetic", *overrides])


def test_a_cluster_that_is_not_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ConfigError, match=f"ray_kwargs.ray_init.address={address}: nothing answers there"):
            check_surroundings(composed(f"ray_kwargs.ray_init.address={address}"))


@pytest.mark.parametrize("address", ["localhost", "6379", "ray://127.0.0.1:10001"])
def test_an_address_of_another_form(address: str) -> None:
    with pytest.raises(ConfigError, match=f"ray_kwargs.ray_init.address={address}: give it as HOST:PORT"):
        check_surroundings(composed(f"ray_kwargs.ray_init.address={address}"))


def test_several_nodes_need_a_cluster() -> None:
    with pytest.raises(ConfigError, match=r"trainer.nnodes=2, but this is one machine: .*scripts/slurm/train.sbatch"):
        check_surroundings(composed("trainer.nnodes=2"))
