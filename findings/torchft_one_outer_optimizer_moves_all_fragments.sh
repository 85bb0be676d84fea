#!/usr/bin/env bash
# torchft 0.2.0: streaming DiLoCo with one outer optimizer for several fragments moves those that are not being synced, too: by
# their last inner gradient times the outer learning rate.
#
# Guessed: outer_optimizer may be one optimizer or a list of them, as its type says; a sync of one fragment steps that fragment
# and no other.
# Seen (2026-11-30, torchft 0.2.0, torch 2.13.0, gloo, 2 replicas of one CPU process; two matrices as two fragments that start
# at 0, sync_every=2, so that one of them is synced behind each inner step; every inner gradient is -1 on both replicas, the
# inner SGD has a rate of 0.001, the outer one of 1): with a list of two outer optimizers both matrices go 0.001 a step. With
# one optimizer over both, the matrix whose turn it is not goes on by 1, a thousand inner steps: its inner gradient is still in
# .grad, and the outer optimizer steps by it. Its next sync takes that for progress and keeps it. zero_grad() at the start of
# the training loop comes too late; a hook behind the inner step that drops the gradients, registered before DiLoCo is
# entered, helps. With the rates in use (an inner one of some 1e-4, an outer one near 1) most of the model is moved by raw
# gradients, without Adam's scaling, and the run seems to need a small outer rate. Give a list with one optimizer for each
# fragment.
#
#   weights of both fragments after 1 to 4 inner steps of 0.001, on either replica:
#   a list of optimizers: 0.001 0.001 | 0.002 0.002 | 0.003 0.003 | 0.004 0.004
#   one optimizer: 0.001 1.001 | 1.002 1.002 | 1.003 2.003 | 2.004 2.004
#   one optimizer, gradients dropped first: 0.001 0.001 | 0.002 0.002 | 0.003 0.003 | 0.004 0.004
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy torchft==0.2.0
cat >"$folder/fragments.py" <<'PYTHON'
import logging
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

REPLICAS = 2
CASES = ("a list of optimizers", "one optimizer", "one optimizer, gradients dropped first")
SEEN = """\
a list of optimizers: 0.001 0.001 | 0.002 0.002 | 0.003 0.003 | 0.004 0.004
one optimizer: 0.001 1.001 | 1.002 1.002 | 1.003 2.003 | 2.004 2.004
one optimizer, gradients dropped first: 0.001 0.001 | 0.002 0.002 | 0.003 0.003 | 0.004 0.004"""


def train(replica, address, case):
    """The weights of both fragments after each of four inner steps of 0.001."""
    from torchft.local_sgd import DiLoCo
    from torchft.manager import Manager
    from torchft.process_group import ProcessGroupGloo

    model = nn.ModuleList([nn.Linear(2, 2, bias=False) for _ in range(2)])
    for weight in model.parameters():
        nn.init.zeros_(weight)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    minute = timedelta(seconds=60)
    manager = Manager(
        ProcessGroupGloo(timeout=minute), model.load_state_dict, model.state_dict, REPLICAS, use_async_quorum=False,
        timeout=minute, quorum_timeout=minute, rank=0, world_size=1, store_addr="127.0.0.1", store_port=store.port,
        lighthouse_addr=address, replica_id=f"replica_{replica}", hostname="127.0.0.1", init_sync=False,
    )  # fmt: skip
    inner = torch.optim.SGD(model.parameters(), lr=0.001)
    if case == "one optimizer, gradients dropped first":
        inner.register_step_post_hook(lambda optimizer, *_: optimizer.zero_grad())
    if case == "a list of optimizers":
        outer = [torch.optim.SGD(fragment.parameters(), lr=1.0) for fragment in model]
    else:
        outer = torch.optim.SGD(model.parameters(), lr=1.0)
    found = []
    with DiLoCo(manager, list(model), inner, outer, sync_every=2):
        for _ in range(4):
            inner.zero_grad()
            for weight in model.parameters():
                (-weight.sum()).backward()
            inner.step()
            values = [
                {f"{number:.3f}" for number in weight.detach().flatten().tolist()} for weight in model.parameters()
            ]
            found.append(" ".join("/".join(value) for value in values))
    manager.shutdown()
    return " | ".join(found)


def run(replica, addresses, results):
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    found = [f"{case}: {train(replica, address, case)}" for address, case in zip(addresses, CASES, strict=True)]
    results.put("\n".join(found))


if __name__ == "__main__":
    from torchft.coordination import LighthouseServer

    servers = [LighthouseServer(bind="127.0.0.1:0", min_replicas=REPLICAS, join_timeout_ms=100) for _ in CASES]
    addresses = [server.address() for server in servers]
    results = mp.get_context("spawn").Queue()
    context = mp.start_processes(run, (addresses, results), REPLICAS, join=False, start_method="spawn")
    found = {results.get(timeout=300) for _ in range(REPLICAS)}
    context.join()
    print("weights of both fragments after 1 to 4 inner steps of 0.001, on either replica:")
    print("\n".join(found))
    sys.exit(found != {SEEN})
PYTHON
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" "$folder/fragments.py" 2>"$folder/errors" || {
  code=$?
  tail -5 "$folder/errors"
  exit "$code"
}
