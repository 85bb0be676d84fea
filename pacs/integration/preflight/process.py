"""One rank of a policy that is built, tried and left: python -m pacs.integration.preflight.process CONFIG.

The config is a prepared run's, as YAML; rank and meeting point are in torchrun's variables. `pacs doctor` starts one
for each rank; its last line on standard error says what is wrong, the last on standard output, as JSON, how far
the log-ratio of identical weights is from 0 (`packing_noise`).
"""

import json
import os
import sys
from pathlib import Path

import torch
import verl  # noqa: F401 (loads the plugin)
from omegaconf import DictConfig, OmegaConf

from pacs.base.terminal import print
from pacs.integration.exactness.engine_log_probs import packing_noise, random_row
from pacs.integration.exactness.layout_check import LayoutError
from pacs.integration.worker.method_worker import MethodWorker
from pacs.integration.worker.training import BaselineWorker

#: Rows of random tokens that are packed together and alone, and the most tokens of each.
NOISE_ROWS, NOISE_TOKENS = 4, 1024


def main(file: Path) -> None:
    """Build the policy of a run as its workers do; LayoutError is told in a line."""
    config = OmegaConf.load(file)
    assert isinstance(config, DictConfig)
    worker_class = MethodWorker if config.trainer.v1.trainer_mode == "pacs" else BaselineWorker
    worker = worker_class(config.actor_rollout_ref, role="actor")
    try:
        worker.init_model()
    except LayoutError as error:
        print(error, file=sys.stderr, flush=True)
        # The other ranks end likewise; nothing is to be waited for.
        os._exit(1)
    engine, temperature = worker.actor.engine, float(config.actor_rollout_ref.rollout.temperature)
    # As long as the run's, as far as one micro-batch holds them.
    budget = engine.engine_config.infer_max_token_len_per_gpu if engine.engine_config.use_dynamic_bsz else None
    longest = int(config.data.max_prompt_length + config.data.max_response_length)
    length = min(NOISE_TOKENS, longest, *([budget // NOISE_ROWS] if budget else []))
    generator = torch.Generator().manual_seed(0)
    # Of uneven lengths, so that what is calculated in blocks is cut elsewhere.
    lengths = [max(2, length - i * (length // 16)) for i in range(NOISE_ROWS)]
    rows = [random_row(each, engine.model_config.hf_config, generator) for each in lengths]
    print(json.dumps(packing_noise(engine, rows, 1, temperature)), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
