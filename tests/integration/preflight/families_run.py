"""Run families through the real worker, and say of each layout what refuses it and how far its gradient is off."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from pacs.integration.checks.architecture import architecture_problems
from tests.integration.preflight.families import attention_of, has_sdpa, write_model
from tests.integration.preflight.families_case import LAYOUTS, autograd_gradient, composed, relative_error
from tests.integration.preflight.families_library import library_gradient
from tests.integration.worker.test_worker import run_ranks

#: Family, layout, overrides of the run, settings of the model.
Case = tuple[str, str, tuple[str, ...], dict[str, Any]]
#: Cases that one process is given, and the seconds that it has for each, its start included.
PART, SECONDS = 24, 60


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
        results |= run_ranks(folder, ranks, process="preflight.families_process", seconds=SECONDS * len(part))
    return results


def run_families(folder: Path, families: Sequence[str], ranks: Sequence[int] = (1, 2)) -> dict[str, Any]:
    """Family -> layout -> `refused` before Ray; `probe`, `fails` in the worker; the gradient's `errors`, by ranks.

    First `library`, without the worker. What is refused is not run in the worker; on two ranks that is which the GPUs'
    configs have, packed and fused. Beside the layouts `sdpa`, what is said of it where the family is run with eager
    attention though it has both.
    """
    results: dict[str, dict[str, Any]] = {}
    cases: dict[str, Case] = {}
    for family in families:
        write_model(family, folder)
        results[family] = {layout: _without_worker(folder, family, layout) for layout in LAYOUTS}
        if has_sdpa(family) and attention_of(family) == "eager":
            results[family]["sdpa"] = _refused(folder, family, "padded", attn_implementation="sdpa")
        cases |= {
            f"{family}: {layout}": (family, layout, (), {})
            for layout in LAYOUTS
            if not results[family][layout]["refused"]
        }
    for count in ranks:
        for name, found in run_cases(folder, cases, count).items():
            family, layout, *_ = cases[name]
            result = results[family][layout]
            result |= {"probe": found.get("probe"), "fails": found.get("fails")}
            result["errors"] |= {str(count): found["error"]} if "error" in found else {}
        cases = {name: case for name, case in cases.items() if case[1] == "packed, fused"}
    return results


def _without_worker(folder: Path, family: str, layout: str) -> dict[str, Any]:
    result: dict[str, Any] = {"refused": _refused(folder, family, layout), "probe": None, "fails": None, "errors": {}}
    try:
        error = relative_error(library_gradient(family, layout), autograd_gradient(family))
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError) as problem:
        result["fails"] = repr(problem).splitlines()[0][:200]
    else:
        result["errors"]["library"] = error
    return result


def _refused(folder: Path, family: str, layout: str, **settings: Any) -> list[str]:
    problems = architecture_problems(composed(folder / family, family, layout, **settings))
    return [problem.replace(str(folder / family), family) for problem in problems]
