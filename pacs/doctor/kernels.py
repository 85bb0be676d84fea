"""What compiles and runs kernels, tried: the C compiler, flash-attn's import, and Triton on the GPU."""

import os
import shlex
import shutil
import signal
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from pacs.doctor.finding import Finding, answer_of, last_line

#: Seconds in which torch is imported, CUDA starts and a kernel is compiled; and for a file of one line.
LIMIT_SECONDS, COMPILER_SECONDS = 300.0, 60.0
#: Exit status of `triton_kernel` where it sees no GPU to try one on.
NOT_TRIED = 3

COMPILER, FLASH_ATTENTION, TRITON = "C compiler", "flash-attn", "Triton kernel"
COMPILE_AGAIN = (
    "compile it against the installed torch: pip uninstall flash-attn, remove the environment's .pacs-environment, and "
    "run bash scripts/setup_gpu.sh; or do without it: pip uninstall flash-attn, and "
    "+actor_rollout_ref.model.override_config.attn_implementation=sdpa"
)
TRITON_MEND = "see the C compiler above; triton must be the one that torch asks for (bash scripts/setup_gpu.sh)"
#: What a run with packed sequences takes of it. Whether its numbers are right is for the probe of each run to say.
IMPORT = "import flash_attn; from flash_attn import flash_attn_varlen_func; print(flash_attn.__version__, 'is here')"


def check_kernels(*, gpu: bool, attention: str) -> Iterator[Finding]:
    """The compiler, a Triton kernel, and flash-attn where it is used.

    Args:
        gpu: the GPU stack is examined; the CPU stack uses none of the three.
        attention: the run's `attn_implementation`.
    """
    if not gpu:
        for name in (COMPILER, TRITON, FLASH_ATTENTION):
            yield Finding(name, "ok", "does not apply: the CPU stack does without")
        return
    yield check_compiler()
    yield check_triton()
    if attention.startswith("flash"):
        yield check_flash_attention()
    else:
        yield Finding(FLASH_ATTENTION, "ok", f"does not apply: attn_implementation={attention}")


def check_compiler() -> Finding:
    """Compile a file that includes Python.h to a shared library, as Triton does: $CC, or gcc, or clang."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        mend = "install it (Debian, Ubuntu: apt-get install build-essential), or set CC to one: Triton compiles with it"
        return Finding(COMPILER, "fail", "neither gcc nor clang is on the PATH, and CC is not set", mend)
    # As Triton: Debian's own scheme names a folder without headers.
    scheme = sysconfig.get_default_scheme()
    headers = sysconfig.get_paths(scheme="posix_prefix" if scheme == "posix_local" else scheme)["include"]
    if not (Path(headers) / "Python.h").is_file():
        mend = (
            f"install this Python's headers (Debian, Ubuntu: apt-get install python{sysconfig.get_python_version()}"
            "-dev), or make the environment with a Python that has them: Triton compiles with them"
        )
        return Finding(COMPILER, "fail", f"there is no Python.h in {headers}", mend)
    with tempfile.TemporaryDirectory(prefix="pacs-doctor-") as folder:
        source = Path(folder) / "here.c"
        source.write_text("#include <Python.h>\nlong here(void) { return PY_VERSION_HEX; }\n")
        command = [compiler, str(source), "-O3", "-shared", "-fPIC", "-o", f"{folder}/here.so", f"-I{headers}"]
        try:
            run = answer_of(command, COMPILER_SECONDS)
        except OSError as error:
            mend = f"set CC to a C compiler that runs, or unset it (it is {compiler})"
            return Finding(COMPILER, "fail", str(error), mend)
    if run.returncode:
        said = next((line for line in run.stderr.splitlines() if "error" in line), f"status {run.returncode}")
        return Finding(COMPILER, "fail", f"{compiler}: {said.strip()}", f"see why: {shlex.join(command)}")
    return Finding(COMPILER, "ok", f"{compiler} compiles with Python's headers")


def unusable_flash_attention() -> Finding | None:
    """A flash-attn that is installed and cannot be imported. transformers tries to wherever it is, whatever attention a
    run has: not even a config can be examined beside it."""
    if find_spec("flash_attn") is None:
        return None
    finding = check_flash_attention()
    return finding if finding.state == "fail" else None


def check_flash_attention() -> Finding:
    """Import it, in a process of its own: one of another ABI may end its process."""
    return _run(FLASH_ATTENTION, ["-c", IMPORT], COMPILE_AGAIN)


def check_triton() -> Finding:
    """Compile a kernel and run it, likewise."""
    return _run(TRITON, ["-m", "pacs.doctor.triton_kernel"], TRITON_MEND)


def _run(name: str, arguments: list[str], mend: str) -> Finding:
    command = [sys.executable, *arguments]
    try:
        run = answer_of(command, LIMIT_SECONDS)
    except OSError as error:
        return Finding(name, "fail", str(error), f"see where it hangs: {shlex.join(command)}")
    if run.returncode < 0:
        return Finding(name, "fail", f"its process was ended by {signal.Signals(-run.returncode).name}", mend)
    if run.returncode not in (0, NOT_TRIED):
        return Finding(name, "fail", last_line(run.stderr, "nothing"), mend)
    said = last_line(run.stdout, "nothing")
    return Finding(name, "warn", said, "examine it where the GPUs are") if run.returncode else Finding(name, "ok", said)
