"""A node that is ended by two signals at once, as service managers and shells send them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pacs.cluster.rendezvous import Rendezvous

#: A node other than the head, in a cluster whose Ray is a stand-in: it notes that it is waited for, and stopped.
FOLLOWER = """
import sys
from pathlib import Path

from pacs.cluster import __main__ as cluster

class Ray:
    def __init__(self, *arguments):
        self.folder = Path(sys.argv[1])

    def status(self):
        (self.folder / "waited-for").touch()

    def address(self):
        pass

    def keep_logs(self, folder):
        pass

    def stop(self):
        (self.folder / "stopped").touch()

cluster.RayNode, cluster.reach, cluster.logical_resources = Ray, lambda *_: "10.0.0.2", lambda _: []
sys.exit(cluster.main(["--node", "1", "--nodes", "2", "--meet", str(Path(sys.argv[1], "meet"))]))
"""


def test_the_second_of_two_signals_does_not_keep_a_node_from_stopping_its_ray(tmp_path: Path) -> None:
    Rendezvous(tmp_path / "meet", 0, 2).open("10.0.0.1:6379")
    node = subprocess.Popen([sys.executable, "-c", FOLLOWER, str(tmp_path)], stderr=subprocess.PIPE, text=True)
    try:
        while not (tmp_path / "waited-for").exists():
            assert node.poll() is None
            time.sleep(0.05)
        for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGHUP, signal.SIGCONT):
            os.kill(node.pid, number)
        _, said = node.communicate(timeout=60)
    finally:
        node.kill()
    assert node.returncode in (128 + signal.SIGTERM, 128 + signal.SIGHUP)
    assert (tmp_path / "stopped").exists(), said
    assert said == ""
