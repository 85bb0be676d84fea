"""The ten-second test on two ranks of the CPU, and what its numbers mean on a GPU."""

from typing import Any

import pytest
import torch

from pacs.doctor.trials import check_speed, judge, measure
from pacs.planning.devices import GPUS

H200 = GPUS["h200"]


@pytest.mark.slow
def test_two_ranks_multiply_and_sum() -> None:
    results = measure("cpu", 2)
    assert len(results) == 2
    for result in results:
        assert result["right"]
        assert result["flops"] > 0
        assert result["bus_bytes_per_second"] > 0
    assert [finding.state for finding in judge(results, None)] == ["ok", "ok"]


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_ranks_that_fail_are_a_finding() -> None:
    (finding,) = check_speed("cuda", 2, "NVIDIA H200")
    assert finding.state == "fail"
    assert "NCCL_DEBUG" in finding.mend


def ranks(*flops: float, bus: float = 3e11, right: bool = True) -> list[dict[str, Any]]:
    return [{"flops": value, "bus_bytes_per_second": bus, "right": right} for value in flops]


@pytest.mark.parametrize(
    ("results", "states"),
    [
        (ranks(7e14, 7e14), ["ok", "ok"]),
        (ranks(7e14), ["ok"]),
        (ranks(3e14, 3e14), ["warn", "ok"]),
        (ranks(7e14, 7e14, 5.5e14), ["warn", "ok"]),
        (ranks(7e14, 7e14, bus=2e10), ["ok", "warn"]),
        (ranks(7e14, 7e14, right=False), ["ok", "fail"]),
    ],
)
def test_what_the_numbers_mean(results: list[dict[str, Any]], states: list[str]) -> None:
    assert [finding.state for finding in judge(results, H200)] == states


def test_a_slow_gpu_is_named() -> None:
    finding = next(iter(judge(ranks(7e14, 7e14, 5.5e14), H200)))
    assert "rank 2" in finding.mend
