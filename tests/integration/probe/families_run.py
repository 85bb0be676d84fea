"""Run families through the real worker, and say of each layout what refuses it and how far its gradient is off."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch

from pacs.integration.checks.architecture import architecture_problems
from tests.integration.probe.families import write_model
from tests.integration.probe.families_case import LAYOUTS, autograd_gradient, composed
from tests.integration.worker.test_worker import run_ranks

#: Family, layout, overrides of the run, settings of the model.
Case = tuple[str, str, tuple[str, ...], dict[str, Any]]
#: Cases that one process is given: it has minutes.
PART = 24


def run_cases(folder: Path, cases: Mapping[str, Case], ranks: int) -> dict[str, dict[str, Any]]:
    """Name -> `probe` (its complaint), `undisturbed`, and the gradient's `error` if it is taken; or `fails`."""
    for family in {family for family, *_ in cases.values()}:
        write_model(family, folder)
        if not (folder / family / "gradient.pt").exists():
            torch.save(autograd_gradient(family), folder / family / "gradient.pt")
    results: dict[str, dict[str, Any]] = {}
    names = list(cases)
    for part in [names[i : i + PART] for i in range(0, len(names), PART)]:
        torch.save({name: cases[name] for name in part}, folder / f"cases_{ranks}.pt")
        results |= run_ranks(folder, ranks, process="probe.families_process")
    return results


def run_families(folder: Path, families: Sequence[str]) -> dict[str, Any]:
    """Family -> layout -> `refused` before Ray; `probe`, `fails` in the worker; the gradient's `errors` by ranks.

    On one rank all layouts, on two that of the GPUs' configs.
    """
    results: dict[str, dict[str, Any]] = {family: {} for family in families}
    for ranks, layouts in {1: LAYOUTS, 2: ("packed, fused",)}.items():
        cases: dict[str, Case] = {
            f"{family}: {layout}": (family, layout, (), {}) for family, layout in product(families, layouts)
        }
        for name, found in run_cases(folder, cases, ranks).items():
            family, layout, *_ = cases[name]
            if layout not in results[family]:
                refused = list(architecture_problems(composed(folder / family, family, layout)))
                refused = [problem.replace(str(folder / family), family) for problem in refused]
                results[family][layout] = {"refused": refused, "probe": None, "fails": None, "errors": {}}
            result = results[family][layout]
            result["probe"] = result["probe"] or found.get("probe")
            result["fails"] = result["fails"] or found.get("fails")
            if "error" in found:
                result["errors"][str(ranks)] = found["error"]
    return results
