"""A real Ray whose daemons and workers get the signals that ask a run to stop, or are killed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pacs.runs.processes import RUN_DIR
from pacs.runs.state import read_fault
from pacs.runs.supervisor import FAILED

SIGNALLED = """
import time
import psutil
from pacs.runs import signals

signals.block()
import verl, ray  # verl's plugin is ours

ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)

@ray.remote
class Worker:
    def ready(self):
        import verl, os
        return os.getpid()

worker = Worker.remote()
before = ray.get(worker.ready.remote())
processes = psutil.Process().children(recursive=True)
titles = {process.pid: " ".join(process.cmdline())[-80:] for process in processes}
print("says", {"raylet", "gcs_server"} <= {process.name() for process in processes})
for number in signals.SIGNALS:
    for process in processes:
        process.send_signal(number)
time.sleep(3)
dead = [p for p in processes if not p.is_running() or p.status() == psutil.STATUS_ZOMBIE]
print("says", [titles[process.pid] for process in dead], ray.get(worker.ready.remote()) == before)
daemons = [p for p in psutil.Process().children() if p.name() in ("raylet", "gcs_server")]
ray.shutdown()
psutil.wait_procs(daemons, timeout=10)
print("says", not any(daemon.is_running() for daemon in daemons))
"""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(300)
def test_ray_outlives_the_signals_and_ends_with_its_driver(tmp_path: object) -> None:
    environment = os.environ | {RUN_DIR: str(tmp_path), "VERL_PLATFORM": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", SIGNALLED], env=environment, capture_output=True, text=True, timeout=280, check=False
    )
    said = [line for line in ran.stdout.splitlines() if line.startswith("says ")]
    assert said == ["says True", "says [] True", "says True"], ran.stderr[-3000:]


WATCHED = """
import sys, time
from pathlib import Path
import psutil
from pacs.integration.launch.job import DaemonWatch

DaemonWatch(Path(sys.argv[1])).start()
import ray
ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
time.sleep(3)
[daemon] = [child for child in psutil.Process().children() if child.name() == sys.argv[2]]
daemon.kill()
time.sleep(50)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("daemon", "name"), [pytest.param("gcs_server", "GCS", marks=pytest.mark.long), ("raylet", "raylet")]
)
def test_a_daemon_of_ray_s_that_dies_ends_the_driver_with_the_cause(daemon: str, name: str, tmp_path: Path) -> None:
    watched = [sys.executable, "-c", WATCHED, tmp_path, daemon]
    ran = subprocess.run(watched, capture_output=True, text=True, timeout=90, check=False)
    assert ran.returncode == FAILED, ran.stderr[-3000:]
    assert re.search(rf"{name}\) \(process \d+\) died", str(read_fault(tmp_path)))
