"""Whether Ray, CUDA's libraries and the sandbox can be used here."""

import os
import socket
from collections.abc import Iterator

from pacs.doctor.finding import Finding, judged
from pacs.rewards.sandbox.limits import Limits, Refused
from pacs.rewards.sandbox.sandbox import Sandbox, SandboxError
from pacs.runs.variables import variable_problems

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
    for problem in variable_problems():
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
