"""What a run on CPUs needs of Ray and Ray does not find on a machine: a logical GPU for each rank, slots for actors."""

import subprocess
import sys
from collections.abc import Sequence

import yaml
from omegaconf import OmegaConf

from pacs.cluster.rendezvous import ClusterError
from pacs.verl_keys.config import actor_slots, device, ranks_per_node


def logical_resources(train: Sequence[str]) -> list[str]:
    """Arguments of `ray start` on each node of a run; none for one on GPUs, which Ray counts itself.

    Args:
        train: the arguments of `pacs train`, which composes the run.

    Raises:
        ClusterError: If it cannot be composed; `pacs train` has said why.
    """
    command = [sys.executable, "-m", "pacs", "train", *train, "--cfg", "job"]
    composed = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if composed.returncode != 0:
        raise ClusterError("the run cannot be composed; what is wrong with it is above.")
    try:
        settings = yaml.safe_load(composed.stdout)
    except yaml.YAMLError:
        settings = None
    if not isinstance(settings, dict):  # --help, or another option that trains nothing
        return []
    config = OmegaConf.create(settings)
    if device(config) != "cpu":
        return []
    slots = actor_slots(config)
    return [f"--num-gpus={ranks_per_node(config)}", *([] if slots is None else [f"--num-cpus={slots}"])]
