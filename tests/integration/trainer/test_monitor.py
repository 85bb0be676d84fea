"""The monitor's looks: at vLLM's servers, on real HTTP servers; at an actor that Ray kills, with a real Ray."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from pacs.integration.trainer.monitor import Monitor, health_problem
from pacs.runs.processes import TOKEN
from pacs.runs.state import Progress, read_fault


class Server(ThreadingHTTPServer):
    """Answers /health as vLLM's does: 200, or 503 once its engine is dead."""

    status = 200

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.send_response(self.server.status if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_server_is_well_until_its_engine_is_dead(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")  # the cluster's own servers are asked past it
    assert health_problem(server.address) is None
    server.status = 503
    assert "503" in str(health_problem(server.address))


def test_a_server_that_is_gone(server: Server) -> None:
    server.server_close()
    assert server.address in str(health_problem(server.address))


def test_any_engine_that_does_not_answer_is_suspected(server: Server, tmp_path: Path) -> None:
    engines = {"vLLM engine 0": server.address, "vLLM engine 1": server.address}
    monitor = Monitor(tmp_path, lambda: Progress(0, 1, "start"), lambda: None)
    monitor.watch({}, engines)
    assert not monitor.suspects()
    server.status = 503
    assert monitor.suspects()


WATCHING = """
import sys
from pathlib import Path
import ray
from pacs.integration.trainer.monitor import Monitor
from pacs.runs.state import Progress

ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)

@ray.remote
class Worker:
    pass

monitor = Monitor(Path(sys.argv[1]), lambda: Progress(0, 1, "start"), lambda: None)
monitor.watch({"worker 0": Worker.remote()}, {})
monitor.run()
"""


@pytest.mark.slow
def test_an_actor_that_ray_kills_for_memory_is_told_in_a_line(tmp_path: Path) -> None:
    """Ray's memory killer at a threshold that any machine is above."""
    memory = {"RAY_memory_usage_threshold": "0.001", "RAY_memory_monitor_refresh_ms": "100"}
    env = os.environ | memory | {TOKEN: "a start"}
    ended = subprocess.run([sys.executable, "-c", WATCHING, str(tmp_path)], env=env, timeout=300, check=False)
    assert ended.returncode == 1
    cause = read_fault(tmp_path, "a start")
    assert cause is not None
    assert cause.startswith("worker 0 died: ")
    assert "running low on memory" in cause
    assert "\n" not in cause
    assert len(cause) < 300
