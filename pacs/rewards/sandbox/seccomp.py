"""seccomp: the system calls that a tested program may make. All others fail with ENOSYS, as if there were none.

Not among them, so that there is no way to it: sockets of any kind; new processes and programs (threads may be made);
signals to any process; opening a file to write, making, renaming or removing one; another process's memory, limits or
priority; namespaces, mounts, keys, BPF, io_uring, and what later kernels will add.
"""

import ctypes
import os
import struct
from typing import Final

from pacs.rewards.sandbox import libc

_CLONE_THREAD: Final = 0x10000
_TCGETS, _FIOCLEX = 0x5401, 0x5451  # isatty() and close-on-exec
_F_DUPFD_CLOEXEC: Final = 1030
_ALL: Final = 0xFFFFFFFF

#: The calls that are allowed: name/number on x86_64/on aarch64, which has none of some. In turn: on open files, and
#: what is known of files; memory; threads, signals to oneself, and the end; time; what a process may know.
_CALLS: Final = """
    read/0/63 write/1/64 close/3/57 stat/4/- fstat/5/80 lstat/6/- poll/7/- lseek/8/62 pread64/17/67 access/21/-
    select/23/- dup/32/23 dup2/33/- getcwd/79/17 readlink/89/- getdents64/217/61 newfstatat/262/79 readlinkat/267/78
    faccessat/269/48 pselect6/270/72 ppoll/271/73 dup3/292/24 statx/332/291 close_range/436/436 faccessat2/439/439
    mmap/9/222 mprotect/10/226 munmap/11/215 brk/12/214 mremap/25/216 madvise/28/233
    rt_sigaction/13/134 rt_sigprocmask/14/135 rt_sigreturn/15/139 sched_yield/24/124 getitimer/36/102 alarm/37/-
    setitimer/38/103 exit/60/93 sigaltstack/131/132 futex/202/98 set_tid_address/218/96 restart_syscall/219/128
    exit_group/231/94 set_robust_list/273/99 rseq/334/293
    nanosleep/35/101 gettimeofday/96/169 times/100/153 clock_gettime/228/113 clock_getres/229/114
    clock_nanosleep/230/115
    getpid/39/172 uname/63/160 getrlimit/97/163 getrusage/98/165 sysinfo/99/179 getuid/102/174 getgid/104/176
    geteuid/107/175 getegid/108/177 getppid/110/173 gettid/186/178 sched_getaffinity/204/123 getcpu/309/168
    getrandom/318/278
"""
#: Each call's number on x86_64 and on aarch64; None where an architecture has no such call.
ALLOWED: Final[dict[str, tuple[int, int | None]]] = {
    name: (int(first), None if second == "-" else int(second))
    for name, first, second in (call.split("/") for call in _CALLS.split())
}
#: Calls that depend on an argument: numbers as above, which argument, its mask, and what it may be.
CHECKED: Final[dict[str, tuple[tuple[int, int], int, int, tuple[int, ...]]]] = {
    "clone": ((56, 220), 0, _CLONE_THREAD, (_CLONE_THREAD,)),
    "fcntl": ((72, 25), 1, _ALL, (0, 1, 2, 3, 4, _F_DUPFD_CLOEXEC)),  # not F_SETOWN, which sends signals
    "ioctl": ((16, 29), 1, _ALL, (_TCGETS, _FIOCLEX)),
    "openat": ((257, 56), 2, os.O_ACCMODE | os.O_CREAT | os.O_TRUNC, (os.O_RDONLY,)),
    "prlimit64": ((302, 261), 0, _ALL, (0,)),  # one's own
}
_LOAD, _AND, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x54, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 38  # ENOSYS: the C library then tries an older call
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in the kernel's struct seccomp_data
_INSTRUCTION: Final = "=HBBI"
_MODE_FILTER: Final = 2


def restrict() -> None:
    """Let this process, and its threads to come, make only the allowed calls.

    Raises:
        OSError: If the kernel has no seccomp filters, or forbids them here, or there is none for this machine.
    """
    machine = os.uname().machine
    if machine not in FILTERS:
        raise OSError(f"the filter is written for {' and '.join(FILTERS)}, not for {machine}")
    instructions = ctypes.create_string_buffer(FILTERS[machine], len(FILTERS[machine]))
    count = len(FILTERS[machine]) // struct.calcsize(_INSTRUCTION)
    program = ctypes.create_string_buffer(struct.pack("@HP", count, ctypes.addressof(instructions)))
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    libc.prctl(libc.PR_SET_SECCOMP, _MODE_FILTER, program)


def _build(column: int, architecture: int) -> bytes:
    """The filter as BPF, for a column of the tables and the kernel's number of the architecture."""
    lines = [(_LOAD, 0, 0, _ARCHITECTURE), (_JUMP_IF_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _REFUSE)]
    lines += [(_LOAD, 0, 0, _NUMBER)]
    for numbers in ALLOWED.values():
        if (number := numbers[column]) is not None:
            lines += [(_JUMP_IF_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ALLOW)]
    for checked, argument, mask, values in CHECKED.values():
        # The lower half of the argument, on a little-endian machine: the kernel looks at no more of these.
        test = [(_LOAD, 0, 0, _ARGUMENTS + 8 * argument), (_AND, 0, 0, mask)]
        for value in values:
            test += [(_JUMP_IF_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW)]
        test += [(_RETURN, 0, 0, _REFUSE)]
        lines += [(_JUMP_IF_EQUAL, 0, len(test), checked[column]), *test]
    lines += [(_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack(_INSTRUCTION, *line) for line in lines)


#: Each machine's filter.
FILTERS: Final = {"x86_64": _build(0, 0xC000003E), "aarch64": _build(1, 0xC00000B7)}
