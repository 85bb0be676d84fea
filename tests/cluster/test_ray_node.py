"""Where Ray's files are on a node."""

import tempfile
from pathlib import Path

import pytest

from pacs.cluster.ray_node import _short_folder


def test_ray_s_sockets_fit_below_any_tmpdir(monkeypatch: pytest.MonkeyPatch) -> None:
    for tmpdir, parent in (("/var/tmp", "/var/tmp"), ("/var/tmp/" + "x" * 30, "/tmp")):
        monkeypatch.setattr(tempfile, "tempdir", tmpdir)
        folder = _short_folder()
        folder.rmdir()
        assert folder.parent == Path(parent)
        assert len(f"{folder}/session_2026-11-22_08-16-00_123456_1234567/sockets/plasma_store") <= 107
