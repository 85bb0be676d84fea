"""A launcher without Ray: python -m tests.runs.supervised_process RUN_DIR WHAT, what `driver_process` is to do.

What a run leaves has PACS_TEST_GRACE seconds to end by itself: no test waits for the processes of a real one.
"""

import os
import sys
from pathlib import Path

from pacs.runs import supervisor
from pacs.runs.disk_space import reserved
from pacs.runs.signals import StopRequests

if __name__ == "__main__":
    run_dir = Path(sys.argv[1])
    run_dir.mkdir(exist_ok=True)
    os.environ["PACS_TEST_DRIVER"] = sys.argv[2]
    supervisor.GRACE_SECONDS = float(os.environ["PACS_TEST_GRACE"])
    driver = supervisor.Driver("tests.runs.driver_process", run_dir)
    with driver, reserved(run_dir), StopRequests() as requests:
        status = supervisor.supervise(driver, requests, resumed_from=None)
    sys.exit(status)
