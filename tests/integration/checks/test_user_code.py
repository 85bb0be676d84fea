"""A reward function of one's own, tried in a process of its own."""

import copy
import json
import math
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import DictConfig, OmegaConf

from pacs.composing import compose_run
from pacs.integration.checks import user_code
from pacs.integration.checks.user_code import own_code_problems
from pacs.integration.preflight.user_code import give_answer

KEY = "reward.custom_reward_function"
TAKES = "def compute_score(data_source, solution_str, ground_truth, extra_info=None, **rest):\n    "


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """One row; its extra_info is what a function may rely on."""
    row = {
        "data_source": "sums",
        "prompt": [{"role": "user", "content": "1+1"}],
        "reward_model": {"style": "rule", "ground_truth": "2"},
        "extra_info": {"level": 7},
    }
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "data.parquet")
    return tmp_path / "data.parquet"


@pytest.fixture(autouse=True)
def busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call here may take any time without a word."""
    monkeypatch.setattr(user_code, "SLOW_SECONDS", math.inf)


@pytest.fixture
def within(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is tried in this process, which takes no seconds to start."""

    def answer(request: str, seconds: float) -> dict[str, Any]:
        given: dict[str, Any] = {}
        give_answer(json.loads(request), given, lambda: None)
        return given

    monkeypatch.setattr(user_code, "_answer", answer)


@cache
def composed(name: str) -> DictConfig:
    return compose_run(name, ["recipe=arithmetic"])[0]


class Trial(NamedTuple):
    problems: list[str]
    notes: list[str]


def trial_of(config: DictConfig, data: Path | None) -> Trial:
    notes: list[str] = []
    return Trial(list(own_code_problems(config, data, notes.append)), notes)


def tried(source: str, data: Path, settings: dict[str, Any] | None = None, name: str = "pacs") -> Trial:
    file = data.parent / "mine.py"
    file.write_text(source)
    config = copy.deepcopy(composed(name))
    for key, value in {f"{KEY}.path": str(file), **(settings or {})}.items():
        OmegaConf.update(config, key, value, force_add=True)
    return trial_of(config, data)


SOUND = {
    "a number": TAKES + "return float('boxed{2}' in solution_str)",
    "a dict": TAKES + "return {'score': float('{2}' in solution_str), 'format': 0.5, 'why': 'x', 'late': None}",
    "truth": TAKES + "return '{2}' in solution_str",
    "async": "async " + TAKES + "return float('{2}' in solution_str)",
    "the row and verl": TAKES
    + "return ('{2}' in solution_str) * float(extra_info['level'] == extra_info['num_turns'] + 5)",
    "object": "class G:\n    def __call__(self, solution_str, **rest):\n        return 1.0 * ('{2}' in solution_str)\n"
    "compute_score = G()",
    "partial": "import functools\ndef grade(w, solution_str, **rest):\n    return w * ('{2}' in solution_str)\n"
    "compute_score = functools.partial(grade, 1.0)",
    "imported": "from operator import contains\nfrom numpy import float64\n"
    + TAKES
    + "return float64(contains(solution_str, '{2}'))",
}


@pytest.mark.usefixtures("within")
@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_function_is_tried(kind: str, data: Path) -> None:
    trial = tried(SOUND[kind], data)
    assert trial.problems == []
    (note,) = trial.notes
    assert "compute_score: 0 for an empty response (" in note
    assert "1 for the boxed ground truth (" in note


@pytest.mark.usefixtures("within")
def test_scores_go_into_the_sum_of_a_reward_s_parts(data: Path) -> None:
    of_three = TAKES + "return 3.0 * ('{2}' in solution_str)"
    assert "labels from 0 to 1, but rewards are [3.0]" in tried(of_three, data).problems[0]
    total = {"run.reward.total": "sum"}
    assert "but rewards are [3.0]" in tried(of_three, data, total).problems[0]
    assert tried(of_three, data, {**total, "run.reward.correctness": 0.25}).problems == []
    assert tried(of_three, data, {"run.reward.total": "clip"}).problems == []
    of_names = TAKES + "return {'score': 1.0 * ('{2}' in solution_str), 'format': 1.0}"
    (problem,) = tried(of_names, data, {"run.reward.total": "clip", "run.reward.format.weight": 0.1}).problems
    assert "it returns 'format', the name of a part of run.reward: name it otherwise" in problem
    assert tried(of_names, data, {"run.reward.total": "clip", "run.reward.overlong.weight": 0.1}).problems == []


WRONG = {
    "a package": (
        "import no_such_package\n",
        ["its import raises ModuleNotFoundError", "mine.py:1", "install no_such_package"],
    ),
    "a server": (
        "import socket\nsocket.create_connection(('127.0.0.1', 9))\n",
        ["ConnectionRefusedError", "mine.py:2", "a server"],
    ),
    "a syntax": ("def compute_score(:\n", ["SyntaxError", "mine.py:1", "mend the file"]),
    "an exit": ("import sys\nsys.exit('no key')\n", ["raises SystemExit: no key", "mine.py:2"]),
    "trl": (
        "def compute_score(completions, **kwargs):\n    return [1.0]\n",
        ["it takes (completions, **kwargs)", "verl calls it by names: data_source="],
    ),
    "bare": ("def compute_score(response, gold):\n    return 1.0\n", ["it takes (response, gold)", "write `def NAME("]),
    "a keyword": (
        TAKES.replace("**rest", "*, strict") + "return 1.0",
        ["missing a required argument: 'strict'", "reward_kwargs"],
    ),
    "a name": (
        "def compute_scores(**kwargs): ...\n",
        ["no compute_score in it; it defines compute_scores", "Did you mean compute_scores?"],
    ),
    "no function": ("compute_score = 3\n", ["it is 3, which cannot be called"]),
    "raising": (
        TAKES + "return extra_info['gold']",
        ["its call for an empty response raises KeyError: 'gold'", "mine.py:2", "mend the function"],
    ),
    "an alarm": (
        "import signal\n" + TAKES + "signal.signal(signal.SIGALRM, print)",
        ["signal only works in main thread", "mine.py:3"],
    ),
    "nothing": (TAKES + "pass", ["a score of NoneType", "return a plain number"]),
    "text": (TAKES + "return '1'", ["a score of str, '1'"]),
    "a pair": (TAKES + "return 1.0, {}", ["a score of tuple"]),
    "float32": ("import numpy\n" + TAKES + "return numpy.float32(1)", ["a score of float32", "float(...)"]),
    "no score": (TAKES + "return {'reward': 1.0}", ['verl reads the reward from "score"']),
    "verl's own name": (TAKES + "return {'score': 1.0, 'reward': 1.0}", ['it returns "reward"', "name it otherwise"]),
    "a set": (TAKES + "return {'score': 1.0, 'why': {1}}", ["it returns 'why': set", "JSON"]),
    "not finite": (TAKES + "return float('nan')", ["it gives nan", "a finite number"]),
    "out of range": (TAKES + "return -1.0", ["it gives -1", "labels from 0 to 1"]),
    "half awaited": (
        "import functools\ndef logged(f):\n    return functools.wraps(f)(lambda **given: f(**given))\n@logged\nasync "
        + TAKES
        + "return 1.0",
        ["it returns a coroutine, but is not defined by `async def`"],
    ),
}


@pytest.mark.usefixtures("within")
@pytest.mark.parametrize("kind", WRONG)
def test_what_would_fail_in_the_run_is_said_before(kind: str, data: Path) -> None:
    source, said = WRONG[kind]
    (problem,) = tried(source, data).problems
    assert problem.startswith(KEY)
    for words in said:
        assert words in problem


@pytest.mark.parametrize(
    ("source", "doing"),
    [
        pytest.param("import time\ntime.sleep(60)\n", "its import", marks=pytest.mark.long),
        (TAKES + "while True: pass", "its call for an empty response"),
    ],
)
def test_what_hangs_is_ended_and_its_line_is_named(
    source: str, doing: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(user_code, "LIMIT_SECONDS", 1.0)
    (problem,) = tried(source, data).problems
    assert f"{doing} did not end within 1 s ({data.parent}/mine.py:2)" in problem
    assert "a time limit" in problem


def test_its_end_is_not_ours(data: Path) -> None:
    (problem,) = tried("import os\nprint('out of luck', flush=True)\nos._exit(3)\n", data).problems
    assert "its import ends the process (3; it said: out of luck)" in problem


def test_an_end_that_looks_well_is_none(data: Path) -> None:
    quiet = TAKES + "if solution_str:\n        import os\n        os._exit(0)\n    return 0.0"
    (problem,) = tried(quiet, data).problems
    assert "its call for the boxed ground truth ends the process (0; it said: nothing)" in problem


def test_what_it_started_ends_with_it(data: Path, capfd: pytest.CaptureFixture[str]) -> None:
    child = "import subprocess\nchild = subprocess.Popen(['sleep', '300'])\n"
    child += "open(__file__ + '.pid', 'w').write(str(child.pid))\n"
    assert len(tried(child + "print('loud')\n" + TAKES + "return 1.0", data).notes) == 2
    status = Path("/proc", (data.parent / "mine.py.pid").read_text(), "stat")
    deadline = time.monotonic() + 30  # it has been killed; a busy machine may take a while to end it
    while status.exists() and status.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "what the code started goes on"
        time.sleep(0.05)
    assert "loud" not in capfd.readouterr().out


@pytest.mark.slow
def test_it_ends_with_the_command_that_tries_it(tmp_path: Path) -> None:
    """Ctrl-C ends `pacs train` at once, and here SIGKILL: either way nothing is cleared up by it."""
    file, pid = tmp_path / "mine.py", tmp_path / "pid"
    file.write_text(f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(300)\n")
    request = {"objects": [[f"{KEY}.path", str(file), "compute_score"]], "function": f"{KEY}.path"}
    script = f"from pacs.integration.checks.user_code import _answer\n_answer({json.dumps(request)!r}, 300.0)\n"
    asker = subprocess.Popen([sys.executable, "-c", script])
    deadline = time.monotonic() + 500
    while not (pid.exists() and pid.read_text()):
        assert time.monotonic() < deadline
        assert asker.poll() is None
        time.sleep(0.1)
    asker.kill()
    asker.wait()
    status, deadline = Path("/proc", pid.read_text(), "stat"), time.monotonic() + 30
    while status.exists() and status.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline, "the trial goes on"
        time.sleep(0.05)


@pytest.mark.usefixtures("within")
def test_one_that_is_as_content_with_nothing_and_one_that_is_slow(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_code, "SLOW_SECONDS", 1.0)
    notes = tried("import time\n" + TAKES + "time.sleep(0.05)\n    return 1.0", data).notes
    assert "no more than an empty response" in notes[1]
    assert "the 512 responses of a step take" in notes[2]


@pytest.mark.usefixtures("within")
def test_what_the_method_does_not_train_on_verls_algorithms_do(data: Path) -> None:
    half = TAKES + "return 0.5 if solution_str else -2"
    assert "labels from 0 to 1" in tried(half, data).problems[0]
    assert tried(half, data, name="grpo").problems == []


@pytest.mark.usefixtures("within")
def test_groups_are_filtered_by_what_the_function_says(data: Path) -> None:
    metric = {"algorithm.filter_groups.metric": "acc"}
    (problem,) = tried(TAKES + "return {'score': 1.0}", data, metric, "dapo").problems
    assert problem.startswith("algorithm.filter_groups.metric=acc")
    assert tried(TAKES + "return 1.0", data, metric, "dapo").problems == []


@pytest.mark.usefixtures("within")
def test_settings_reach_it_as_from_verl(data: Path) -> None:
    source = TAKES.replace("**rest", "*, weight") + "return weight.large * ('{2}' in solution_str)"
    assert tried(source, data, {f"{KEY}.reward_kwargs.weight.large": 1}).problems == []


@pytest.mark.usefixtures("within")
def test_with_a_reward_model_it_takes_what_verl_gives_then_and_is_not_called(data: Path) -> None:
    model = {"reward.reward_model.enable": True}
    few = TAKES.replace(", **rest", "")
    assert "reward_router_address=" in tried(few + "raise ValueError", data, model).problems[0]
    assert "not tried here: it may ask the reward model" in tried(TAKES + "raise ValueError", data, model).notes[0]


@pytest.mark.usefixtures("within")
def test_managers_and_data_sets_of_ones_own_are_imported(data: Path) -> None:
    (data.parent / "other.py").write_text("class Other: ...\n")
    sound, manager = TAKES + "return 1.0", "reward.reward_manager"
    own = {f"{manager}.source": "importlib", f"{manager}.module.path": f"{data.parent}/other.py"}
    (problem,) = tried(sound, data, {**own, f"{manager}.name": "Othre"}).problems
    assert "there is no Othre in it; it defines Other. Did you mean Other?" in problem
    (problem,) = tried(sound, data, {"actor_rollout_ref.model.external_lib": "no_such_library"}).problems
    assert problem.startswith("actor_rollout_ref.model.external_lib=pkg://no_such_library: its import raises")
    (problem,) = tried(sound, data, {"data.custom_cls.path": "nowhere.py", "data.custom_cls.name": "X"}).problems
    assert problem.startswith("data.custom_cls.path=nowhere.py: no such file")


@pytest.mark.usefixtures("within")
def test_without_data_it_is_imported_alone(data: Path) -> None:
    data.unlink()
    config = copy.deepcopy(composed("pacs"))
    (data.parent / "mine.py").write_text(TAKES + "raise ValueError")
    OmegaConf.update(config, f"{KEY}.path", f"{data.parent}/mine.py")
    assert "not tried here: there is no data here" in trial_of(config, None).notes[0]
