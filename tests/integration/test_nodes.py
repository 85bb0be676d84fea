"""A hung run's stacks from another node of a real Ray cluster (two nodes, both on this machine)."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import ray
from ray.cluster_utils import Cluster

from pacs.integration.nodes import dump_on_other_nodes
from pacs.runs.processes import RUN_DIR, TOKEN

HANGING = """
import time
from pacs.runs import stacks

stacks.register()

def never_answered():
    time.sleep(300)

never_answered()
"""


@pytest.mark.slow
@pytest.mark.long
def test_the_stacks_of_another_node_are_written(tmp_path: Path) -> None:
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    env = os.environ | {TOKEN: "hangs", RUN_DIR: str(tmp_path)}
    process = subprocess.Popen([sys.executable, "-c", HANGING], env=env)
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("stacks/*.txt")) and time.monotonic() < deadline:
            time.sleep(0.1)
        dump_on_other_nodes(tmp_path, "hangs")
        (dump,) = tmp_path.glob("stacks/hang-*.txt")
        assert "in never_answered" in dump.read_text()
    finally:
        process.kill()
        process.wait()
        ray.shutdown()
        cluster.shutdown()
