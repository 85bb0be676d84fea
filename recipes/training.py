"""`pacs train` as a process of its own, with its progress on this console: what the recipes' programs share."""

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pacs.base.terminal import print
from pacs.checkpoints.folder import newest_checkpoint
from pacs.composing import quoted
from pacs.runs.supervisor import STOPPED

#: What the training run prints when one of its parts is up, in order.
STAGES = (
    ("ray init kwargs", "starting Ray"),
    ("train and validate dataloader initialized", "data loaded; starting the training worker"),
    ("actor and ref model engine initialized", "policy and reference ready; starting vLLM"),
    ("all initialize finished", "vLLM ready"),
)


def train_in(run: Path, overrides: Sequence[str], log: Path) -> None:
    """Run `pacs train`, with its output in a file and its stages and steps shown here.

    Args:
        run: the run's folder.
        overrides: of the run.
        log: the file, which is appended to.

    Raises:
        SystemExit: With the end of the log if training failed; with `STOPPED` if it was stopped on request.
    """
    command = [sys.executable, "-m", "pacs", "train", *overrides, f"pacs.run_dir={quoted(str(run))}"]
    resuming = newest_checkpoint(run / "checkpoints")[0] is not None
    print(
        f"training: {'going on from the last checkpoint in' if resuming else 'into'} {run}\n"
        f"  (Ray, FSDP2 and vLLM take about a minute to start; everything they say is in {log})",
        flush=True,
    )
    started = time.monotonic()
    with log.open("a") as stream:  # what a former start has said stays
        begun = stream.tell()
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True)
    # Ctrl-C and the like are for `pacs train`, which ends after its step; a second one ends it at once.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda received, frame: process.send_signal(received))
    follow(process, log, begun, started)
    if process.returncode == STOPPED:
        print("training was stopped and saved; the same command goes on")
        sys.exit(STOPPED)
    if process.returncode != 0:
        tail = "".join(log.open().readlines()[-25:])
        sys.exit(f"{tail}\ntraining failed (exit status {process.returncode}); the whole log is {log}")


def follow(process: subprocess.Popen[bytes], log: Path, begun: int, started: float) -> None:
    """Print the log's stages and steps as they come, until the process ends."""
    stages = list(STAGES)
    with log.open() as lines:
        lines.seek(begun)
        while True:
            ended = process.poll() is not None
            for line in lines.readlines():
                if stages and stages[0][0] in line:
                    print(f"  {time.monotonic() - started:4.0f} s  {stages.pop(0)[1]}", flush=True)
                elif line.startswith("pacs train: "):
                    print(f"  {time.monotonic() - started:4.0f} s  {line.rstrip()}", flush=True)
                elif " step " in line and "/" in line.split(" step ", 1)[1].split(":")[0]:
                    print(
                        f"  {time.monotonic() - started:4.0f} s  step {line.split(' step ', 1)[1].rstrip()}",
                        flush=True,
                    )
            if ended:
                return
            time.sleep(0.5)
