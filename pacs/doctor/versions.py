"""What is installed, against the pins of this package."""

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from pacs.doctor.finding import Finding

#: What each stack installs without its dependencies: vLLM's CPU build, flash-attn.
BESIDE = {"cpu": "cpu-no-deps.txt", "gpu": "gpu-build.txt"}
MENDS = {
    "cpu": "make the environment anew: bash scripts/setup_cpu.sh",
    "gpu": "install the pinned stack: bash scripts/setup_gpu.sh",
}


def check_versions(extra: str) -> Iterator[Finding]:
    """Each requirement of the package with an exact version: its own, and those of a stack.

    Args:
        extra: `cpu` or `gpu`.
    """
    mend = MENDS[extra]
    as_pinned = []
    try:
        pinned = pins(extra)
    except PackageNotFoundError:
        found = "pacs is not installed, but used from its folder: what it needs is not known"
        yield Finding("versions", "warn", found, mend)
        return
    for requirement in pinned:
        name = f"version of {requirement.name}"
        try:
            installed = version(requirement.name)
        except PackageNotFoundError:
            yield Finding(name, "fail", f"not installed; pinned: {requirement.specifier}", mend)
            continue
        # A build's own suffix, as in 2.13.0+cpu, is no other version.
        if requirement.specifier.contains(installed.partition("+")[0], prereleases=True):
            as_pinned.append(f"{requirement.name} {installed}")
        else:
            found = f"{installed}; pinned and tested: {requirement.specifier}"
            yield Finding(name, "fail" if requirement.name == "verl" else "warn", found, mend)
    if as_pinned:
        yield Finding("versions", "ok", f"{len(as_pinned)} as pinned: {', '.join(as_pinned)}")


def installed_stack() -> str:
    """`gpu` where its vLLM is installed, as on the login node of a cluster, else `cpu`."""
    try:
        version("vllm")
    except PackageNotFoundError:
        return "cpu"
    return "gpu"


def pins(extra: str) -> list[Requirement]:
    """The requirements with ==, without those of the other extras; what is installed apart has a file of its own."""
    lines = requires("pacs") or []
    beside = Path(__file__).parents[2] / "requirements" / BESIDE[extra]
    if beside.is_file():
        # Without the hashes, which are lines of their own.
        own = (line.strip().removesuffix("\\").strip() for line in beside.read_text().splitlines())
        lines = [*lines, *(line for line in own if line and not line.startswith(("#", "--")))]
    found = {requirement.name: requirement for requirement in map(Requirement, lines) if _applies(requirement, extra)}
    return list(found.values())


def _applies(requirement: Requirement, extra: str) -> bool:
    asked = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
    return asked and any(part.operator == "==" for part in requirement.specifier)
