"""One rank of a policy that is built, tried and left: python -m pacs.integration.probe_process CONFIG.

The config is a prepared run's, as YAML; rank and meeting point are in torchrun's variables. `pacs doctor` starts one
for each rank; its last line on standard error says what is wrong.
"""

import os
import sys
from pathlib import Path

import torch
import verl  # noqa: F401 (loads the plugin)
from omegaconf import DictConfig, OmegaConf

from pacs.integration.probe import LayoutError
from pacs.integration.training_worker import BaselineWorker
from pacs.integration.worker import PacsWorker
from pacs.terminal import print


def main(file: Path) -> None:
    """Build the policy of a run as its workers do; LayoutError is told in a line."""
    config = OmegaConf.load(file)
    assert isinstance(config, DictConfig)
    worker_class = PacsWorker if config.trainer.v1.trainer_mode == "pacs" else BaselineWorker
    try:
        worker_class(config.actor_rollout_ref, role="actor").init_model()
    except LayoutError as error:
        print(error, file=sys.stderr, flush=True)
        # The other ranks end likewise; nothing is to be waited for.
        os._exit(1)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
