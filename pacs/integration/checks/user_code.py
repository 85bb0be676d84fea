"""Code of one's own that a run names, tried before Ray in a process of its own: above all a reward function."""

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig

from pacs.base.redaction import redact
from pacs.integration.checks.composite import parts_of, totals_of
from pacs.integration.checks.group_filter import ALWAYS_THERE
from pacs.integration.checks.turns import tool_files
from pacs.integration.schema import method_in
from pacs.integration.trainer.step_rows import check_labels
from pacs.rewards.registry import PATH as VERIFIERS
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import external_libraries
from pacs.verl_keys.names import EXTERNAL_LIBRARY

FUNCTION = "reward.custom_reward_function"
#: Seconds that an import may take, and as many for a call; and those in which verl is imported before.
LIMIT_SECONDS, START_SECONDS = 60.0, 120.0
#: Seconds of a step's grading from which it is worth a word.
SLOW_SECONDS = 60.0
#: What a process that died said last, for an error.
SAID_CHARS = 300


def own_objects(config: DictConfig) -> list[tuple[str, str, str | None]]:
    """What a run imports that is not ours or verl's: the setting, the path as verl takes it, the name within it."""
    function, manager = config.reward.custom_reward_function, config.reward.reward_manager
    dataset, ours = config.data.custom_cls, (function.path, function.name) == (VERIFIERS, "compute_score")
    found: list[tuple[str, Any, Any]] = [
        (f"{FUNCTION}.path", None if ours else function.path, function.name),
        ("reward.reward_manager.module.path", manager.source == "importlib" and manager.module.path, manager.name),
        ("data.custom_cls.path", dataset.path, dataset.name),
        *((EXTERNAL_LIBRARY, f"pkg://{each}", None) for each in external_libraries(config)),
    ]
    named = [(key, str(path), None if name is None else str(name)) for key, path, name in found if path]
    return [*tool_files(config), *named]


def own_code_problems(config: DictConfig, train_file: Path | None, note: Callable[[str], object]) -> Iterator[str]:
    """Import what a run names of the user's, and call its reward function as verl does.

    Args:
        config: of the run.
        train_file: whose first row the function is called with; None where there is none.
        note: takes what is worth knowing besides, a sentence each.
    """
    objects = own_objects(config)
    for setting, path, _ in objects:
        if not path.startswith("pkg://") and not Path(path.removeprefix("file://")).is_file():
            yield f"{setting}={path}: no such file: give the file, as an absolute path."
            return
    if not objects:
        return
    answer = _answer_of(config, train_file)
    if (problem := _problem(answer, {setting: (path, name) for setting, path, name in objects})) is not None:
        yield redact(problem)
    elif f"{FUNCTION}.path" in [setting for setting, *_ in objects]:
        if (problem := _score_problem(config, answer["calls"])) is not None:
            yield problem
        else:
            for said in _notes(config, answer["calls"], train_file):
                note(said)


def tool_schemas(config: DictConfig, train_file: Path | None) -> list[dict[str, Any]]:
    """What the chat template is told of the run's tools, after `own_code_problems` has found nothing wrong."""
    schemas: list[dict[str, Any]] = _answer_of(config, train_file)["tools"] if tool_files(config) else []
    return schemas


def _answer_of(config: DictConfig, train_file: Path | None) -> dict[str, Any]:
    request = {
        "objects": own_objects(config),
        "tools": {key.rpartition(".")[2]: path for key, path, _ in tool_files(config)},
        "function": f"{FUNCTION}.path",
        "reward_kwargs": plain(config.reward)["custom_reward_function"].get("reward_kwargs") or {},
        "reward_model": bool(config.reward.reward_model.enable),
        "manager": config.reward.reward_manager.name,
        "file": None if train_file is None else str(train_file),
    }
    return _answer(json.dumps(request, default=str), LIMIT_SECONDS)


@cache
def _answer(request: str, seconds: float) -> dict[str, Any]:
    """What the process says; `hung` and `died` where it could not say how it ended."""
    with tempfile.TemporaryDirectory(prefix="pacs-own-code-") as name:
        folder = Path(name)
        (folder / "request.json").write_text(request)
        # The pipe ends with this process, and the child with the pipe: Ctrl-C ends `pacs train` at once.
        alive, here = os.pipe()
        command = [sys.executable, "-m", "pacs.integration.preflight.user_code", name, str(seconds), str(alive)]
        with (folder / "said.txt").open("w") as said:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True, pass_fds=(alive,)
            )
            os.close(alive)
            try:
                child.wait(START_SECONDS + 3 * seconds)
            except subprocess.TimeoutExpired:
                child.kill()
            finally:
                with contextlib.suppress(ProcessLookupError):  # what it started goes with it
                    os.killpg(child.pid, signal.SIGKILL)
                child.wait()
                os.close(here)
        file, hung = folder / "answer.json", folder / "hang.txt"
        answer: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        if child.returncode != 0 or "ended" not in answer:  # os._exit(0) in the code of the user
            answer["hung"] = hung.read_text() if hung.exists() else ""
            answer["died"] = child.returncode
            answer["said"] = (folder / "said.txt").read_text(errors="replace").strip()[-SAID_CHARS:]
    return answer


def _problem(answer: dict[str, Any], objects: dict[str, tuple[str, str | None]]) -> str | None:
    """What went wrong in the process, a sentence with the setting and the mend."""
    if "key" not in answer:
        return f"{FUNCTION}: it could not be tried: its process ended with {answer['died']}: {answer['said']}"
    key, doing = answer["key"], answer["doing"]
    path, name = objects[key]
    which = f"{key}={path}" + (f" name={name}" if name else "")
    if "problem" in answer:
        return f"{which}: {answer['problem']}"
    if "died" not in answer:
        return None
    if answer["hung"]:
        places = re.findall(r'File "([^"]+)", line (\d+)', answer["hung"])
        file = Path(path.removeprefix("file://")).absolute()
        in_the_file = [place for place in places if Path(place[0]).absolute() == file]
        at = " ({}:{})".format(*(in_the_file or places)[0]) if places else ""
        return (
            f"{which}: {doing} did not end within {LIMIT_SECONDS:g} s{at}, and verl waits without a limit: give what "
            "it waits for (a server, the network, a download) a time limit, and do it in the call, not in the import."
        )
    return f"{which}: {doing} ends the process ({answer['died']}; it said: {answer['said'] or 'nothing'}): mend it."


def _score_problem(config: DictConfig, calls: list[dict[str, Any]]) -> str | None:
    """A score that the run would stop at."""
    metric, filtered = config.algorithm.filter_groups.metric, config.algorithm.filter_groups.enable
    for call in calls:
        told = f"{FUNCTION}: for {call['of']} it gives {call['score']:g}"
        if not math.isfinite(call["score"]):
            return f"{told}: mend it, so that every score is a finite number."
        if filtered and metric not in (*ALWAYS_THERE, *call["names"]):
            said = f"the reward function says nothing of that name (it says {', '.join(call['names'])})"
            mend = "name one of these, or use score"
            return f"algorithm.filter_groups.metric={metric}: for {call['of']} {said}: {mend}."
        if clashing := sorted(set(call["names"]) & set(parts_of(config))):
            named = f"for {call['of']} it returns {clashing[0]!r}, the name of a part of run.reward"
            return f"{FUNCTION}: {named}: name it otherwise, or leave run.reward.{clashing[0]}.weight out."
        if config.trainer.v1.trainer_mode == "pacs":
            try:
                check_labels(torch.tensor(totals_of(config, call["score"])), method_in(config))
            except ValueError as error:
                return f"{told}. {error}"
    return None


def _notes(config: DictConfig, calls: list[dict[str, Any]], file: Path | None) -> Iterator[str]:
    """What came of the calls."""
    function = config.reward.custom_reward_function
    name = f"reward function {function.path}, {function.name}"
    if not calls:
        why = "there is no data here" if file is None else "it may ask the reward model, which is not started"
        yield f"{name}: imported; not tried here: {why}"
        return
    empty, right = calls
    said = ", ".join(f"{call['score']:g} for {call['of']} ({call['seconds']:.3g} s)" for call in calls)
    yield f"{name}: {said}, of the first row of {file}"
    if right["score"] <= empty["score"]:
        mend = "see that it reads the form in which the prompts ask for the answer"
        yield f"warning: the reward function gives the ground truth in a box no more than an empty response: {mend}"
    responses, workers = config.data.train_batch_size * config.actor_rollout_ref.rollout.n, config.reward.num_workers
    step = right["seconds"] * responses / workers
    if step > SLOW_SECONDS:
        yield (
            f"warning: at {right['seconds']:.3g} s a call the {responses} responses of a step take {step:.0f} s if "
            f"each of reward.num_workers={workers} processes grades one at a time: make it faster, or raise that number"
        )
