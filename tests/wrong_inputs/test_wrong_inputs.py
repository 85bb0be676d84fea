"""Wrong inputs of all commands and scripts, as cases.toml lists them: each is refused, with the setting and the mend.

A refusal ends with status 2, says so in words and not in a traceback, and writes nothing.
"""

import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pacs import cli
from tests.wrong_inputs import inputs

ROOT = Path(__file__).parents[2]
#: Beginning of a command -> the rest of it -> what must be said.
CASES: dict[str, dict[str, str | list[str]]] = tomllib.loads(Path(__file__).with_name("cases.toml").read_text())
#: What the commands end with, or begin with, whose cases Hydra composes, a second each: one in so many is run without
#: `--all`. Each check of a run has tests of its own, in tests/integration/checks, by which it is not composed.
COMPOSED, EACH = re.compile(r"\$good$|^pacs (plan|sweep|doctor)\b"), 10
#: What is refused with a list, a line each, of what is wrong with a run.
OF_A_RUN = ("train", "plan", "doctor", "sweep")
#: A script -> why no case of it is listed: what it is given is another program's to refuse.
OTHERS = {"scripts/lock_gpu.sh": "uv", "scripts/test.sh": "pytest, with status 4"}

Files = dict[str, tuple[int, int] | None]


def words_of(start: str, rest: str) -> list[str]:
    """The words of a command, as a shell would take them."""
    return shlex.split(f"{start} {rest}".replace("$good", inputs.GOOD).replace("$inputs", inputs.INPUTS))


def cases(shell: bool) -> Iterator[Any]:
    """Those that are started as a process, or the others."""
    for start, section in CASES.items():
        composed = COMPOSED.search(start)
        for number, (rest, said) in enumerate(section.items()):
            if start.startswith(("bash ", "env ")) == shell:
                marks = [pytest.mark.long] if composed and number % EACH else []
                texts = [said] if isinstance(said, str) else said
                yield pytest.param(start, rest, texts, id=f"{start} {rest}", marks=marks)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inputs."""
    made = tmp_path_factory.mktemp("inputs")
    inputs.prepare(made)
    return made


@pytest.fixture
def within(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The inputs' folder, as the one that we are in; what is not refused is not started, and the Hub is not asked."""

    def started(*_: object, **__: object) -> None:
        raise AssertionError("this was not refused, and would have been started")

    for place in (
        "pacs.integration.launch.launcher.write_run_folder",
        "pacs.evaluation.sampling.Work.run",
        "pacs.doctor.examine.examine",
        "pacs.sweeps.train.train_runs",
        "recipes.training.train_in",
        "recipes.arithmetic.warm_start.warm_start",
    ):
        monkeypatch.setattr(place, started)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(sys, "argv", ["pacs"])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # beside a reward function of the inputs
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.chdir(folder)
    return folder


def files_in(folder: Path) -> Files:
    """Each file's size and time of change; of folders and locks that they are there."""
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {
        str(path): None if path.is_dir() or path.name == ".lock" else (at.st_size, at.st_mtime_ns)
        for path, at in found.items()
    }


def status_of(call: Callable[[], object]) -> object:
    """The exit status of what may end the process."""
    try:
        return call()
    except SystemExit as ended:
        return ended.code


def in_this_process(words: list[str]) -> object:
    """The exit status of a command of `pacs`, of a module or of a program."""
    match words:
        case ["pacs", *rest]:
            return status_of(partial(cli.main, rest))
        case ["python", "-m", module, *_]:
            sys.argv = words[2:]
            return status_of(partial(runpy.run_module, module, run_name="__main__", alter_sys=True))
        case ["python", program, *_]:
            sys.argv = words[1:]
            return status_of(partial(runpy.run_path, str(ROOT / program), run_name="__main__"))
    raise AssertionError(f"none of ours: {words}")


def is_refused(status: object, printed: str, said: str, texts: list[str]) -> None:
    """With the status, in words, all that must be said among them."""
    assert status == 2, printed + said
    assert "Traceback" not in printed + said
    assert [text for text in texts if text not in said] == [], said


@pytest.mark.parametrize(("start", "rest", "texts"), cases(shell=False))
def test_it_is_refused(
    start: str, rest: str, texts: list[str], within: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, before = words_of(start, rest), files_in(within)
    capsys.readouterr()
    status = in_this_process(words)
    shown = capsys.readouterr()
    is_refused(status, shown.out, shown.err, texts)
    assert files_in(within) == before
    if words[0] == "pacs":
        lines = [line for line in shown.err.splitlines() if not re.match(r"usage:| |WARNING: no eval|\[trans", line)]
        assert lines[0].startswith("pacs")
        assert len(lines) == 1 or words[1] in OF_A_RUN


def test_what_they_are_changes_of_is_not_refused(within: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(shlex.split(f"train --dry-run {inputs.GOOD}")) == 0
    assert "The config is sound, and what it needs is here." in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(("start", "rest", "texts"), cases(shell=True))
def test_a_script_refuses_it(start: str, rest: str, texts: list[str], folder: Path) -> None:
    words, before = words_of(start, rest), files_in(folder)
    words = [str(ROOT / word) if word.startswith("scripts/") else word for word in words]
    ours = {"PACS_VENV": sys.prefix, "PYTHONPATH": str(ROOT), "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
    env = {key: value for key, value in os.environ.items() if not key.startswith("SLURM_")} | ours
    done = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    is_refused(done.returncode, done.stdout, done.stderr, texts)
    assert files_in(folder) == before


def test_there_are_many() -> None:
    assert sum(map(len, CASES.values())) >= 250


def test_every_command_has_some() -> None:
    given = [f"{start} {rest} " for start in CASES for rest in CASES[start]]
    assert [name for name in cli.COMMANDS if not any(words.startswith(f"pacs {name} ") for words in given)] == []


def programs() -> Iterator[str]:
    """Every script and program that takes arguments, as it is started."""
    for script in sorted([*ROOT.glob("scripts/*.sh"), *ROOT.glob("scripts/slurm/*")]):
        if re.search(r"\$[@#1*]", script.read_text()):
            yield f"bash {script.relative_to(ROOT)}"
    patterns = ("recipes/**/*.py", "benchmarks/*.py", "pacs/*/__main__.py")
    for file in sorted(file for pattern in patterns for file in ROOT.glob(pattern)):
        source, path = file.read_text(), file.relative_to(ROOT)
        if "ArgumentParser(" not in source or '__name__ == "__main__"' not in source:
            continue
        is_script = path.parts[0] == "benchmarks" or len(path.parts) == 2
        module = ".".join(path.with_suffix("").parts).removesuffix(".__main__")
        yield f"python {path}" if is_script and path.name != "expected.py" else f"python -m {module}"


def test_every_script_has_some() -> None:
    started = [f"{start} {rest} " for start in CASES for rest in CASES[start]]
    found = [program for program in programs() if program.split()[1] not in OTHERS]
    assert len(found) > 20
    assert [program for program in found if not any(f"{program} " in line for line in started)] == []
