"""What is installed, against the pins of this package; and whether Ray, CUDA and the sandbox can be used."""

import os
import socket
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from pacs.doctor.finding import Finding, judged
from pacs.rewards.sandbox.limits import Limits, Refused
from pacs.rewards.sandbox.sandbox import Sandbox, SandboxError
from pacs.runs.variables import ray_variable_problems, variable_problems

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
        pinned = (line.strip().removesuffix("\\").strip() for line in beside.read_text().splitlines())
        lines = [*lines, *(line for line in pinned if line and not line.startswith(("#", "--")))]
    found = {requirement.name: requirement for requirement in map(Requirement, lines) if _applies(requirement, extra)}
    return list(found.values())


def _applies(requirement: Requirement, extra: str) -> bool:
    asked = requirement.marker is None or requirement.marker.evaluate({"extra": extra})
    return asked and any(part.operator == "==" for part in requirement.specifier)


#: Of a Ray cluster's head; a run on one machine takes free ones.
RAY_PORT = 6379


def check_cuda() -> Iterator[Finding]:
    """That torch sees the GPUs that the driver has, and its NCCL."""
    import torch

    if not torch.cuda.is_available():
        built = torch.version.cuda or "the CPU"
        mend = "install the GPU stack (bash scripts/setup_gpu.sh), and a driver that its CUDA can use"
        yield Finding("CUDA", "fail", f"torch {torch.__version__}, built for {built}, sees no GPU", mend)
        return
    yield Finding("CUDA", "ok", f"{torch.version.cuda}, {torch.cuda.device_count()} GPUs")
    yield Finding("NCCL", "ok", ".".join(map(str, torch.cuda.nccl.version())))


def check_ray() -> Iterator[Finding]:
    """That Ray can be imported, which cluster it would join, and whether a head can be started."""
    try:
        import ray
    except ImportError as error:
        yield Finding("Ray", "fail", str(error), "make the environment anew: see the versions above")
        return
    yield Finding("Ray", "ok", ray.__version__)
    if address := os.environ.get("RAY_ADDRESS"):
        mend = "unset it for a run on this machine alone"
        yield Finding("RAY_ADDRESS", "warn", f"{address}: a run joins that cluster", mend)
    with socket.socket() as probe:
        taken = probe.connect_ex(("127.0.0.1", RAY_PORT)) == 0
    mend = "end it (`ray stop`) or give a cluster's head another port; a run on one machine does not need it"
    yield judged("Ray's port", f"{RAY_PORT} is {'taken' if taken else 'free'}", (taken, "warn", mend))


def check_variables() -> Iterator[Finding]:
    """What is set in the environment and breaks a run."""
    for problem in (*variable_problems(), *ray_variable_problems()):
        found, _, mend = problem.rpartition(": ")
        yield Finding("environment", "fail", found, mend)


def check_sandbox() -> Finding:
    """That the verifier of programs can lock a program up: it runs one."""
    try:
        with Sandbox("print(input())", None, Limits(cpu_seconds=10, memory_mib=512)) as sandbox:
            outcome = sandbox.run("here", longest_bytes=100, seconds=30.0)
    except (Refused, SandboxError, OSError) as error:
        mend = (
            "answers that are programs cannot be graded here, all others can: use a kernel of 5.13 or later with "
            "seccomp and Landlock, and a container that allows them"
        )
        return Finding("sandbox", "warn", str(error), mend)
    if (outcome.output or b"").strip() != b"here":
        return Finding("sandbox", "fail", f"a program {outcome.ended}: {outcome.output!r}", "report this as a bug")
    return Finding("sandbox", "ok", "runs a program under seccomp and Landlock")
