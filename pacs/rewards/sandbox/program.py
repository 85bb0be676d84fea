"""Run a tested program in this process, as LiveCodeBench does: with the same names imported before it."""

import atexit
import gc
import json
import os
import site
import sys
import threading
from contextlib import suppress
from types import ModuleType
from typing import Any, Final

# The modules of LiveCodeBench's own runner, in its order: all their names first, then the modules themselves.
_MODULES: Final = (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json"
)
_PRELUDE = [f"from {name} import *" for name in f"{_MODULES} builtins typing".split()]
_PRELUDE += [f"import {name}" for name in _MODULES.split()]
_NAMES: Final[dict[str, Any]] = {}
exec("\n".join(_PRELUDE), _NAMES)
site.setquit()  # exit() and quit(), which `python -S` lacks
_RECURSION_LIMIT: Final = 50_000
sys.set_int_max_str_digits(50_000)  # as LiveCodeBench; Python's own are 4,300


def run_script(code: str) -> None:
    """Run the code as a script: from standard input to standard output, as the module `__main__`.

    Ends this process, unless the program ends with an exception.
    """
    sys.stdin, sys.stdout = os.fdopen(0, closefd=False), os.fdopen(1, "w", closefd=False)
    sys.__dict__.update(__stdin__=sys.stdin, __stdout__=sys.stdout)
    written = sys.stdout
    module = _module("__main__")
    # Of any status, as in LiveCodeBench.
    with suppress(SystemExit):
        exec(compile(code, "solution.py", "exec"), module.__dict__)
    # What Python does at the end, as far as the program can tell: taking apart all modules would take ten times as
    # long as the rest of a test.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    written.flush()
    module.__dict__.clear()  # files of its own are written when nothing refers to them
    gc.collect()
    os._exit(0)


def run_function(code: str, name: str) -> None:
    """Call a function of the code, or a method of its class Solution, and write what it returns as JSON.

    The arguments are the lines of standard input, each one JSON. What the code itself prints is lost. Ends this
    process, unless there is an exception.
    """
    arguments = [json.loads(line) for line in os.fdopen(0, closefd=False).read().split("\n")]
    result = os.dup(1)
    os.dup2(2, 0)  # standard error is /dev/null
    os.dup2(2, 1)
    module = _module("solution")
    exec(compile(code, "solution.py", "exec"), module.__dict__)
    owner = module.Solution() if hasattr(module, "Solution") else module
    with os.fdopen(result, "w") as file:
        file.write(json.dumps(getattr(owner, name)(*arguments), ensure_ascii=False))
    os._exit(0)


def _module(name: str) -> ModuleType:
    module = ModuleType(name)
    module.__dict__.update(_NAMES, __name__=name, stdin=sys.stdin, stdout=sys.stdout)
    sys.modules[name] = module
    sys.argv = ["solution.py"]
    sys.setrecursionlimit(_RECURSION_LIMIT)
    return module
