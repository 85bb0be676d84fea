"""Problems in LiveCodeBench's form, and programs that solve them, fail or cheat."""

import json
from textwrap import dedent

from pacs.rewards.code import OUTPUT_BYTES


def problem(fn_name: str | None, *pairs: tuple[str, str]) -> str:
    """A ground truth: inputs and outputs as in the data set's tests."""
    return json.dumps({"fn_name": fn_name, "inputs": [i for i, _ in pairs], "outputs": [o for _, o in pairs]})


SUM = problem(None, *((f"{n}\n{' '.join(map(str, range(n)))}\n", f"{n * (n - 1) // 2}\n") for n in (1, 5, 10, 1000)))
GRID = problem(None, ("2 3\n#.#\n.#.\n", ".#.\n#.#\n"), ("1 1\n.\n", "#\n"))
MEAN = problem(None, ("1 2\n", "1.5\n"), ("2 4\n", "3\n"), ("3 3\n", "3.000\n"))
TWO_SUM = problem("twoSum", ("[2,7,11,15]\n9", "[0, 1]"), ("[3,2,4]\n6", "[1, 2]"), ("[3,3]\n6", "[0, 1]"))
WORDS = problem("longest", ('"the quick fox"', '"quick"'), ('""', '""'), ('"é ñandú"', '"ñandú"'))
MATRIX = problem("transpose", ("[[1,2],[3,4]]", "[[1,3],[2,4]]"), ("[[1]]", "[[1]]"))
HALF = problem("half", ("3", "1.5"), ("4", "2.0"))

SUM_PROGRAM = "n = int(input())\nprint(sum(map(int, input().split())))\n"
# With names that LiveCodeBench has imported.
TWO_SUM_PROGRAM = """\
class Solution:
    def twoSum(self, nums: List[int], target: int) -> List[int]:
        seen = defaultdict(int)
        for i, x in enumerate(nums):
            if target - x in seen:
                return [seen[target - x], i]
            seen[x] = i
"""


def solution(name: str, body: str) -> str:
    """A method of a few lines."""
    return f"class Solution:\n    def {name}(self, *args):\n" + "".join(
        f"        {line}\n" for line in body.split("\n")
    )


RIGHT = [
    (SUM_PROGRAM, SUM),
    ("import sys\ndata = sys.stdin.read().split()\nsys.stdout.write(str(sum(map(int, data[1:]))) + '\\n')", SUM),
    ("def main():\n    input(); print(sum(map(int, input().split())))\nif __name__ == '__main__':\n    main()", SUM),
    ("import os\nprint(sum(map(int, os.read(0, os.fstat(0).st_size).split()[1:])))\nexit()", SUM),
    ("print(sum(map(int, open(0).read().split()[1:])), end='  \\n\\n')", SUM),
    ("n = int(input())\nprint(*[sum(map(int, input().split()))], sep='')\nraise SystemExit(3)", SUM),
    ("h, w = map(int, input().split())\nfor _ in range(h): print(input().translate({35: '.', 46: '#'}), '')", GRID),
    ("print(sum(map(int, input().split())) / 2)", MEAN),
    ("from decimal import *\nprint(sum(map(Decimal, input().split())) / 2, flush=True)", MEAN),
    (TWO_SUM_PROGRAM, TWO_SUM),
    (TWO_SUM_PROGRAM.replace("[seen[target - x], i]", "(seen[target - x], i)") + "print('debug')", TWO_SUM),
    ("twoSum = lambda n, t: next((i, j) for i, j in combinations(range(len(n)), 2) if n[i] + n[j] == t)", TWO_SUM),
    (solution("longest", "return max(args[0].split(' '), key=len)"), WORDS),
    ("import numpy as np\n" + solution("transpose", "return np.array(args[0]).T.tolist()"), MATRIX),
    (solution("half", "return args[0] / 2"), HALF),
]  # fmt: skip

WRONG = [
    ("print(0)", SUM),  # right on the first test alone
    ("print(45)", SUM),
    ("print(sum(map(int, open(0).read().split())))", SUM),
    (SUM_PROGRAM + "print()\nprint(1)", SUM),
    (SUM_PROGRAM + "raise ValueError", SUM),
    ("n = int(input())\nprint('Sum:', sum(map(int, input().split())))", SUM),
    ("input('n?'); print(sum(map(int, input().split())))", SUM),
    ("this is no Python", SUM),
    ("", SUM),
    ("print(sum(map(int, input().split())) // 2)", MEAN),
    ("print('nan')", MEAN),
    ("print('sNaN')", MEAN),
    (TWO_SUM_PROGRAM.replace("[seen[target - x], i]", "[i, seen[target - x]]"), TWO_SUM),
    (TWO_SUM_PROGRAM.replace("twoSum", "two_sum"), TWO_SUM),
    (TWO_SUM_PROGRAM.replace("self, nums", "nums"), TWO_SUM),
    (solution("twoSum", "return None"), TWO_SUM),
    (solution("twoSum", "return '[0, 1]'"), TWO_SUM),
    (solution("twoSum", "print([0, 1])"), TWO_SUM),
    (solution("twoSum", "exit()"), TWO_SUM),
    (solution("transpose", "return args[0]"), MATRIX),
    ("import numpy as np\n" + solution("transpose", "return np.array(args[0]).T"), MATRIX),
    (solution("half", "return args[0] // 2"), HALF),
    (solution("half", "return float('nan')"), HALF),
]

_ANY = """
class Any(list):
    __eq__ = lambda self, other: True
    __ne__ = lambda self, other: False
"""
CHEATING = {
    "exits": ("import os; os._exit(0)", SUM),
    "exits_politely": ("import sys; sys.exit(0)", SUM),
    "prints_a_verdict": ("print('correct'); print({'score': 1.0, 'status': 'correct'})", SUM),
    "writes_a_verdict_everywhere": (
        """
        import os
        for number in range(64):
            try: os.write(number, b'{"ended": "exited"}')
            except OSError: pass
        """,
        SUM,
    ),
    "closes_everything": ("import os; os.closerange(0, 64); os._exit(0)", SUM),
    "patches_the_library": (
        "import json, builtins\njson.loads = lambda *a: [0, 1]\nbuiltins.sum = lambda x: 0\nprint(0)",
        SUM,
    ),
    "patches_all_modules": (
        """
        import sys
        for module in list(sys.modules.values()):
            for name in ('same_lines', 'verdict', 'compute_score', 'run_tests', '_watch'):
                setattr(module, name, lambda *a: True)
        """,
        SUM,
    ),
    "looks_through_memory": (
        """
        import gc
        for thing in gc.get_objects():
            if isinstance(thing, dict) and 'outputs' in thing: print(thing['outputs'][0])
        """,
        SUM,
    ),
    "looks_through_the_stack": (
        """
        import sys
        frame = sys._getframe()
        while frame:
            for value in list(frame.f_locals.values()):
                if '4950' in str(value) or 'outputs' in str(value): print(value)
            frame = frame.f_back
        """,
        SUM,
    ),
    "looks_through_files": (
        "import glob\nfor path in glob.glob('/proc/*/environ') + glob.glob('/tmp/**', recursive=True): print(path)",
        SUM,
    ),
    "kills_its_parent": ("import signal, os\nos.kill(os.getppid(), signal.SIGKILL)\nprint(0)", SUM),
    "forks": ("import os\nwhile True: os.fork()", SUM),
    "returns_what_equals_all": (_ANY + solution("twoSum", "return Any()"), TWO_SUM),
    "serialises_what_equals_all": (
        _ANY + "import json\njson.dumps = lambda *a, **k: Any()\n" + solution("twoSum", "return 1"),
        TWO_SUM,
    ),
    "exits_in_the_function": ("import os\n" + solution("twoSum", "os._exit(0)"), TWO_SUM),
    "clears_its_caller": ("import sys\n" + solution("twoSum", "sys._getframe(1).f_globals.clear()"), TWO_SUM),
    "nests_deeply": (solution("twoSum", "x = []\nfor _ in range(10**5): x = [x]\nreturn x"), TWO_SUM),
    "returns_a_long_number": (solution("twoSum", "return 10 ** 10**5"), TWO_SUM),
    "returns_a_long_list": (solution("twoSum", f"return [[]] * {OUTPUT_BYTES}"), TWO_SUM),
    "writes_the_result_itself": (
        "import os\n" + solution("twoSum", f"os.write(3, b'[' * {OUTPUT_BYTES // 2})\nos._exit(0)"),
        TWO_SUM,
    ),
}
CHEATING = {name: (dedent(code), ground_truth) for name, (code, ground_truth) in CHEATING.items()}
