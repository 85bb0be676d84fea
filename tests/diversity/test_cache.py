"""Embeddings on disk."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pacs.base.errors import UserError
from pacs.diversity.cache import Cache, Embedding


def test_what_is_put_is_found_by_another_process_of_the_same_model(tmp_path: Path) -> None:
    vector = np.array([1.5, -2.25, 1e-30], dtype=np.float32)
    with Cache(tmp_path / "cache") as cache:
        cache.put("one", [("text", Embedding(vector, True)), ("ä", Embedding(-vector, False))])
    with Cache(tmp_path / "cache") as cache:
        found = cache.get("one", "text")
        assert (found.vector.tolist(), found.cut) == (vector.tolist(), True)
        assert cache.get("one", "ä").vector.tolist() == (-vector).tolist()
        assert cache.get("two", "text") is None
        assert cache.get("one", "text ") is None


def test_a_write_is_whole_or_not_at_all(tmp_path: Path) -> None:
    """A process is killed in the middle of its second write."""
    writer = """
import os, signal, sys
import numpy as np
from pathlib import Path
from pacs.diversity.cache import Cache, Embedding
one = Embedding(np.ones(4096, np.float32), False)
def killed():
    for i in range(500):
        yield f"b{i}", one
        if i == 499:
            cache._connection.execute("INSERT INTO embeddings VALUES ('m', 'half', x'00', 0)")
            os.kill(os.getpid(), signal.SIGKILL)
cache = Cache(Path(sys.argv[1]))
cache.put("m", [(f"a{i}", one) for i in range(100)])
cache.put("m", killed())
"""
    done = subprocess.run([sys.executable, "-c", writer, tmp_path / "cache"], env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    with Cache(tmp_path / "cache") as cache:
        assert all(cache.get("m", f"a{i}") for i in range(100))
        assert not any(cache.get("m", f"b{i}") for i in range(500))
        assert cache._connection.execute("SELECT COUNT(*) FROM embeddings").fetchone() == (100,)


def test_a_file_that_is_no_cache_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine\n" * 1000)
    with pytest.raises(UserError, match="--cache names another file"):
        Cache(tmp_path / "notes")
    assert (tmp_path / "notes").read_text() == "mine\n" * 1000
    with pytest.raises(UserError, match="unable to open"):
        Cache(tmp_path / "nowhere" / "cache")
