"""The numbers of the system calls, against libseccomp's; where a kernel lacks what the sandbox needs, it refuses."""

import ctypes
import ctypes.util
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from pacs.rewards.sandbox.seccomp import ALLOWED, CHECKED, FILTERS

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


@pytest.mark.parametrize("machine", AUDIT)
def test_the_numbers_are_those_of_libseccomp(machine: str) -> None:
    name = ctypes.util.find_library("seccomp")
    if name is None:
        pytest.skip("libseccomp is not installed")
    resolve = ctypes.CDLL(name).seccomp_syscall_resolve_name_arch
    resolve.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    column = list(AUDIT).index(machine)
    ours = {name: numbers[column] for name, numbers in ALLOWED.items()}
    ours |= {name: numbers[column] for name, (numbers, *_) in CHECKED.items()}
    theirs = {name: resolve(AUDIT[machine], name.encode()) for name in ours}  # negative where there is no such call
    assert ours == {name: number if number >= 0 else None for name, number in theirs.items()}


def verdict_of_filter(machine: str, number: int, *arguments: int, architecture: int | None = None) -> bool:
    """Whether a filter lets a call pass: the kernel's BPF, for the five instructions that are used."""
    import struct

    data = struct.pack("=iIQ6Q", number, architecture or AUDIT[machine], 0, *arguments, *[0] * (6 - len(arguments)))
    lines = list(struct.iter_unpack("=HBBI", FILTERS[machine]))
    position, value = 0, 0
    while True:
        code, if_true, if_false, operand = lines[position]
        position += 1
        match code:
            case 0x20:
                (value,) = struct.unpack_from("=I", data, operand)
            case 0x54:
                value &= operand
            case 0x15:
                position += if_true if value == operand else if_false
            case 0x06:
                return operand == 0x7FFF0000


@pytest.mark.parametrize("machine", AUDIT)
def test_the_filter_lets_the_listed_calls_pass_and_no_others(machine: str) -> None:
    """For aarch64 this is all that is shown: no test runs there."""
    column = list(AUDIT).index(machine)
    passing = {
        number for number in range(-2, 1100) if verdict_of_filter(machine, number, *[0x7FFE0FFF] * 6)
    }  # no argument that is checked
    assert passing == {numbers[column] for numbers in ALLOWED.values()} - {None}
    assert not any(verdict_of_filter(machine, number, architecture=0x40000003) for number in range(1100))
    for numbers, argument, mask, values in CHECKED.values():
        for value in [*range(5000), *range(0x10000, 0x10100)]:
            given = [0] * argument + [value]
            assert verdict_of_filter(machine, numbers[column], *given) == (value & mask in values)


# A kernel that lacks something, for a process: the call fails as there. BPF for `if (number == ...) return error`.
BLOCKED = """
import os, struct, ctypes
from pacs.rewards.sandbox import libc
lines = [(0x20, 0, 0, 0), (0x15, 0, {skip}, {number}), {test} (0x06, 0, 0, 0x50000 | {error}), (0x06, 0, 0, 0x7FFF0000)]
code = b"".join(struct.pack("=HBBI", *line) for line in lines)
code = ctypes.create_string_buffer(code, len(code))
libc.prctl(libc.PR_SET_NO_NEW_PRIVS, 1)
libc.prctl(libc.PR_SET_SECCOMP, 2, ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(code))))

import json
from pacs.rewards.registry import compute_score
program = "```python\\nprint(open({file!r}).read(), end='')\\n```"
tests = json.dumps(dict(fn_name=None, inputs=[""], outputs=["42"]))
print(compute_score("test", program, tests, dict(verifier="code"), code=dict({settings}))["status"])
"""
LANDLOCK = {"number": 444, "error": 38, "skip": 1, "test": ""}
# prctl(PR_SET_SECCOMP, ...)
SECCOMP = {
    "number": {"x86_64": 157, "aarch64": 167}.get(platform.machine(), 0),
    "error": 22,
    "skip": 3,
    "test": "(0x20, 0, 0, 16), (0x15, 0, 1, 22),",
}


@pytest.mark.parametrize(("lacks", "name"), [(LANDLOCK, "landlock"), (SECCOMP, "seccomp")])
def test_a_kernel_without_it_is_refused_unless_a_setting_allows_it(
    lacks: dict[str, object], name: str, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("42")

    def outcome(settings: str) -> subprocess.CompletedProcess[str]:
        code = BLOCKED.format(**lacks, file=str(secret), settings=settings)
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    refused = outcome("")
    last_line = refused.stderr.splitlines()[-1]
    assert refused.stdout == ""
    assert f"code.allow_without_{name}=true" in last_line
    # Landlock alone keeps it from reading files; without seccomp Landlock is still there.
    allowed = outcome(f"allow_without_{name}=True")
    assert allowed.stdout.strip() == {"landlock": "correct", "seccomp": "wrong"}[name], allowed.stderr
