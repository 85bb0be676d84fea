"""The GPU stack's lock against what verl itself asks for."""

import re
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def locked() -> dict[str, str]:
    files = ("requirements/gpu.txt", "requirements/gpu-build.txt")
    pins = (pin for file in files for pin in re.findall(r"^([\w.-]+)==(\S+)", (ROOT / file).read_text(), re.MULTILINE))
    return {canonicalize_name(name): version for name, version in pins}


@pytest.mark.parametrize("extra", ["vllm", "verl-core", "flash-attn-cu130torch211"])
def test_the_lock_has_what_verl_asks_for(extra: str) -> None:
    asked = [Requirement(line) for line in metadata.requires("verl") or []]
    asked = [r for r in asked if r.marker is not None and r.marker.evaluate({"extra": extra})]
    pins = locked()
    # mbridge is for Megatron, which this project does not use.
    asked = [requirement for requirement in asked if requirement.name not in ("verl", "mbridge")]
    fitting = {r.name: r.specifier.contains(pins[canonicalize_name(r.name)]) for r in asked}
    assert len(fitting) >= 1
    assert all(fitting.values()), fitting
    assert pins["verl"] == metadata.version("verl")
