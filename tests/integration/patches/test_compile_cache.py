"""vLLM's compile cache, which all runs of a user share: its key, its place, and a file that is never half written."""

import json
from pathlib import Path

import pytest

from pacs.composing import compose_run
from pacs.integration.launch.job import environment
from pacs.runs.clearing import TEMPORARY
from pacs.runs.processes import KEEP_ENVIRONMENT, RUN_DIR, TOKEN
from tests.integration.patches.test_patches import run_python

#: What vLLM's keys are made of, of each start's environment in turn, and where the cache is.
KEYS = """
import json, os
from vllm import envs
from vllm.config.utils import hash_factors
for number, variables in enumerate(json.loads(STARTS)):
    os.environ |= variables
    print(f"says {number}={hash_factors(envs.compile_factors())}")
print(f"says root={envs.VLLM_CACHE_ROOT}")
print(f"says off={envs.VLLM_DISABLE_COMPILE_CACHE}")
"""
#: vLLM's own manager saves an index, and then a longer one on a disk that is full (a file may have no more bytes).
INDEX = """
import resource, signal
from pathlib import Path
from vllm.plugins import load_general_plugins
load_general_plugins()
from vllm.compilation.backends import CompilerManager
from vllm.config import CompilationConfig

def manager():
    made = CompilerManager(CompilationConfig(backend="inductor"))
    made.initialize_cache(PLACE)
    return made

def entry(number):
    return ((1, 8), number, "inductor"), {"graph_handle": (f"graph {number}", "path"), "cache_key": str(number)}

first = manager()
first.save_to_file()
print(f"says untouched={sorted(each.name for each in Path(PLACE).iterdir())}")
first.cache, first.is_cache_updated = dict([entry(0)]), True
first.save_to_file()
second = manager()
print(f"says read={len(second.cache)}")
second.cache, second.is_cache_updated = dict(map(entry, range(9))), True
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    second.save_to_file()
except OSError:
    print("says full=yes")
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(f"says again={len(manager().cache)} {sorted(each.name for each in Path(PLACE).iterdir())}")
second.save_to_file()
print(f"says after={len(manager().cache)}")
"""


def start(monkeypatch: pytest.MonkeyPatch, folder: Path) -> dict[str, str]:
    """The environment of a start in a folder."""
    folder.mkdir()
    for name in (TOKEN, RUN_DIR, TEMPORARY, KEEP_ENVIRONMENT):
        monkeypatch.setenv(name, str(folder))
    return environment(
        compose_run("pacs", ["recipe=arithmetic", f"run.dir={folder}", f"data.seed={len(str(folder))}"])[0]
    )


def test_every_start_finds_what_another_has_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM's key has nothing of a run, of a start or of where the cache is; and what changes the model's code."""
    monkeypatch.setenv("VLLM_CACHE_ROOT", str(tmp_path / "cache"))
    starts = [start(monkeypatch, tmp_path / name) for name in ("first", "resumed")]
    assert {each["VLLM_CACHE_ROOT"] for each in starts} == {str(tmp_path / "cache")}  # for a Ray that was there before
    assert starts[0]["TMPDIR"] != starts[1]["TMPDIR"]
    starts.append(starts[1] | {"VLLM_FLOAT32_MATMUL_PRECISION": "high"})
    said = run_python(f"STARTS = {json.dumps(starts)!r}\n{KEYS}")
    assert said["0"] == said["1"] != said["2"]
    assert (said["root"], said["off"]) == (str(tmp_path / "cache"), "False")
    monkeypatch.setenv("VLLM_CACHE_ROOT", "")
    assert "VLLM_CACHE_ROOT" not in start(monkeypatch, tmp_path / "third")


def test_the_index_is_whole_or_not_there(tmp_path: Path) -> None:
    said = run_python(f"PLACE = {str(tmp_path)!r}\n{INDEX}")
    assert said["untouched"] == "[]"
    assert (said["read"], said["full"]) == ("1", "yes")
    assert said["again"] == "1 ['vllm_compile_cache.py']"
    assert said["after"] == "9"
