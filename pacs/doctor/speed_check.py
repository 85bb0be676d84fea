"""The ten-second test in processes of its own, and what its numbers mean."""

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pacs.doctor.finding import Finding, answer_of, judged, last_line
from pacs.planning.devices import GPUS, Device

#: Seconds after which a rank hangs; CUDA and NCCL start in some tens.
LIMIT_SECONDS = 300.0
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
        run = answer_of(command, LIMIT_SECONDS)
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
    whole = f"; a whole {sheet.name} has {sheet.flops / 1e9:,.0f}" if sheet and slow else ""
    yield judged(
        "matrix product",
        f"{slowest / 1e9:,.0f} to {max(flops) / 1e9:,.0f} GFLOPS{whole}",
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
