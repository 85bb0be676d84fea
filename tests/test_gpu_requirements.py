"""The GPU stack's lock against what verl itself asks for."""

import os
import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]


def locked() -> dict[str, str]:
    files = ("requirements/gpu.txt", "requirements/gpu-build.txt")
    pins = (pin for file in files for pin in re.findall(r"^([\w.-]+)==(\S+)", (ROOT / file).read_text(), re.MULTILINE))
    return {canonicalize_name(name): version for name, version in pins}


@pytest.mark.parametrize("extra", ["", "gpu", "dev", "diversity"])
def test_the_lock_has_what_the_project_asks_for(extra: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = map(Requirement, project["optional-dependencies"][extra] if extra else project["dependencies"])
    pins = locked()
    locked_as = [(str(r), r, pins.get(canonicalize_name(r.name))) for r in asked]
    assert [text for text, r, pin in locked_as if pin is None or not r.specifier.contains(pin)] == []


@pytest.mark.parametrize("extra", ["vllm", "verl-core", "cupy-cu130", "flash-attn-cu130torch211"])
def test_the_lock_has_what_verl_asks_for(extra: str) -> None:
    asked = [Requirement(line) for line in metadata.requires("verl") or []]
    asked = [r for r in asked if r.marker is not None and r.marker.evaluate({"extra": extra})]
    pins = locked()
    # mbridge is for Megatron, which this project does not use.
    asked = [requirement for requirement in asked if requirement.name not in ("verl", "mbridge")]
    fitting = {r.name: r.specifier.contains(pins[canonicalize_name(r.name)]) for r in asked}
    assert len(fitting) >= 1
    assert all(fitting.values()), fitting
    assert pins["verl"] == metadata.version("verl")


@pytest.mark.parametrize("file", ["gpu.txt", "gpu-build.txt"])
def test_every_version_has_the_hashes_of_its_files(file: str) -> None:
    """In the form that `pip install --require-hashes` reads."""
    text = re.sub(r"^#.*\n", "", (ROOT / "requirements" / file).read_text(), flags=re.MULTILINE)
    entry = r"[\w.-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    assert re.sub(entry, "", text) == ""


def functions(call: str, **environment: str) -> str:
    """What a call of scripts/lib/env.sh's functions prints."""
    script = f"set -euo pipefail; source {ROOT}/scripts/lib/env.sh; {call}"
    run = subprocess.run(
        ["bash", "-c", script], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return run.stdout


@pytest.mark.parametrize(
    ("free_bytes", "cores", "jobs"),
    [(64 * 10**9, 64, 7), (64 * 10**9, 8, 4), (10**9, 64, 1), (1500 * 10**9, 192, 96), (10**12, 1, 1)],
)
def test_as_many_compiler_jobs_as_memory_and_cores_allow(free_bytes: int, cores: int, jobs: int) -> None:
    assert functions(f"_pacs_compiler_jobs {free_bytes} {cores}") == f"{jobs}\n"


def test_no_more_memory_is_free_than_the_machine_has() -> None:
    total = int(re.search(r"MemTotal: +(\d+)", Path("/proc/meminfo").read_text())[1]) * 1024
    assert 0 < int(functions("_pacs_free_bytes")) < total


@pytest.mark.parametrize(
    ("said", "archs"),
    [
        ("echo 9.0; echo 9.0", "90"),
        ("echo 9.0; echo 8.0", "80;90"),
        ("echo 8.9; echo 8.6; echo 12.0", "120;80"),
        ("echo '[N/A]'", "90"),
        ("exit 9", "90"),
    ],
)
def test_flash_attn_is_compiled_for_the_gpus_that_are_here(said: str, archs: str, tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{said}\n")
    program.chmod(0o755)
    assert functions("_pacs_gpu_archs", PATH=f"{tmp_path}:{os.environ['PATH']}") == f"{archs}\n"


def test_what_is_downloaded_is_checked_and_flash_attn_is_not_guessed(tmp_path: Path) -> None:
    """The installation with a program in pip's place that prints how it is called."""
    program = tmp_path / "pip"
    program.write_text(
        '#!/bin/sh\necho "force=${FLASH_ATTENTION_FORCE_BUILD:-} archs=${FLASH_ATTN_CUDA_ARCHS:-} '
        'jobs=${MAX_JOBS:-} $*"\n'
    )
    program.chmod(0o755)
    settings = {"MAX_JOBS": "3", "FLASH_ATTN_CUDA_ARCHS": "90", "PACS_VENV": str(tmp_path)}
    lock, own, _, flash = functions(f"_pacs_install_gpu {program}", **settings).splitlines()
    assert "--no-deps --require-hashes" in lock
    assert lock.endswith("requirements/gpu.txt")
    assert "--no-deps --no-build-isolation --editable" in own
    assert flash.startswith("force=TRUE archs=90 jobs=3 install --no-deps --no-build-isolation --require-hashes")
    assert flash.endswith("requirements/gpu-build.txt")
    *_, wheel = functions(f"_pacs_install_gpu {program}", **settings, PACS_FLASH_ATTN="a.whl").splitlines()
    assert wheel.endswith("install --no-deps a.whl")
