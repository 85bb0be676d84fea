"""Landlock: a process that may read some folders, and nothing else of the file system.

It also keeps the process from looking into others, their memory and environment, and holds for all threads to come.
Linux has it since 5.13; https://docs.kernel.org/userspace-api/landlock.html.
"""

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from contextlib import suppress

from pacs.rewards.sandbox import libc

# The same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_READ_FILE, _READ_DIRECTORY = 1 << 2, 1 << 3
#: Every right of the first version: execute, write, read, remove, make.
_HANDLED = (1 << 13) - 1


def restrict(readable: Iterable[str]) -> None:
    """Let this process open nothing but what is at or below some paths, and that for reading.

    Args:
        readable: the paths; those that do not exist are passed over.

    Raises:
        OSError: If the kernel has no Landlock, or forbids it here. The process is as it was.
    """
    attributes = ctypes.create_string_buffer(struct.pack("=Q", _HANDLED), 8)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, 8, 0)
    for path in readable:
        with suppress(FileNotFoundError):
            _allow(ruleset, path)
    libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
    libc.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: str) -> None:
    descriptor = os.open(path, os.O_PATH)
    rights = _READ_FILE
    if stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights |= _READ_DIRECTORY
    rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
    libc.syscall(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    os.close(descriptor)
