"""Starts are limited in time, and where it goes is read from what a run and its vLLM say."""

import tempfile
import textwrap
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import start
from pacs.integration.launch import launcher
from pacs.runs.processes import birth_of

#: A `pacs` that reaches two stages and then hangs, with a process of a session of its own as Ray's are.
HANGS = """
    import subprocess, sys, time
    from pathlib import Path
    run = Path(next(word.removeprefix("run.dir=") for word in sys.argv if word.startswith("run.dir=")))
    run.mkdir()
    (run / "output.log").write_text("(EngineCore) INFO Model loading took 1.1 GiB memory and 0.500000 seconds\\n")
    print("the run's folder is here", flush=True)
    print("pacs: starting Ray, FSDP2 and vLLM; all they say is in output.log there", flush=True)
    time.sleep(1)
    print(" 0:00:01  starting Ray", flush=True)
    command = [sys.executable, "-c", "import time; time.sleep(300)"]
    (run.parent.parent / "pid").write_text(str(subprocess.Popen(command, start_new_session=True).pid))
    time.sleep(300)
"""


def test_a_start_that_hangs_is_ended_with_all_its_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "pacs").mkdir()
    (tmp_path / "pacs" / "__init__.py").touch()
    (tmp_path / "pacs" / "__main__.py").write_text(textwrap.dedent(HANGS))
    began = time.monotonic()
    hung = start.measure(tmp_path, tmp_path, [], limit=10)
    assert time.monotonic() - began < 60
    assert not hung.ended
    assert [*hung.stages] == ["checked", "driver ready"]
    assert hung.stages["driver ready"] - hung.stages["checked"] > 0.9
    assert start.described(hung).endswith("vLLM: Model loading 0.5")
    assert birth_of(int((tmp_path / "pid").read_text())) is None


def test_every_stage_that_the_console_tells_is_known() -> None:
    """In the launcher's words and order; before them the folder is named, and after them come the steps and the end."""
    told = [f" 0:00:01  {text}" for _, text in launcher.STAGES]
    assert [words for text in told for words in start.STAGES if words in text] == [*start.STAGES][1:-2]


@pytest.mark.parametrize(
    ("file", "words", "values"),
    [
        ("v1/worker/gpu_model_runner.py", "Model loading took %s GiB memory and %.6f seconds", ("1.12", 2)),
        ("v1/worker/gpu_model_runner.py", "Graph capturing finished in %.0f secs, took %.2f GiB", (2, 0.6)),
        ("model_executor/model_loader/default_loader.py", "Loading weights took %.2f seconds", (2,)),
        ("compilation/monitor.py", "torch.compile took %.2f s in total", (2,)),
        ("compilation/monitor.py", "Initial profiling/warmup run took %.2f s", (2,)),
        ("compilation/backends.py", "Compiling a graph for compile range %s takes %.2f s", ("(1, 8192)", 2)),
        ("compilation/backends.py", "Dynamo bytecode transform time: %.2f s", (2,)),
        ("v1/engine/core.py", "init engine (profile, create kv cache, warmup model) took %.2f s", (2,)),
    ],
)
def test_what_the_installed_vllm_says_is_read(file: str, words: str, values: tuple[object, ...]) -> None:
    installed = find_spec("vllm")
    assert installed is not None
    assert installed.submodule_search_locations
    assert words in (Path(installed.submodule_search_locations[0]) / file).read_text()
    line = f"\x1b[36m(EngineCore pid=7)\x1b[0m INFO 12-01 02:41:11 [monitor.py:53] {words % values}"
    [(name, took)] = start.engine_seconds(f"{line} (more: 9.00 s)\nINFO step 1/1 took 5 s\n").items()
    assert words.startswith(name)
    assert took == 2


def test_what_vllm_0_24_says_otherwise_is_read_and_engines_are_summed() -> None:
    log = "Model loading took 1.12 GiB and 2.500000 seconds\nModel loading took 1.12 GiB and 1.500000 seconds\n"
    assert start.engine_seconds(log) == {"Model loading": 4.0}


def test_a_stage_that_no_start_of_ours_reached_has_no_line() -> None:
    ours = [start.Start(stages={"checked": 2.0}), start.Start(stages={"checked": 4.0, "vLLM ready": 9.0})]
    assert start.stages_table(ours, [], "").splitlines()[2:] == ["checked     3.0", "vLLM ready  9.0"]
    beside = start.stages_table(ours, [start.Start(stages={"checked": 6.0})], "before").splitlines()
    assert beside[2].split() == ["checked", "3.0", "6.0", "0.50"]
    assert beside[3].split() == ["vLLM", "ready", "9.0", "nan", "nan"]
