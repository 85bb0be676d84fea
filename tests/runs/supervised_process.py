"""A launcher without Ray: python -m tests.runs.supervised_process RUN_DIR WHAT, what `driver_process` is to do."""

import os
import sys
from pathlib import Path

from pacs.runs.disk_space import reserved
from pacs.runs.requests import StopRequests
from pacs.runs.supervisor import supervise

if __name__ == "__main__":
    run_dir = Path(sys.argv[1])
    run_dir.mkdir(exist_ok=True)
    os.environ["PACS_TEST_DRIVER"] = sys.argv[2]
    with reserved(run_dir), StopRequests() as requests:
        status = supervise("tests.runs.driver_process", run_dir, run_dir / "checkpoints", requests, resumed_from=None)
    sys.exit(status)
