"""Ray's worker processes collect garbage rarely before they import anything of a run, also those with variables of
their own."""

import gc
import subprocess
import sys

import pytest

PROGRAM = """
import gc, ray
from pacs.integration.launch.job import COLLECT_RARELY

@ray.remote(num_cpus=0)
class Actor:
    def threshold(self):
        return gc.get_threshold()[0]

hook = {"worker_process_setup_hook": COLLECT_RARELY, "env_vars": {"OF": "the job"}}
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env=hook)
other = Actor.options(runtime_env={"env_vars": {"RANK": "0"}})
print("says", *ray.get([Actor.remote().threshold.remote(), other.remote().threshold.remote()]))
ray.shutdown()
"""


@pytest.mark.slow
@pytest.mark.long
def test_rays_workers_collect_rarely() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=200, check=True)
    (said,) = [line for line in done.stdout.splitlines() if line.startswith("says ")]
    assert said == "says 10000 10000"
    assert gc.get_threshold()[0] == 10_000  # of the tests themselves, by conftest.py
