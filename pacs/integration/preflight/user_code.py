"""Code of one's own that a run names, imported and called as verl does it.

python -m pacs.integration.preflight.user_code FOLDER SECONDS PIPE: FOLDER/request.json says what, FOLDER/answer.json
gets what came of it, and FOLDER/hang.txt where it was when the SECONDS of an import or a call were up
(`pacs.integration.checks.user_code` writes the one and reads the others). It ends when nobody holds the other end of
the PIPE any more.
"""

import asyncio
import faulthandler
import inspect
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import torch
from omegaconf import OmegaConf
from verl.utils.import_utils import load_module

from pacs.base.errors import did_you_mean
from pacs.rewards.reasoning import ANSWER_BEGINS
from pacs.rewards.registry import OF_A_REWARD_MODEL

#: What verl's reward managers give a function, each by its name; with a reward model also `OF_A_REWARD_MODEL`.
GIVEN = ("data_source", "solution_str", "ground_truth", "extra_info")
IMPORT = "its import"


class _Wrong(Exception):
    """What is wrong, with the mend."""


def main(folder: Path, seconds: float) -> None:
    """Answer the request; leave at once, whatever the code has started."""
    answer: dict[str, Any] = {}

    def begin() -> None:
        (folder / "answer.json").write_text(json.dumps(answer))
        faulthandler.dump_traceback_later(seconds, exit=True, file=hang)

    with (folder / "hang.txt").open("w") as hang:
        give_answer(json.loads((folder / "request.json").read_text()), answer, begin)
        (folder / "answer.json").write_text(json.dumps({**answer, "ended": True}))
    sys.stdout.flush()
    os._exit(0)


def end_with_asker(pipe: int) -> None:
    """End this process, with all that the user's code has started, once the one that asked has ended."""
    os.set_inheritable(pipe, False)

    def wait() -> None:
        os.read(pipe, 1)
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def give_answer(request: Mapping[str, Any], answer: dict[str, Any], begin: Callable[[], None]) -> None:
    """Import what is asked for, and call the reward function twice, up to the first thing that is wrong.

    Args:
        request: the `objects` of `checks.user_code.own_objects`, and those of them that are files of `tools`, by the
            last part of the setting; which setting is the `function`, its `reward_kwargs`, the `file` of its data, the
            `manager` that calls it, and whether there is a `reward_model`.
        answer: gets `key` and `doing`, what is tried; `calls`, what came of each; the schemas of `tools`; and the
            `problem`, with the mend.
        begin: called before anything of the user's is.
    """
    answer["calls"], tools = [], request.get("tools") or {}

    def next_is(key: str, doing: str) -> None:
        answer.update(key=key, doing=doing)
        begin()

    try:
        for key, path, name in request["objects"]:
            next_is(key, IMPORT)
            if key.rpartition(".")[2] in tools:
                answer["tools"] = _schemas(tools)
                continue
            found = _imported(path, name)
            if key == request["function"]:
                _try_function(found, request, answer["calls"], partial(next_is, key))
    except _Wrong as error:
        answer["problem"] = str(error)
    except BaseException as error:  # whatever code of the user's raises, an exit among it
        cause = error.__cause__ if isinstance(error, RuntimeError) and error.__cause__ else error
        raised = f"{type(cause).__name__}: {' '.join(str(cause).split())}{_at(cause, path)}"
        answer["problem"] = f"{answer['doing']} raises {raised}: {_mend(cause, answer['doing'])}."


def _mend(cause: BaseException, doing: str) -> str:
    if isinstance(cause, ModuleNotFoundError):
        return f"install {cause.name} in the environment of the run ({sys.prefix}), or put its folder into PYTHONPATH"
    if doing == IMPORT:
        return "mend the file; what it needs (a package, the network, a server) must be there wherever it is imported"
    return "mend the function: verl gives up every prompt for whose response it raises"


def _imported(path: str, name: str | None) -> Any:
    module = load_module(path)
    if name is not None and not hasattr(module, name):
        there = [each for each, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
        raise _Wrong(
            f"there is no {name} in it; it defines {', '.join(there) or 'nothing'}.{did_you_mean(name, there)}"
        )
    return module if name is None else getattr(module, name)


def _schemas(tools: Mapping[str, str]) -> list[dict[str, Any]]:
    """What a chat template is told of the tools in verl's two kinds of files, as verl's loop has it."""
    from verl.tools.tool_registry import load_all_tools

    found = load_all_tools(tools.get("tool_config_path"), tools.get("function_tool_path"))
    if not found:
        raise _Wrong("there is no tool in it: write a function with @verl.tools.function_tool.function_tool.")
    return [tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True) for tool in found]


def _try_function(function: Any, request: Mapping[str, Any], calls: list[Any], begin: Callable[[str], None]) -> None:
    """See that verl can call it, and call it for an empty response and for one with the boxed ground truth."""
    if not callable(function):
        raise _Wrong(f"it is {function!r}, which cannot be called: name a function.")
    settings = dict(OmegaConf.create(request["reward_kwargs"]))
    of_model = OF_A_REWARD_MODEL if request["reward_model"] else ()
    _check_signature(function, {**dict.fromkeys((*GIVEN, *of_model)), **settings})
    if request["file"] is None or of_model:
        return
    row = next(pyarrow.parquet.ParquetFile(request["file"]).iter_batches(batch_size=1)).to_pylist()[0]
    gold = row["reward_model"]["ground_truth"]
    for kind, response in (("an empty response", ""), ("the boxed ground truth", rf"The answer is \boxed{{{gold}}}.")):
        extra = {**(row.get("extra_info") or {}), ANSWER_BEGINS: 0, "num_turns": 2, "rollout_reward_scores": {}}
        given = dict(zip(GIVEN, (np.str_(row["data_source"]), response, gold, extra), strict=True))
        begin(f"its call for {kind}")
        started = time.monotonic()
        result = _called(function, {**given, **settings}, in_thread=request["manager"] != "remote")
        seconds = time.monotonic() - started
        calls.append({"of": kind, "seconds": seconds} | _judged(result, kind))


def _check_signature(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    try:
        signature = inspect.signature(function)
    except ValueError:  # of a builtin
        return
    try:
        signature.bind(**arguments)
    except TypeError as error:
        names = ", ".join(f"{name}=" for name in arguments)
        raise _Wrong(
            f"it takes {signature} ({error}), but verl calls it by names: {names}: write `def "
            f"NAME({', '.join(GIVEN[:3])}, extra_info=None, **kwargs)`, which calls yours (settings of its own are in "
            "reward_kwargs)."
        ) from error


def _called(function: Callable[..., Any], arguments: Mapping[str, Any], *, in_thread: bool) -> Any:
    """As verl's managers call it: awaited, or in a thread of a pool, where `signal.alarm` does not work."""
    if inspect.iscoroutinefunction(function):
        return asyncio.run(function(**arguments))
    return asyncio.run(asyncio.to_thread(function, **arguments)) if in_thread else function(**arguments)


def _judged(result: Any, kind: str) -> dict[str, Any]:
    """The score and the names of what was said beside it, as far as verl can take them."""
    if inspect.isawaitable(result):
        raise _Wrong("it returns a coroutine, but is not defined by `async def` (a decorator?): verl awaits no such.")
    if isinstance(result, Mapping) and "score" not in result:
        named = ", ".join(map(str, result)) or "nothing"
        raise _Wrong(f'for {kind} it returns a dict of {named}: verl reads the reward from "score": name it so.')
    score = result["score"] if isinstance(result, Mapping) else result
    try:
        torch.zeros(1)[-1] = score  # as verl's agent loop does it
        number = float(score)
    except (TypeError, ValueError, RuntimeError) as error:
        told, mend = f"a score of {type(score).__name__}, {str(score)[:80]!r}", "return a plain number (float(...))"
        raise _Wrong(f'for {kind} it gives {told}: {mend}, or a dict with it as "score".') from error
    said = dict(result) if isinstance(result, Mapping) else {"acc": score}
    if "reward" in said:
        raise _Wrong(f'for {kind} it returns "reward", where verl keeps its own in validations: name it otherwise.')
    for name, value in said.items():
        try:
            json.dumps({name: value}, default=lambda value: value.tolist())
        except (TypeError, ValueError, AttributeError) as error:
            written = f"{name!r}: {type(value).__name__}, which verl cannot write as JSON (samples/)"
            raise _Wrong(f"for {kind} it returns {written}: leave it out, or return numbers and text.") from error
    return {"score": number, "names": [str(name) for name in said]}


def _at(error: BaseException, path: str) -> str:
    """Where in the user's file it was raised; else where at all."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f" ({error.filename}:{error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    file = Path(path.removeprefix("file://")).absolute()
    last = ([frame for frame in frames if Path(frame.filename).absolute() == file] or frames)[-1:]
    return "".join(f" ({frame.filename}:{frame.lineno})" for frame in last)


if __name__ == "__main__":
    end_with_asker(int(sys.argv[3]))
    main(Path(sys.argv[1]), float(sys.argv[2]))
