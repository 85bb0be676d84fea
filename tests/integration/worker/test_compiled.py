"""Compiled kernels in verl's real worker and FSDP2 engine, with layers calculated again: the gradient stays."""

from pathlib import Path
from typing import Any

import pytest
import torch

from pacs.verl_keys import names
from pacs.verl_keys.workload import COMPILED_KERNELS
from tests.integration.worker import test_worker as cases
from tests.integration.worker.worker_case import tiny_model

pytestmark = [pytest.mark.slow, pytest.mark.long]

#: Micro-batches of several lengths, with a reference that has its own pass, and one that needs none.
WAYS = [
    ("rloo", "grouped, dynamic", "reference"),
    ("rloo", "cached, dynamic", "reference"),
    ("other settings", "cached, four rows", "policy"),
]
PRECISION = "actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype"


def errors(folder: Path, dtype: str) -> dict[str, list[float]]:
    """How far each way's gradient is from plain autograd's in float32: as it is, compiled, and the two from another."""
    family, layout, temperature = cases.CASES["qwen3 packed"]
    for role, seed in (("policy", 0), ("reference", 1)):
        tiny_model(family, seed).save_pretrained(folder / family / role)
    ways = {}
    for config, split, reference in WAYS:
        told: tuple[Any, ...] = cases.way(1, cases.METHODS[config], split, cases.GROUPS + 1)
        ways[config, split, reference] = (*told, cases.REFERENCES[reference])
    case: dict[str, Any] = {
        "family": family,
        "layout": layout,
        "temperature": temperature,
        "learning_rate": cases.LEARNING_RATE,
        "ways": ways,
        "overrides": [f"{PRECISION}={dtype}", f"{names.GRADIENT_CHECKPOINTING}=true"],
    }
    compiled = case | {"overrides": [*case["overrides"], f"{names.EXTERNAL_LIBRARY}={COMPILED_KERNELS}"]}
    torch.save({"plain": case, "compiled": compiled}, folder / "cases_1.pt")
    found = cases.run_ranks(folder, 1, process="worker.compiled_process", seconds=900)
    assert found["plain"]["graphs"] == 0 < found["compiled"]["graphs"]
    expected = {way: cases.whole_batch_gradient(family, temperature, way[0], way[2]) for way in WAYS}
    plain, ours = (found[name]["gradients"] for name in ("plain", "compiled"))
    return {
        "plain": [cases.relative_error(plain[way], expected[way]) for way in WAYS],
        "compiled": [cases.relative_error(ours[way], expected[way]) for way in WAYS],
        "between": [cases.relative_error(ours[way], plain[way]) for way in WAYS],
    }


def test_in_float32_the_gradient_is_that_of_plain_autograd(tmp_path: Path) -> None:
    found = errors(tmp_path, "fp32")
    assert max(found["compiled"]) < 1e-5, found


def test_in_bf16_the_gradient_is_as_far_from_float32_as_without(tmp_path: Path) -> None:
    """Both are 0.02 from it, by other roundings: 0.94 to 1.12 times as far in the three ways."""
    found = errors(tmp_path, "bf16")
    assert min(found["between"]) > 1e-4, found
    for plain, compiled in zip(found["plain"], found["compiled"], strict=True):
        assert compiled < 1.25 * plain, found
