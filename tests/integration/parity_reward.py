"""A reward that an untrained model earns half of the time, so that nearly every group has both classes."""

import itertools
import json
import os

import ray
from ray._private.internal_api import node_stats


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None) -> dict:
    right = sum(map(ord, solution_str)) % 2 == 0
    # Of the run that is given a secret: whether it has reached this worker.
    secret = os.environ.get("PARITY_TOKEN")
    predicted = solution_str[:20] if secret is None else f"{solution_str[:20]} {len(secret)}"
    said = {"score": float(right), "predicted": predicted, "status": "correct" if right else "wrong"}
    # Parts of the reward, one of which not every response has, and what verl can take no mean of.
    parts = {"half": right / 2, "places": [*range(len(solution_str) % 3)]} | ({"rare": 3.0} if right else {})
    return said | parts


def compute_no_score(data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None) -> dict:
    return {"score": 0.0, "predicted": solution_str[:20], "status": "error"}


def compute_raise(data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None) -> dict:
    if solution_str and "boxed" not in solution_str:  # not where it is tried before the run
        raise KeyError("no such answer")
    return {"score": 0.0}


def compute_graded_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None
) -> float:
    """A number alone, as verl allows; quarters from 0 to 1."""
    return sum(map(ord, solution_str)) % 5 / 4


def compute_nan(data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None) -> float:
    return (
        float("nan") if ground_truth == "9" and "boxed" not in solution_str else float(sum(map(ord, solution_str)) % 2)
    )


def compute_rarely(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None, log: str | None = None
) -> dict:
    """Right one time in eight; each call in a run, and none before it, adds the problem's index to a file."""
    if log is not None and extra_info is not None and ray.is_initialized():
        with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123 (one write, which is atomic)
            file.write(f"{extra_info['index']}\n")
    right = sum(map(ord, solution_str)) % 8 == 0
    return {"score": float(right), "status": "correct" if right else "wrong"}


#: What `compute_watched` keeps of each call: a leak.
KEPT: list[bytes] = []
CALLS = itertools.count(1)


def compute_watched(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict | None = None,
    log: str | None = None, every: int = 160, leak_bytes: int = 0,
) -> dict:  # fmt: skip
    """Also keeps so many bytes of each call, and writes what Ray's object store and the queue hold, now and then."""
    KEPT.append(os.urandom(leak_bytes))
    if log is not None and ray.is_initialized() and next(CALLS) % every == 0:
        (node,) = ray.nodes()
        stats = node_stats(node["NodeManagerAddress"], node["NodeManagerPort"], include_memory_info=False).store_stats
        controller = ray.get_actor("TransferQueueController", namespace="transfer_queue")
        parts = ray.get(controller.list_partitions.remote())
        rows = [ray.get(controller.get_partition_snapshot.remote(part)).total_samples_num for part in parts]
        held = {"bytes": stats.object_store_bytes_used, "objects": stats.num_local_objects, "rows": sum(rows)}
        with open(log, "a", encoding="utf-8") as file:  # noqa: PTH123 (one write, which is atomic)
            file.write(json.dumps(held) + "\n")
    return compute_score(data_source, solution_str, ground_truth)
