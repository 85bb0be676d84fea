"""The worker in one precision, as it is and with compiled kernels, started by test_compiled.py as a real process."""

import torch

from tests.integration.worker.worker_process import FOLDER, gradients, make_worker


def main() -> None:
    # Else torch goes on without compiling when it has compiled a function too often.
    torch._dynamo.config.fail_on_recompile_limit_hit = True
    results = {}
    for name, case in torch.load(FOLDER / "cases_1.pt", weights_only=False).items():
        found = gradients(make_worker(case), 0, case)
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        results[name] = {"graphs": graphs, "gradients": {way: each["gradient"] for way, each in found.items()}}
    torch.save(results, FOLDER / "results_1.pt")


if __name__ == "__main__":
    main()
