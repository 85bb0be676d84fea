"""Which environment the scripts take, how one that was cut off is mended, and which tests scripts/test.sh runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_gpu_requirements import ROOT, functions


def environment(folder: Path, *programs: str) -> Path:
    """A virtual environment as its activation makes it, with these programs, which say who they are."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "activate").write_text(f'PATH="{folder}/bin:$PATH"\n')
    for name in programs:
        (folder / "bin" / name).write_text(f'#!/bin/sh\necho "{folder.name} $*"\n')
        (folder / "bin" / name).chmod(0o755)
    return folder


def taken(active: Path, **settings: str) -> str:
    """Whose `pacs` a script has that takes the environment which is there."""
    paths = {"PATH": f"{active}/bin:{os.environ['PATH']}", **settings}
    return functions("_pacs_checkout() { echo $PACS_ROOT; }; pacs_activate; command -v pacs", **paths).strip()


def test_the_environment_that_is_named_comes_before_the_active_one(tmp_path: Path) -> None:
    active, named = environment(tmp_path / "active", "pacs"), environment(tmp_path / "named", "pacs")
    assert taken(active, PACS_VENV="") == f"{active}/bin/pacs"
    assert taken(active, PACS_VENV=str(named)) == f"{named}/bin/pacs"


def test_a_named_environment_that_is_none_is_refused(tmp_path: Path) -> None:
    active = environment(tmp_path / "active", "pacs")
    with pytest.raises(subprocess.CalledProcessError) as caught:
        taken(active, PACS_VENV=str(tmp_path / "nowhere"))
    assert caught.value.returncode == 2


def test_an_environment_that_was_cut_off_is_made_again(tmp_path: Path) -> None:
    """Before it had pip."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    call = "pip() { :; }; _pacs_install_gpu() { :; }; _pacs_check_compiler() { :; }; _pacs_install gpu"
    functions(call, PACS_VENV=str(tmp_path), PACS_PYTHON=sys.executable)
    assert subprocess.run([tmp_path / "bin" / "python", "-m", "pip", "--version"], check=False).returncode == 0


@pytest.mark.parametrize(
    ("given", "chosen"),
    [
        ("", "not long and not gpu"),
        ("--all", "not gpu"),
        ("--quick", "not long and not gpu and not slow"),
        ("-m slow", "not long and not gpu and (slow)"),
        ("-k a -m slow --all", "not gpu and (slow)"),
    ],
)
def test_a_marker_expression_of_ones_own_brings_no_gpu_tests(given: str, chosen: str, tmp_path: Path) -> None:
    made = environment(tmp_path / "made", "python")
    script = "pacs_environment() { source $PACS_VENV/bin/activate; }"
    source = (ROOT / "scripts/test.sh").read_text().replace("\npacs_environment\n", f"\n{script}\npacs_environment\n")
    (tmp_path / "test.sh").write_text(source.replace('$(dirname "${BASH_SOURCE[0]}")', str(ROOT / "scripts")))
    run = subprocess.run(
        ["bash", tmp_path / "test.sh", *given.split()],
        env=os.environ | {"PACS_VENV": str(made)},
        capture_output=True,
        text=True,
        check=True,
    )
    more = "".join(f" {option}" for option in ("-k a", "--quick") if option in given)
    assert run.stdout == f"made -m pytest -m {chosen} -n 3 --dist loadfile --no-loadscope-reorder{more}\n"


def test_pip_is_told_of_while_it_is_silent_and_its_words_and_status_are_its_own(tmp_path: Path) -> None:
    pip = "touch $TMPDIR/one.whl; sleep 2.5; echo broken >&2; exit 7"
    (tmp_path / "lib/python3.11/site-packages/torch-2.dist-info").mkdir(parents=True)
    call = f"""_pacs_told bash -c '{pip}' || echo "status $?" """
    source = f"set -euo pipefail; source {ROOT}/scripts/lib/env.sh; {call}"
    environ = os.environ | {"PACS_VENV": str(tmp_path), "TELL_SECONDS": "1"}
    run = subprocess.run(["bash", "-c", source], env=environ, capture_output=True, text=True, check=True, timeout=20)
    *told, last = run.stdout.splitlines()
    assert len(told) == 2
    assert all(re.fullmatch(r"environment: \d s, 1 packages downloaded, 1 installed, \d+ MB", line) for line in told)
    assert (last, run.stderr) == ("status 7", "broken\n")
    assert not (tmp_path / ".downloads").exists()
