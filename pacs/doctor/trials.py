"""What is tried in processes of its own, one a rank: the run's policy with its layout, and ten seconds of work."""

import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.base.run_folder import RunFolder
from pacs.doctor.finding import Finding, answer_of, judged, last_line
from pacs.planning.devices import GPUS, Device
from pacs.verl_keys import config as keys

#: Seconds in which the weights must be there and have been tried.
LAYOUT_SECONDS = 1800.0


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
        yield Finding(name, "fail", f"the policy was not built and tried within {LAYOUT_SECONDS:.0f} s", mend)
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
        command = [sys.executable, "-m", "pacs.integration.preflight.process", str(file)]
        logs, started = [Path(folder) / f"rank_{rank}.log" for rank in range(ranks)], []
        for rank, log in enumerate(logs):
            variables = {"RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            if keys.device(config) == "cuda":
                # As Ray gives each worker its own.
                variables |= {"CUDA_VISIBLE_DEVICES": gpu_of(rank), "LOCAL_RANK": "0"}
            with log.open("w") as said, log.with_suffix(".out").open("w") as measured:
                started.append(subprocess.Popen(command, env=os.environ | variables, stdout=measured, stderr=said))
        failed = first_to_fail(started, LAYOUT_SECONDS)
        if failed is not None:
            return last_line(logs[failed].read_text(), f"rank {failed} ended without a word")
        found: dict[str, float] = json.loads(logs[0].with_suffix(".out").read_text().splitlines()[-1])
        return found


def gpu_of(rank: int) -> str:
    """A rank's GPU: of those that CUDA_VISIBLE_DEVICES names, or of all."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return str(rank) if named is None else named.split(",")[rank].strip()


def usable_gpus(found: int) -> int:
    """Of the machine's GPUs, how many CUDA_VISIBLE_DEVICES leaves."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    return found if named is None else min(found, len([gpu for gpu in named.split(",") if gpu.strip()]))


def first_to_fail(processes: Sequence[subprocess.Popen[bytes]], seconds: float) -> int | None:
    """The number of the process that fails first; None if all end well.

    The others are ended then: over NCCL they would wait for it without end.

    Raises:
        TimeoutExpired: some still ran; they are ended.
    """
    end = time.monotonic() + seconds
    try:
        while None in (states := [process.poll() for process in processes]) and not any(states):
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(processes[0].args, seconds)
            time.sleep(0.1)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return next((i for i, state in enumerate(states) if state), None)


#: Seconds after which a rank of the ten-second test hangs; CUDA and NCCL start in some tens.
SPEED_SECONDS = 300.0
#: A GPU below this share of the data sheet, or of the median of its neighbours, is slow.
LEAST_OF_SHEET, LEAST_OF_MEDIAN = 0.5, 0.85
#: NCCL over NVLink below this share of the data sheet is not going over NVLink.
LEAST_OF_LINK = 0.3


def check_speed(device: str, ranks: int, name: str | None) -> Iterator[Finding]:
    """Run it and judge.

    Args:
        device: cuda or cpu.
        ranks: one a GPU.
        name: the GPU's, as nvidia-smi gives it.
    """
    try:
        results = measure(device, ranks)
    except OSError as error:
        mend = "run it alone to see why: NCCL_DEBUG=INFO python -m pacs.doctor.speed FOLDER RANKS DEVICE"
        yield Finding("work together", "fail", str(error), mend)
        return
    yield from judge(results, next((gpu for key, gpu in GPUS.items() if name and key.upper() in name), None))


def measure(device: str, ranks: int) -> list[dict[str, Any]]:
    """What each rank wrote.

    Raises:
        OSError: a rank failed or hung; with the last that was said.
    """
    with tempfile.TemporaryDirectory(prefix="pacs-doctor-") as folder:
        command = [sys.executable, "-m", "pacs.doctor.speed", folder, str(ranks), device]
        run = answer_of(command, SPEED_SECONDS)
        if run.returncode:
            raise OSError(last_line(run.stderr, f"status {run.returncode}"))
        return [json.loads((Path(folder) / f"rank_{rank}.json").read_text()) for rank in range(ranks)]


def judge(results: list[dict[str, Any]], sheet: Device | None) -> Iterator[Finding]:
    """What the numbers mean.

    Args:
        results: of each rank.
        sheet: of the GPU; None where it is not known.
    """
    flops = [result["flops"] for result in results]
    slowest = min(flops)
    slow = sheet is not None and slowest < LEAST_OF_SHEET * sheet.flops
    uneven = sheet is not None and slowest < LEAST_OF_MEDIAN * statistics.median(flops)
    sheets = f"; a whole {sheet.name} has {sheet.flops / 1e9:,.0f}" if sheet and slow else ""
    yield judged(
        "matrix product",
        f"{slowest / 1e9:,.0f} to {max(flops) / 1e9:,.0f} GFLOPS{sheets}",
        (slow, "warn", "look at clocks, power and heat (nvidia-smi -q -d PERFORMANCE), and at who else uses the GPU"),
        (uneven, "warn", f"rank {flops.index(slowest)} holds up all others: leave it out, or see its clocks and heat"),
    )
    if not all(result["right"] for result in results):
        yield Finding("sum over ranks", "fail", "the sum is wrong", "a GPU or a link is broken: do not train here")
    elif len(results) > 1:
        bus = min(result["bus_bytes_per_second"] for result in results)
        slow = sheet is not None and bus < LEAST_OF_LINK * sheet.link_bytes_per_second
        mend = "see nvidia-smi topo -m, and NCCL_DEBUG=INFO for the path it takes (NVLink, not PCIe or sockets)"
        yield judged("sum over ranks", f"{bus / 1e9:,.2f} GB/s over {len(results)} ranks", (slow, "warn", mend))
