"""Calls of the C library that Python has no name for."""

import ctypes
import os

_libc = ctypes.CDLL(None, use_errno=True)

PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
_CAPABILITY_VERSION_3 = 0x20080522


def prctl(option: int, argument: int, pointer: ctypes.Array[ctypes.c_char] | None = None) -> None:
    """Change this process by `prctl(2)`. Raises OSError if the kernel refuses."""
    zero = ctypes.c_ulong(0)
    _check(_libc.prctl(option, ctypes.c_ulong(argument), pointer or zero, zero, zero))


def syscall(number: int, *arguments: ctypes.Array[ctypes.c_char] | int | None) -> int:
    """Make a system call by its number. Raises OSError if the kernel refuses."""
    longs = (ctypes.c_long(argument) if isinstance(argument, int) else argument for argument in arguments)
    return _check(_libc.syscall(ctypes.c_long(number), *longs))


def drop_capabilities() -> None:
    """Give up root's powers, if there are any: over limits, files of others and other processes."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()))


def _check(result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result
