"""Nothing that a program can see depends on the right output: hostile programs that look for it, on random problems."""

import json
import random
from textwrap import dedent, indent

import pytest

from pacs.rewards.code import compute_score
from pacs.rewards.sandbox.sandbox import Outcome, Sandbox
from tests.rewards.programs import problem

#: Each leaves all that it finds in the list `seen`: numbers, texts, and what contains them.
CHANNELS = {
    "limits": """
        import resource
        for name in dir(resource):
            if name.startswith('RLIMIT_'):
                try: seen += resource.getrlimit(getattr(resource, name))
                except (OSError, ValueError): pass
        """,
    "frames": """
        import sys
        frame = sys._getframe()
        while frame:
            seen += list(frame.f_locals.values()) + list(frame.f_globals.values())
            frame = frame.f_back
        """,
    "objects": """
        import gc
        for thing in gc.get_objects():
            seen += gc.get_referents(thing)
        """,
    "memory": """
        import ctypes, gc
        library = ctypes.CDLL(None, use_errno=True)
        def is_mapped(page):
            ctypes.set_errno(0)
            library.access(ctypes.c_void_p(page), 0)
            return ctypes.get_errno() != 14
        for region in {id(thing) >> 20 for thing in gc.get_objects()}:
            pages = [page for page in range(region << 20, region + 1 << 20, 4096) if is_mapped(page)]
            text = b''.join(ctypes.string_at(page, 4096) for page in pages)
            seen += [int(number) for number in re.findall(rb'[:=] ?([0-9]{1,9})[,}]', text)]
        """,
    "files": """
        import os, glob
        for number in range(1024):
            try:
                status = os.fstat(number)
                seen += [status.st_size, status.st_blocks, os.lseek(number, 0, 2)]
            except OSError: pass
        for path in ('limits', 'status', 'stat', 'maps', 'environ', 'cmdline', 'mountinfo', 'fdinfo/1', 'mem'):
            for process in ('self', os.getppid(), 1):
                try: seen += open(f'/proc/{process}/{path}').read().split()
                except OSError: pass
        seen += glob.glob('/proc/*/*') + glob.glob('/tmp/**', recursive=True)
        """,
    "surroundings": """
        import os, sys, resource, threading
        seen += [*os.environ.values(), *sys.argv, *sys.path, os.getcwd(), threading.active_count()]
        seen += [*resource.getrusage(resource.RUSAGE_CHILDREN), resource.getpagesize(), os.cpu_count()]
        """,
}
CHANNELS = {name: dedent(code) for name, code in CHANNELS.items()}

# From what is seen: whether the right output has the length of YES, with or without the end of the line and quotes,
# in bytes or as one of the bounds that could be made from it; or whether it is there itself.
GUESS = """
def numbers(things, depth=4):
    for thing in things:
        if type(thing) in (int, float): yield thing
        elif type(thing) in (str, bytes) and len(thing) < 10**4:
            yield from (int(number) for number in re.findall('[0-9]{1,9}', str(thing)))
        elif depth and type(thing) in (list, tuple, set, dict) and len(thing) < 100 and thing is not seen:
            yield from numbers(list(thing.values()) if type(thing) is dict else thing, depth - 1)

def guess(right_lengths, wrong_lengths):
    found = set(numbers(seen))
    bounds = [(base * 2**20, factor) for base in (1, 2, 8, 64) for factor in (1, 2, 4)]
    def count(lengths):
        return sum(base + factor * n in found for n in lengths for base, factor in bounds)
    return 'YES' if count(right_lengths) > count(wrong_lengths) else 'NO'
"""
SCRIPT = "{channel}\n{guess}\nprint(guess((3, 4), (2,)))\n"
FUNCTION = "def answer(x):\n    seen = globals()['seen']\n{channel}\n    return guess((5,), (4,))\n{guess}"


def programs(channel: str) -> dict[str | None, str]:
    """By the function's name: a script, and a function."""
    body = indent(CHANNELS[channel], "    ")
    return {
        None: "import re\nseen = []\n" + SCRIPT.format(channel=CHANNELS[channel], guess=GUESS),
        "answer": "import re\nseen = []\n" + FUNCTION.format(channel=body, guess=GUESS),
    }


def right(function: str | None, yes: bool) -> str:
    word = "YES" if yes else "NO"
    return json.dumps(word) if function else word


@pytest.mark.parametrize("function", [None, "answer"])
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_program_that_looks_for_the_right_output_does_no_better_than_chance(
    channel: str, function: str | None
) -> None:
    """12 problems, whose outputs are one of two words: as good as a program that always says one of them."""
    answers = [True, False] * 6
    random.Random(channel).shuffle(answers)
    code = f"```python\n{programs(channel)[function]}\n```"
    statuses = []
    for number, yes in enumerate(answers):
        result = compute_score("test", code, problem(function, (str(number), right(function, yes))))
        statuses.append(result["status"])
    assert set(statuses) == {"correct", "wrong"}
    assert statuses.count("correct") == 6


LOOK = """
    import json, os, socket
    def simple(thing, depth=3):
        if type(thing) in (int, bool, type(None)) or type(thing) in (str, bytes) and len(thing) < 1000:
            return repr(thing)
        if depth and type(thing) in (list, tuple) and len(thing) < 100:
            return [simple(item, depth - 1) for item in thing]
        if depth and type(thing) is dict and len(thing) < 100:
            return [[simple(key, depth - 1), simple(value, depth - 1)] for key, value in thing.items()]
        return type(thing).__name__
    print(json.dumps([simple(thing) for thing in seen]))
"""


@pytest.mark.parametrize("channel", ["limits", "frames", "surroundings"])
def test_what_a_program_sees_is_the_same_whatever_the_right_output(
    channel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it, for right outputs of a few bytes and of a megabyte."""
    outputs: list[bytes | None] = []
    run = Sandbox.run

    def watched(self: Sandbox, text: str, *, longest_bytes: int, seconds: float) -> Outcome:
        outcome = run(self, text, longest_bytes=max(longest_bytes, 2**26), seconds=seconds)
        outputs.append(outcome.output)
        return outcome

    monkeypatch.setattr(Sandbox, "run", watched)
    code = f"```python\nimport re\nseen = []\n{CHANNELS[channel]}\n{dedent(LOOK)}\n```"
    for expected in ("YES", "NO", "1 2 3\n" * 200_000):
        assert compute_score("test", code, problem(None, ("", expected)))["status"] == "wrong"
    assert outputs[0]
    assert len(json.loads(outputs[0])) > 5
    assert outputs[1:] == outputs[:1] * 2
