"""The compiler, flash-attn and Triton: broken ones on the path, and what a machine without GPUs is told."""

import os
import stat
import sys
import sysconfig
from pathlib import Path

import pytest

from pacs.doctor.kernels import check_compiler, check_flash_attention, check_kernels, check_triton
from tests.doctor.test_machine import doctor

#: As `import flash_attn` ends where it was compiled for another torch.
OTHER_ABI = (
    "raise ImportError('flash_attn_2_cuda.so: undefined symbol: _ZN3c104cuda9SetDeviceEab')",
    "undefined symbol: _ZN3c104cuda9SetDeviceEab",
)


def package(folder: Path, name: str, code: str) -> None:
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(code)


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder before all others on the path of a part's process."""
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', Path.cwd())}")
    return tmp_path


@pytest.mark.parametrize(
    ("code", "found"),
    [
        OTHER_ABI,
        ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)", "ended by SIGSEGV"),
        ("__version__ = '1.0.9'", "cannot import name 'flash_attn_varlen_func'"),
    ],
)
def test_a_flash_attn_of_another_abi_fails(code: str, found: str, on_path: Path) -> None:
    package(on_path, "flash_attn", code)
    finding = check_flash_attention()
    assert finding.state == "fail"
    assert found in finding.found
    assert "setup_gpu.sh" in finding.mend
    assert "attn_implementation=sdpa" in finding.mend


def test_a_flash_attn_that_can_be_imported(on_path: Path) -> None:
    package(on_path, "flash_attn", "__version__ = '2.8.3'\n\ndef flash_attn_varlen_func(): ...\n")
    finding = check_flash_attention()
    assert (finding.state, finding.found) == ("ok", "2.8.3 is here")


def test_a_triton_that_cannot_be_imported_fails(on_path: Path) -> None:
    package(on_path, "triton", "raise ImportError('libtriton.so: no version information available')")
    finding = check_triton()
    assert finding.state == "fail"
    assert "libtriton.so" in finding.found


def test_the_compiler_that_is_here_compiles() -> None:
    finding = check_compiler()
    assert finding.state == "ok", finding


def test_no_compiler_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    finding = check_compiler()
    assert (finding.state, "build-essential" in finding.mend) == ("fail", True)


@pytest.mark.parametrize("compiler", ["absent", "fails"])
def test_a_compiler_that_does_not_compile(compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / compiler
    if compiler == "fails":
        program.write_text("#!/bin/sh\necho 'cc1: error: no such thing' >&2\nexit 1\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("CC", str(program))
    finding = check_compiler()
    assert finding.state == "fail"
    assert str(program) in finding.found + finding.mend


def test_a_python_without_headers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Debian's python3 is without python3-dev."""
    paths = sysconfig.get_paths()
    monkeypatch.setattr(sysconfig, "get_paths", lambda **_: paths | {"include": str(tmp_path)})
    finding = check_compiler()
    assert finding.state == "fail"
    assert finding.found == f"there is no Python.h in {tmp_path}"
    assert f"python{sys.version_info.major}.{sys.version_info.minor}-dev" in finding.mend


def test_the_cpu_stack_needs_none_of_them() -> None:
    findings = list(check_kernels(gpu=False, attention="sdpa"))
    assert [(finding.check, finding.state) for finding in findings] == [
        ("C compiler", "ok"),
        ("Triton kernel", "ok"),
        ("flash-attn", "ok"),
    ]
    assert all("does not apply" in finding.found for finding in findings)


def test_the_command_says_that_flash_attn_cannot_be_imported(tmp_path: Path) -> None:
    """transformers imports it while the config is looked at, and would end the command with a traceback."""
    package(tmp_path, "flash_attn", OTHER_ABI[0])
    status, findings = doctor("recipe=qwen3_8b", path=str(tmp_path))
    assert (status, list(findings)) == (1, ["flash-attn"])
    assert OTHER_ABI[1] in findings["flash-attn"].found


def test_a_run_with_another_attention_needs_no_flash_attn() -> None:
    *_, finding = check_kernels(gpu=True, attention="sdpa")
    assert (finding.check, finding.state) == ("flash-attn", "ok")
    assert "attn_implementation=sdpa" in finding.found


@pytest.mark.gpu
def test_they_work_on_a_gpu() -> None:
    pytest.importorskip("flash_attn")
    for finding in (check_triton(), check_flash_attention()):
        assert finding.state == "ok", finding
