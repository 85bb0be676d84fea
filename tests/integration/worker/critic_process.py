"""One rank of a critic's update, started by test_critic_rows.py as a real process: verl's worker, FSDP2, plain SGD."""

import os

import torch
from verl.utils import tensordict_utils as tu

from pacs.algorithm.genac.method import GenAcCritic
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.shared_prefix import share_prefixes
from tests.integration.worker.critic_case import make_batch
from tests.integration.worker.worker_process import FOLDER, full_weights, make_worker


def main() -> None:
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    results = {}
    for name, case in torch.load(FOLDER / f"cases_{ranks}.pt", weights_only=False).items():
        worker = make_worker(case)
        worker.set_loss_fn(MethodLoss(GenAcCritic()))
        for _ in range(2):  # the second changes nothing
            share_prefixes(worker.actor.engine)
        worker.update_actor(tu.chunk_tensordict(make_batch(case["rows"], ranks), ranks)[rank])  # as verl hands it out
        results[name] = full_weights(worker)
    if rank == 0:
        torch.save(results, FOLDER / f"results_{ranks}.pt")
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
