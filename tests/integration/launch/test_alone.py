"""A second run in one Ray cluster is refused, by the queue that verl has for all of a cluster."""

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
from pacs.integration.nodes import check_alone

ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
check_alone()
print("says alone")
address = ray.get_runtime_context().gcs_address
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
other = subprocess.Popen([sys.executable, "-c", sys.argv[1], address], text=True, **pipes)
while other.stdout.readline().strip() != "up":
    assert other.poll() is None
try:
    check_alone()
except RuntimeError as error:
    print("says", error)
other.kill()
ray.shutdown()
"""


@pytest.mark.slow
def test_another_run_s_queue_is_seen() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, OTHER], capture_output=True, text=True, timeout=300, check=True
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("says ")]
    assert said[0] == "says alone"
    assert said[1].startswith("says another run trains in this Ray cluster")
