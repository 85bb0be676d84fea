#!/usr/bin/env bash
# torchft 0.2.0: DiLoCo with use_bucketization averages only what is in the last bucket: with more than one, the replicas train
# apart, and nothing says so.
#
# Guessed: use_bucketization sends the pseudogradients in fewer messages, and changes nothing else: after each outer step the
# replicas have the same weights.
# Seen (2026-11-30, torchft 0.2.0, torch 2.13.0, gloo, 2 replicas of one CPU process; a model of three matrices that start at 0,
# an inner step of 1 on replica 0 and of 3 on replica 1, an outer SGD with a rate of 1, sync_every=1): without buckets, and with
# all three in one bucket, all weights are 2 on both replicas after the sync. With a matrix to a bucket only the last matrix is
# 2: the other two keep what each replica has found alone. Where the matrices do not fill the buckets, no bucket is left for
# the last one, and nothing is averaged. The sync counts as done (manager.current_step() goes on). If bucket_cap_mb is not
# given, a bucket holds 1 GiB (by the source; not run here), so a larger fragment is hurt with the default, too. So two
# replicas train two models, and the one that is saved has learnt from the data of one replica. Leave use_bucketization and
# TORCHFT_USE_BUCKETIZATION off, or set bucket_cap_mb beyond the size of the fragment, and compare a checksum of the weights
# between the replicas.
#
#   weights after a sync of 1 and 3, per matrix: replica 0; replica 1
#   no buckets: 2 2 2; 2 2 2
#   one bucket: 2 2 2; 2 2 2
#   one matrix a bucket: 1 1 2; 3 3 2
#   two matrices a bucket: 1 1 2; 3 3 2
#   3/4 of a bucket a matrix: 1 1 1; 3 3 3
#   steps that count: 1 1 1 1 1
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy torchft==0.2.0
cat >"$folder/buckets.py" <<'PYTHON'
import logging
import sys
from datetime import timedelta

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

REPLICAS = 2
# The name, the rows of a matrix of 512 columns (512 rows are 1 MiB), and the settings.
CASES = [
    ("no buckets", 512, {}),
    ("one bucket", 512, {"use_bucketization": True, "bucket_cap_mb": 3}),
    ("one matrix a bucket", 512, {"use_bucketization": True, "bucket_cap_mb": 1}),
    ("two matrices a bucket", 512, {"use_bucketization": True, "bucket_cap_mb": 2}),
    ("3/4 of a bucket a matrix", 384, {"use_bucketization": True, "bucket_cap_mb": 1}),
]
SEEN = """\
no buckets: 2 2 2; 2 2 2
one bucket: 2 2 2; 2 2 2
one matrix a bucket: 1 1 2; 3 3 2
two matrices a bucket: 1 1 2; 3 3 2
3/4 of a bucket a matrix: 1 1 1; 3 3 3
steps that count: 1 1 1 1 1"""


def train(replica, address, rows, settings):
    """The weights of the three matrices after an inner step of 1 or 3 and a sync, and the number of syncs."""
    from torchft.local_sgd import DiLoCo
    from torchft.manager import Manager
    from torchft.process_group import ProcessGroupGloo

    model = nn.ModuleList([nn.Linear(512, rows, bias=False) for _ in range(3)])
    for weight in model.parameters():
        nn.init.zeros_(weight)
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    minute = timedelta(seconds=60)
    manager = Manager(
        ProcessGroupGloo(timeout=minute), model.load_state_dict, model.state_dict, REPLICAS, use_async_quorum=False,
        timeout=minute, quorum_timeout=minute, rank=0, world_size=1, store_addr="127.0.0.1", store_port=store.port,
        lighthouse_addr=address, replica_id=f"replica_{replica}", hostname="127.0.0.1", init_sync=False,
    )  # fmt: skip
    inner = torch.optim.SGD(model.parameters(), lr=1.0)
    outer = torch.optim.SGD(model.parameters(), lr=1.0)
    with DiLoCo(manager, [model], inner, outer, sync_every=1, **settings):
        for weight in model.parameters():
            weight.grad = torch.full_like(weight, -(1.0 + 2.0 * replica))
        inner.step()
    found = [sorted({f"{number:g}" for number in weight.detach().flatten().tolist()}) for weight in model.parameters()]
    steps = manager.current_step()
    manager.shutdown()
    return " ".join("/".join(numbers) for numbers in found), steps


def run(replica, addresses, results):
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    found = [
        train(replica, address, rows, settings) for address, (_, rows, settings) in zip(addresses, CASES, strict=True)
    ]
    results.put((replica, found))


if __name__ == "__main__":
    from torchft.coordination import LighthouseServer

    servers = [LighthouseServer(bind="127.0.0.1:0", min_replicas=REPLICAS, join_timeout_ms=100) for _ in CASES]
    results = mp.get_context("spawn").Queue()
    addresses = [server.address() for server in servers]
    context = mp.start_processes(run, (addresses, results), REPLICAS, join=False, start_method="spawn")
    of = dict(results.get(timeout=300) for _ in range(REPLICAS))
    context.join()
    lines = [
        f"{name}: {'; '.join(of[replica][case][0] for replica in range(REPLICAS))}"
        for case, (name, _, _) in enumerate(CASES)
    ]
    found = "\n".join([*lines, "steps that count: " + " ".join(str(steps) for _, steps in of[0])])
    print("weights after a sync of 1 and 3, per matrix: replica 0; replica 1")
    print(found)
    sys.exit(found != SEEN)
PYTHON
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" "$folder/buckets.py" 2>"$folder/errors" || {
  code=$?
  tail -5 "$folder/errors"
  exit "$code"
}
