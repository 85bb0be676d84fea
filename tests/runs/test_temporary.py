"""A start's own folder for temporary files."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest
from torch._inductor.runtime.cache_dir_utils import default_cache_dir

from pacs.runs.clearing import TEMPORARY, make_temporary, remove_temporary, temporary_folder, temporary_variables


def test_it_is_this_users_alone_and_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    token = uuid4().hex
    folder = temporary_folder(token)
    make_temporary(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "vllm_dist_0").touch()
    weights, other = (Path(f"/tmp/rl-colocate-zmq-{name}-0.sock") for name in (token, uuid4().hex))
    try:
        weights.touch()
        other.touch()
        remove_temporary(str(folder), token)
        assert [path.exists() for path in (folder, weights, other)] == [False, False, True]
    finally:
        other.unlink()


def test_a_socket_of_vllm_fits_also_below_a_long_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 90)
    deep.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(deep))
    folder = temporary_folder(uuid4().hex)
    make_temporary(folder)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(f"{folder}/{uuid4()}")
    finally:
        remove_temporary(str(folder), folder.name.removeprefix("pacs-"))
    assert not folder.exists()


def test_no_other_folder_is_removed_whatever_a_state_says(tmp_path: Path) -> None:
    token = uuid4().hex
    (tmp_path / "link").mkdir()
    named = tmp_path / temporary_folder(token).name
    named.symlink_to(tmp_path / "link")
    for folder in (tmp_path, tmp_path / "link", named):
        remove_temporary(str(folder), token)
        assert folder.exists()


def test_what_torch_has_compiled_outlives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    token = uuid4().hex
    folder = temporary_folder(token)
    make_temporary(folder)
    monkeypatch.setenv(TEMPORARY, str(folder))
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    variables = temporary_variables()
    assert temporary_variables() == variables
    assert variables["TMPDIR"] == os.environ[TEMPORARY]
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "")  # torch would take the folder that it is in
    assert temporary_variables() == variables
    asked = "from torch._inductor import codecache; print(codecache.cache_dir(), codecache._HEADER_DIR)"
    env = os.environ | variables
    said = subprocess.run([sys.executable, "-c", asked], env=env, capture_output=True, text=True, check=True).stdout
    compiled, headers = (Path(path).resolve() for path in said.split())
    assert compiled == headers.parent == Path(default_cache_dir()).resolve()
    remove_temporary(str(folder), token)
    assert not folder.exists()
    assert compiled.exists()
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/elsewhere")
    make_temporary(folder)
    assert temporary_variables()["TORCHINDUCTOR_CACHE_DIR"] == "/elsewhere"
    remove_temporary(str(folder), token)
