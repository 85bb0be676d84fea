"""What a test's process takes from itself before it runs the program.

A program can read its limits, so that none may depend on the right output.
"""

import resource
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pacs.rewards.sandbox import landlock, libc, seccomp

#: The limit is on processor time, since time on a clock depends on how busy the machine is; this many times as much
#: on the clock ends a program that sleeps.
WALL_FACTOR: Final = 5
#: Files and pipes that a program may have open.
OPEN_FILES = 64
# Room for about 100,000 nested calls of C code, such as those of a cached function.
_STACK_BYTES = 120 * 2**20
_SYSTEM = ("/usr", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/zero", "/dev/urandom")


class Refused(RuntimeError):
    """This machine cannot hold a program as it must be held; the message names the setting that does without."""


@dataclass(frozen=True)
class Limits:
    """What a test may use, and what may be missing on this machine.

    Attributes:
        cpu_seconds: processor time of one test, of all its threads.
        memory_mib: address space.
        output_mib: what may be written to standard output; further writes fail.
        allow_without_landlock: run where the kernel has no Landlock: every file of this user can then be read.
        allow_without_seccomp: run where no seccomp filter can be set: nothing but the other limits holds then.
    """

    cpu_seconds: int
    memory_mib: int
    output_mib: int = 64
    allow_without_landlock: bool = False
    allow_without_seccomp: bool = False


def restrict(limits: Limits, packages: list[str]) -> None:
    """Limit this process for good.

    Args:
        limits: the program's.
        packages: folders of installed packages, to be read beside Python's own.

    Raises:
        Refused: If Landlock or seccomp is not to be had, and not allowed to be missing.
    """
    # Where memory runs out, the kernel should end this process and not its neighbours.
    Path("/proc/self/oom_score_adj").write_text("1000")
    libc.prctl(libc.PR_SET_PDEATHSIG, signal.SIGKILL)
    set_limit(resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + 1)
    set_limit(resource.RLIMIT_AS, limits.memory_mib * 2**20)
    set_limit(resource.RLIMIT_FSIZE, limits.output_mib * 2**20)  # of any file; standard output is the only one
    set_limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    set_limit(resource.RLIMIT_CORE, 0)
    set_limit(resource.RLIMIT_STACK, _STACK_BYTES)
    libc.drop_capabilities()
    try:
        landlock.restrict([sys.base_prefix, sys.base_exec_prefix, *packages, *_SYSTEM])
    except OSError as error:
        if not limits.allow_without_landlock:
            raise Refused(
                f"no Landlock here ({error.strerror}), so that a tested program could read every file of this user, "
                "the right answers too: use Linux 5.13 or later with landlock among its security modules (in a "
                "container: a runtime that allows it), or set code.allow_without_landlock=true"
            ) from None
    try:
        seccomp.restrict()
    except OSError as error:
        if not limits.allow_without_seccomp:
            raise Refused(
                f"no seccomp filter here ({error.strerror or error}), so that a tested program could use the network, "
                "start processes and write files: run on x86_64 or aarch64 with seccomp allowed, or set "
                "code.allow_without_seccomp=true"
            ) from None


def set_limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, as far as the one that this process was started with goes."""
    ceiling = resource.getrlimit(kind)[1]
    hard = soft if hard is None else hard
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))
