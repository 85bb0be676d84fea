"""The script for a lent GPU: its parts can be given, and none takes the others' turn."""

import subprocess
import sys
import tarfile
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from benchmarks import gpu
from pacs.composing import compose_run
from pacs.runs.processes import birth_of
from recipes.smoke import run as smoke

ROOT = Path(__file__).parents[2]
step, beside = (
    SourceFileLoader(f"{name}_of_gpu", str(ROOT / "benchmarks" / f"{name}.py")).load_module()
    for name in ("step", "step_against_plan")
)


def python(*lines: str, limit: float) -> gpu.Part:
    return gpu.Part(limit, "a test", lambda folder: [["-c", "\n".join(lines), str(folder)]])


def test_a_part_that_fails_or_hangs_leaves_the_others_their_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    child = [sys.executable, "-c", "import time; time.sleep(300)"]
    parts = {
        "fails": python("print('before it')", "raise SystemExit(3)", limit=50),
        "hangs": python(
            "import pathlib, subprocess, sys, time",
            f"child = subprocess.Popen({child!r}, start_new_session=True)",
            f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(child.pid))",
            "pathlib.Path(sys.argv[1], 'found.json').write_text('[1]')",
            "pathlib.Path(sys.argv[1], 'weights.safetensors').write_text('large')",
            "time.sleep(300)",
            limit=5,
        ),
        "does": python("print('the result')", limit=50),
        "too long": python("raise SystemExit(4)", limit=1000),
    }
    began = time.monotonic()
    assert gpu.run_all(parts, tmp_path, 200) == 1
    assert time.monotonic() - began < 100
    assert birth_of(int((tmp_path / "pid").read_text())) is None
    ends = {
        line[:10].strip(): line.split("  ")[-1].strip()
        for line in (tmp_path / "summary.txt").read_text().splitlines()[2:]
    }
    assert ends == {
        "fails": "failed with status 3",
        "hangs": "ended at its limit of 5 s",
        "does": "done",
        "too long": "not run: no time is left",
    }
    printed = capsys.readouterr().out
    assert "the result" in printed
    assert printed.endswith((tmp_path / "summary.txt").read_text())
    with tarfile.open(tmp_path / "hangs.tar.gz") as tar:
        assert sorted(tar.getnames()) == ["hangs/found.json", "hangs/log.txt"]
    with tarfile.open(tmp_path / "fails.tar.gz") as tar:
        assert tar.extractfile("fails/log.txt").read() == b"before it\n"


def test_parts_that_are_not_run_are_no_failure(tmp_path: Path) -> None:
    assert gpu.run_all({"a": python("print()", limit=50), "b": python("print()", limit=500)}, tmp_path, 100) == 0


def test_one_call_of_eight_minutes_has_the_measured_shapes() -> None:
    command = [sys.executable, "benchmarks/gpu.py", "--dry-run"]
    lines = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    surely = [line.split() for line in lines if line.endswith("surely")]
    assert [name for name, _, _ in surely] == ["compare_0.6b", "compare_1.7b", "compare_4b", "plan_8b"]
    assert sum(float(limit) for _, limit, _ in surely) <= 8 * 60
    assert max(part.limit for part in gpu.PARTS.values()) <= 8 * 60
    assert [line.split(":")[0].removeprefix("# ") for line in lines if line.startswith("# ")] == [*gpu.PARTS]


@pytest.mark.parametrize("name", gpu.PARTS)
def test_the_commands_of_a_part_can_be_given(name: str) -> None:
    """By the parsers of what they start, where a CPU stands for the GPU; what a run is told composes."""
    for command in gpu.PARTS[name].commands(Path("folder")):
        on_cpu = [{"cuda": "cpu", "triton": "torch"}.get(word, word) for word in command]
        overrides = [word for word in command if "=" in word]
        match on_cpu:
            case ["benchmarks/step_against_plan.py", *words]:
                parsed = beside.parse(words)
                assert not parsed.compare or parsed.limit < gpu.PARTS[name].limit
            case ["benchmarks/step.py", *words]:
                step.parse(words)
            case ["benchmarks/start.py", "--runs", runs, "--limit", limit, *words]:
                assert int(runs) * float(limit) < gpu.PARTS[name].limit
                assert words == overrides
            case ["-m", "recipes.smoke.run", *words]:
                assert smoke._parser().parse_args(words).hardware == "h200x1"
                overrides.append("recipe=smoke")
            case ["-m", "pacs", "train", *words]:
                assert words == overrides
            case ["-m", "pytest", "-m", "gpu", "-q", *folders]:
                assert all("mark.gpu" in "".join(f.read_text() for f in (ROOT / each).glob("*.py")) for each in folders)
            case ["-m", "recipes.arithmetic.make", "--out", _, "--seed", _]:
                pass
            case _:
                raise AssertionError(command)
        if overrides:
            compose_run("pacs", overrides)
