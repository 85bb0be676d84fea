#!/usr/bin/env bash
# torchft 0.2.0: PureDistributedDataParallel adds the replicas' gradients up where DistributedDataParallel takes their mean; with
# gradient accumulation, earlier micro-batches count once more for each later one.
#
# Guessed: it is DistributedDataParallel in Python, as its documentation says, and gives the same gradients, if slower.
# Seen (2026-11-30, torchft 0.2.0, torch 2.13.0, gloo, 2 replicas of one CPU process, a weight with a gradient of 1 on replica 0
# and of 3 on replica 1): Manager.allreduce is documented to scale by 1 / world_size, but does so only in wait(), and here
# nobody calls wait(). So the gradient is 4 instead of 2. With two equal micro-batches it is 12 instead of 4: the sum of the
# first one is on both replicas when the second is reduced, and is added up again. With N replicas the gradient is N times too
# large, and it changes when a replica comes or goes; Adam hides that, but clipping then cuts every step, and SGD
# takes too large ones. As nothing waits, the optimizer can also step before the reduction is through (this script
# waits two seconds for it). Use torchft.ddp.DistributedDataParallel; wherever you call Manager.allreduce, wait for its result.
#
#   gradients of 1 on replica 0 and 3 on replica 1, per batch:
#   DistributedDataParallel, one batch: 2 and 2
#   PureDistributedDataParallel, one batch: 4 and 4
#   PureDistributedDataParallel, two batches: 12 and 12
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy torchft==0.2.0
cat >"$folder/gradients.py" <<'PYTHON'
import logging
import sys
import time
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

REPLICAS = 2
CASES = [
    ("DistributedDataParallel", 1),
    ("PureDistributedDataParallel", 1),
    ("PureDistributedDataParallel", 2),
]
SEEN = """\
DistributedDataParallel, one batch: 2 and 2
PureDistributedDataParallel, one batch: 4 and 4
PureDistributedDataParallel, two batches: 12 and 12"""


def train(replica, address, results):
    from torchft import ddp
    from torchft.manager import Manager
    from torchft.process_group import ProcessGroupGloo

    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    minute = timedelta(seconds=60)
    manager = Manager(
        ProcessGroupGloo(timeout=minute), lambda state: None, dict, REPLICAS, use_async_quorum=False,
        timeout=minute, quorum_timeout=minute, rank=0, world_size=1, store_addr="127.0.0.1", store_port=store.port,
        lighthouse_addr=address, replica_id=f"replica_{replica}", hostname="127.0.0.1", init_sync=False,
    )  # fmt: skip
    found = []
    for name, batches in CASES:
        module = nn.Linear(1, 1, bias=False)
        model = getattr(ddp, name)(manager, module)
        manager.start_quorum()
        for _ in range(batches):
            model(torch.full((1, 1), 1.0 + 2.0 * replica)).sum().backward()
            # Nothing waits for the reduction of PureDistributedDataParallel, and nothing says when it is through.
            time.sleep(2)
        assert manager.should_commit()
        found.append(f"{module.weight.grad.item():g}")
    results.put((replica, found))
    results.close()
    results.join_thread()
    manager.shutdown()


if __name__ == "__main__":
    from torchft.coordination import LighthouseServer

    server = LighthouseServer(bind="127.0.0.1:0", min_replicas=REPLICAS, join_timeout_ms=100)
    results = mp.get_context("spawn").Queue()
    context = mp.start_processes(train, (server.address(), results), REPLICAS, join=False, start_method="spawn")
    of = dict(results.get(timeout=300) for _ in range(REPLICAS))
    context.join()
    counts = {1: "one batch", 2: "two batches"}
    lines = [
        f"{name}, {counts[batches]}: {of[0][case]} and {of[1][case]}" for case, (name, batches) in enumerate(CASES)
    ]
    print("gradients of 1 on replica 0 and 3 on replica 1, per batch:")
    print("\n".join(lines))
    sys.exit("\n".join(lines) != SEEN)
PYTHON
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" "$folder/gradients.py" 2>"$folder/errors" || {
  code=$?
  tail -5 "$folder/errors"
  exit "$code"
}
