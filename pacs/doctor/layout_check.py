"""The run's policy, built once in processes of its own, one a rank, and its layout tried."""

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pacs.base.run_folder import RunFolder
from pacs.doctor.finding import Finding
from pacs.verl_keys import config as keys

#: Seconds in which the weights must be there and have been tried.
LIMIT_SECONDS = 1800.0


def check_layout(config: DictConfig) -> Iterator[Finding]:
    """Whether packed or padded sequences, the fused head and the ranks of this machine give the model's own numbers.

    Args:
        config: of a run whose model and data are here.
    """
    name = "log-probabilities"
    ranks = keys.ranks_per_node(config)
    try:
        said = _run(config, ranks)
    except subprocess.TimeoutExpired:
        mend = "load the model on one GPU alone to see where it hangs, or leave this out (--no-probe)"
        yield Finding(name, "fail", f"the policy was not built and tried within {LIMIT_SECONDS:.0f} s", mend)
        return
    if isinstance(said, dict):
        yield Finding(name, "ok", f"as laid out for {ranks} ranks they are those of each sequence alone")
        found = (
            f"identical weights, {said['tokens']:.0f} random tokens packed in two ways: {said['per_token']:.1e} nats a "
            f"token, {said['per_response_mean']:.1e} when they are summed (docs/algorithm.md)"
        )
        yield Finding("rounding of log-ratios", "ok", found)
        return
    found, _, mend = said.partition(" Set ")
    yield Finding(name, "fail", found, f"set {mend}" if mend else "see docs/models.md")


def _run(config: DictConfig, ranks: int) -> str | dict[str, float]:
    """The last line of the first rank that failed; what the first measured if none did."""
    with tempfile.TemporaryDirectory(prefix="pacs-doctor-") as folder, socket.socket() as free:
        file = RunFolder(folder).config
        OmegaConf.save(config, file, resolve=True)
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
        free.close()
        started = []
        for rank in range(ranks):
            variables = {"RANK": rank, "WORLD_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            if keys.device(config) == "cuda":
                # As Ray gives each worker its own.
                variables |= {"CUDA_VISIBLE_DEVICES": rank, "LOCAL_RANK": 0}
            command = [sys.executable, "-m", "pacs.integration.preflight.process", str(file)]
            environment = os.environ | {key: str(value) for key, value in variables.items()}
            log = Path(folder) / f"rank_{rank}.log"
            with log.open("w") as said, log.with_suffix(".out").open("w") as measured:
                started.append((subprocess.Popen(command, env=environment, stdout=measured, stderr=said), log))
        try:
            for process, _ in started:
                process.wait(timeout=LIMIT_SECONDS)
        finally:
            for process, _ in started:
                process.kill()
        failed = [log.read_text().strip().splitlines() for process, log in started if process.returncode]
        if failed:
            return (failed[0] or ["a rank ended without a word"])[-1]
        found: dict[str, float] = json.loads((Path(folder) / "rank_0.out").read_text().splitlines()[-1])
        return found
