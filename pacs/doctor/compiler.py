"""Whether the C compiler and Python's headers are here, with which Triton builds its launchers while a run goes on."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from pacs.doctor.finding import Finding

NAME = "C compiler"
#: Seconds for a file of one line.
LIMIT_SECONDS = 60.0


def check_compiler() -> Finding:
    """Compile a file that includes Python.h to a shared library, as Triton does: $CC, or gcc, or clang."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        mend = "install it (Debian, Ubuntu: apt-get install build-essential), or set CC to one: Triton compiles with it"
        return Finding(NAME, "fail", "neither gcc nor clang is on the PATH, and CC is not set", mend)
    # As Triton: Debian's own scheme names a folder without headers.
    scheme = sysconfig.get_default_scheme()
    headers = sysconfig.get_paths(scheme="posix_prefix" if scheme == "posix_local" else scheme)["include"]
    if not (Path(headers) / "Python.h").is_file():
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        mend = (
            f"install this Python's headers (Debian, Ubuntu: apt-get install python{version}-dev), or make the "
            "environment with a Python that has them: Triton compiles with them"
        )
        return Finding(NAME, "fail", f"there is no Python.h in {headers}", mend)
    with tempfile.TemporaryDirectory(prefix="pacs-doctor-") as folder:
        source, library = Path(folder) / "here.c", Path(folder) / "here.so"
        source.write_text("#include <Python.h>\nlong here(void) { return PY_VERSION_HEX; }\n")
        command = [compiler, str(source), "-O3", "-shared", "-fPIC", "-o", str(library), f"-I{headers}"]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return Finding(
                NAME, "fail", str(error), f"set CC to a C compiler that runs, or unset it (it is {compiler})"
            )
    if run.returncode:
        said = next((line for line in run.stderr.splitlines() if "error" in line), f"status {run.returncode}")
        return Finding(NAME, "fail", f"{compiler}: {said.strip()}", f"see why: {shlex.join(command)}")
    return Finding(NAME, "ok", f"{compiler} compiles with Python's headers")
