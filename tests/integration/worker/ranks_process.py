"""One rank of the worker, started by test_effective_ranks.py as a real process: what the pass of log pi_old gives."""

import os

import torch
from verl.utils import tensordict_utils as tu

from pacs.algorithm import Pacs, UpdateConfig
from pacs.algorithm.token_weights import Era, Steer, TokenWeightConfig
from pacs.integration.exchange import RANKS, SLOPES
from pacs.integration.worker.method_loss import MethodLoss
from tests.integration.worker.worker_case import STRIDE, as_tensordict
from tests.integration.worker.worker_process import FOLDER, make_worker


def main() -> None:
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    cases = torch.load(FOLDER / f"cases_{ranks}.pt", weights_only=False)
    for name, case in cases.items():
        worker = make_worker(case)
        weight = TokenWeightConfig(name="era", era=Era(stride=STRIDE))
        if case["slopes"]:
            weight = TokenWeightConfig(name="steer", steer=Steer(form="exact"))
        method = Pacs(token_weight=weight, update=UpdateConfig(merge_duplicates=case["merge"]))
        for _ in range(2):  # the second changes nothing
            worker.set_loss_fn(MethodLoss(method))
        data = as_tensordict(case["parts"], rank, Pacs())
        settings = {"temperature": 0.7, "compute_loss": False, "max_token_len_per_gpu": 64, "use_dynamic_bsz": True}
        tu.assign_non_tensor(data, calculate_entropy=True, **settings)
        output = worker.compute_log_prob(data)
        tu.assign_non_tensor(data, calculate_entropy=False)
        without = worker.actor.log_probs(data)
        found = {
            "found": [row.clone() for row in output[SLOPES if case["slopes"] else RANKS].unbind()],
            "log_probs": [row.clone() for row in output["log_probs"].unbind()],
            "without": [row.clone() for row in without.unbind()],
        }
        torch.save(found, FOLDER / f"{name}_{rank}.pt")
    if rank == 0:
        torch.save({}, FOLDER / f"results_{ranks}.pt")
    torch.distributed.barrier()


if __name__ == "__main__":
    main()
