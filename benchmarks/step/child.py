"""Children of the benchmark: how the parent starts one and shows its output, and how a child reports."""

import os
import socket
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Lines of a child that begin so are shown; the rest, much of it verl's, goes to the child's log.
MARK = "@step "
#: As configs/hardware/cpu.yaml. One thread: two that wait for each other beside other work are many times slower.
ON_CPU = {
    "VERL_PLATFORM": "cpu",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
}


def say(text: str) -> None:
    """Show a line of progress."""
    print(f"{MARK}{text}", flush=True)


def run_child(name: str, arguments: list[str], env: dict[str, str], log: Path, limit: float | None = None) -> None:
    """Run `python -m benchmarks.step.NAME`; show its progress, write all it prints to `log`.

    Args:
        name: of the module.
        arguments: of its command.
        env: beside this process's.
        log: to write.
        limit: seconds after which it is killed.

    Raises:
        SystemExit: the child failed, or was killed; with the end of its log.
    """
    command = [sys.executable, "-m", f"benchmarks.step.{name}", *arguments]
    last: deque[str] = deque(maxlen=40)
    with (
        log.open("w") as file,
        subprocess.Popen(
            command, cwd=ROOT, env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as child,
    ):
        timer = threading.Timer(limit or threading.TIMEOUT_MAX, child.kill)
        timer.daemon = True
        timer.start()
        for line in child.stdout or ():
            file.write(line)
            last.append(line)
            if line.startswith(MARK):
                print(f"  {line[len(MARK) :]}", end="", flush=True)
        timer.cancel()
    if child.returncode:
        raise SystemExit(f"{''.join(last)}\nerror: {' '.join(command)} ended with status {child.returncode}")


def one_rank() -> dict[str, str]:
    """The variables by which verl's workers find that they are alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    return {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
