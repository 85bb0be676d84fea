"""flash-attn and Triton tried on the GPU, each in a process of its own: one of another ABI may end its process."""

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

from pacs.doctor.compiler import NAME, check_compiler
from pacs.doctor.finding import Finding

#: Seconds in which torch is imported, CUDA starts and a kernel is compiled.
LIMIT_SECONDS = 300.0
#: Exit status of a part that could import what it tries, but sees no GPU to try it on.
NOT_TRIED = 3

FLASH_ATTENTION, TRITON = "flash-attn", "Triton kernel"
COMPILE_AGAIN = (
    "compile it against the installed torch: pip uninstall flash-attn, remove the environment's .pacs-environment, and "
    "run bash scripts/setup_gpu.sh; or do without it: pip uninstall flash-attn, and "
    "+actor_rollout_ref.model.override_config.attn_implementation=sdpa"
)
MENDS = {
    FLASH_ATTENTION: COMPILE_AGAIN,
    TRITON: "see the C compiler above; triton must be the one that torch asks for (bash scripts/setup_gpu.sh)",
}
PARTS = {FLASH_ATTENTION: "pacs.doctor.flash_attention", TRITON: "pacs.doctor.triton_kernel"}


def check_kernels(*, gpu: bool, attention: str) -> Iterator[Finding]:
    """The compiler, a Triton kernel, and flash-attn where it is used.

    Args:
        gpu: the GPU stack is examined; the CPU stack uses none of the three.
        attention: the run's `attn_implementation`.
    """
    if not gpu:
        for name in (NAME, TRITON, FLASH_ATTENTION):
            yield Finding(name, "ok", "does not apply: the CPU stack does without")
        return
    yield check_compiler()
    yield try_part(TRITON)
    if attention.startswith("flash"):
        yield try_part(FLASH_ATTENTION)
    else:
        yield Finding(FLASH_ATTENTION, "ok", f"does not apply: attn_implementation={attention}")


def unusable_flash_attention() -> Finding | None:
    """A flash-attn that is installed and cannot be imported. transformers tries to wherever it is, whatever attention a
    run has: not even a config can be examined beside it."""
    if find_spec("flash_attn") is None:
        return None
    finding = _run(FLASH_ATTENTION, ["-c", "import flash_attn"])
    return finding if finding.state == "fail" else None


def try_part(name: str) -> Finding:
    """Run one of `PARTS`; its last line says what was found."""
    return _run(name, ["-m", PARTS[name]])


def _run(name: str, arguments: list[str]) -> Finding:
    command = [sys.executable, *arguments]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        mend = f"see where it hangs: {shlex.join(command)}"
        return Finding(name, "fail", f"no answer in {LIMIT_SECONDS:.0f} s", mend)
    if run.returncode < 0:
        ended = f"its process was ended by {signal.Signals(-run.returncode).name}"
        return Finding(name, "fail", ended, MENDS[name])
    said = ((run.stderr if run.returncode not in (0, NOT_TRIED) else run.stdout).strip().splitlines() or ["nothing"])[
        -1
    ]
    if run.returncode == NOT_TRIED:
        return Finding(name, "warn", said, "examine it where the GPUs are")
    if run.returncode:
        return Finding(name, "fail", said, MENDS[name])
    return Finding(name, "ok", said)
