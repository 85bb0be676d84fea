"""What is done on every node of a Ray cluster but this one."""

from pathlib import Path

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from pacs.runs.stacks import dump_on_this_node

#: Seconds in which the other nodes are to have answered; one that hangs itself never does.
SECONDS = 30.0


def dump_on_other_nodes(run_dir: Path, token: str) -> None:
    """Have the start's processes on the other nodes write their stacks to the run's folder, which all nodes see."""
    if not ray.is_initialized():  # it hangs before there is a cluster
        return
    here = ray.get_runtime_context().get_node_id()
    others = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["NodeID"] != here]
    if not others:
        return
    dump = ray.remote(num_cpus=0, max_retries=0)(dump_on_this_node)
    calls = [
        dump.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(run_dir, token)
        for node in others
    ]
    ray.wait(calls, num_returns=len(calls), timeout=SECONDS)
