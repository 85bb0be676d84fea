"""A second run in one Ray cluster is seen, by the queue that verl has for all of a cluster."""

import subprocess
import sys

import pytest

#: Makes the queue as verl does, in the cluster that is named.
OTHER = """
import sys
import ray, transfer_queue

ray.init(address=sys.argv[1])
transfer_queue.init()
print("up", flush=True)
input()
"""
PROGRAM = """
import subprocess, sys
import ray
from pacs.integration import nodes

nodes.QUEUE_SECONDS = 2.0
ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
print("says", nodes.has_queue())
address = ray.get_runtime_context().gcs_address
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
other = subprocess.Popen([sys.executable, "-c", sys.argv[1], address], text=True, **pipes)
while other.stdout.readline().strip() != "up":
    assert other.poll() is None
print("says", nodes.has_queue())
other.kill()
nodes.QUEUE_SECONDS = 60.0
print("says", nodes.has_queue())
ray.shutdown()
"""


@pytest.mark.slow
@pytest.mark.long
def test_the_queue_of_another_run_is_seen_and_waited_for() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, OTHER], capture_output=True, text=True, timeout=300, check=True
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("says ")]
    assert said == ["says False", "says True", "says False"]
