"""The verifier in a Ray actor, as verl's reward workers call it: from an event loop, through its threads."""

import asyncio
import os
import time
from collections.abc import Iterator

import psutil
import pytest
import ray

from pacs.rewards.registry import compute_score

pytestmark = pytest.mark.slow


@ray.remote(num_cpus=0)
class RewardWorker:
    """Grades as verl's reward loop does."""

    async def grade(self, rows: list[tuple[str, str]]) -> list[str]:
        loop = asyncio.get_running_loop()
        calls = [loop.run_in_executor(None, self._grade, *row) for row in rows]
        return await asyncio.gather(*calls)

    def _grade(self, response: str, gold: str) -> str:
        settings = {"math": {"timeout_seconds": 2.0, "accept_unevaluated": True}}
        return str(compute_score("test", response, gold, {"verifier": "math"}, **settings)["status"])

    def processes(self) -> list[int]:
        return [os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))]


@pytest.fixture
def actor() -> Iterator[ray.actor.ActorHandle]:
    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    yield RewardWorker.remote()
    ray.shutdown()


def test_it_grades_algebra_survives_what_hangs_and_leaves_nothing(actor: ray.actor.ActorHandle) -> None:
    rows = [(f"\\boxed{{\\int_0^{{{i}}} 2x dx}}", f"{i * i + i % 2}") for i in range(20)]
    rows.insert(3, ("\\boxed{\\int_0^1 \\frac{\\sin(x^x)\\ln(1+x)}{1+e^{x}} dx}", "72"))
    statuses = ray.get(actor.grade.remote(rows), timeout=120)
    assert statuses.pop(3) == "timeout"
    assert statuses == ["correct", "wrong"] * 10

    pids = ray.get(actor.processes.remote())
    assert len(pids) >= 3  # itself, the server, and those of its processes that have not hung
    ray.kill(actor)
    deadline = time.monotonic() + 30
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []
