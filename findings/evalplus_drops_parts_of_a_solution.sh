#!/usr/bin/env bash
# evalplus 0.3.1: its sanitizer takes parts out of right solutions: whatever has a decorator, helpers without a return, loops
# and tuple assignments beside the functions.
#
# Guessed: sanitize takes the code out of a response, and at most leaves out what the function does not need, such as tests
# and examples.
# Seen (2026-11-30, evalplus 0.3.1, tree-sitter 0.26.1, tree-sitter-python 0.25.0): of the top level it keeps imports,
# classes, plain assignments, and functions with a return, each name's first, if the function asked for leads to them by
# name. A cached function (@lru_cache) and a dataclass are gone, and so are a helper that changes its argument or yields, a
# table's loop, an import in a try, and the second of two drafts. Of several code blocks the one with the most lines is
# taken: with a longer example the function is not in it. Such solutions then fail with a NameError, or with a wrong result.
# evalplus.evaluate with a model grades them so, by what evalplus.codegen has sanitized: a policy that learns to memoize by a
# decorator loses accuracy. Run the code block as it is, or compare with the raw samples that codegen writes beside them.
#
#   plain: 4, sanitized 4
#   @lru_cache: 2, sanitized KeyError
#   helper with @lru_cache: 2, sanitized NameError
#   @dataclass: 3, sanitized NameError
#   helper without return: [3], sanitized NameError
#   generator: [0, 1, 2], sanitized NameError
#   import in try: 3, sanitized NameError
#   A, B = 1, 2: 3, sanitized NameError
#   table filled by a loop: 8, sanitized IndexError
#   A += 1: 2, sanitized 1
#   two drafts: 4, sanitized 3
#   an example of two lines behind it: 4
#   an example of three lines behind it: no function
#
# Exits with a status other than 0 if any of this differs. The packages that evalplus imports and does not use here are left
# out or stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  tree-sitter==0.26.1 tree-sitter-python==0.25.0 tqdm termcolor
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps evalplus==0.3.1
cat >"$folder/solutions.py" <<'PYTHON'
import sys
from unittest.mock import MagicMock

sys.modules["evalplus.data"] = MagicMock()
from evalplus.sanitize import sanitize

CACHE = "from functools import lru_cache\n\n\n@lru_cache(None)\n"
CASES = {
    "plain": ("def f(n):\n    return n + 1", "4", "4"),
    "@lru_cache": (CACHE + "def f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)", "2", "KeyError"),
    "helper with @lru_cache": (
        CACHE + "def g(n):\n    return n if n < 2 else g(n - 1) + g(n - 2)\n\ndef f(n):\n    return g(n)",
        "2",
        "NameError",
    ),
    "@dataclass": (
        "from dataclasses import dataclass\n\n@dataclass\nclass P:\n    x: int\n\ndef f(n):\n    return P(n).x",
        "3",
        "NameError",
    ),
    "helper without return": (
        "def put(row, n):\n    row.append(n)\n\ndef f(n):\n    row = []\n    put(row, n)\n    return row",
        "[3]",
        "NameError",
    ),
    "generator": (
        "def up(n):\n    for i in range(n):\n        yield i\n\ndef f(n):\n    return list(up(n))",
        "[0, 1, 2]",
        "NameError",
    ),
    "import in try": (
        "try:\n    from math import comb\nexcept ImportError:\n    comb = None\n\ndef f(n):\n    return comb(n, 2)",
        "3",
        "NameError",
    ),
    "A, B = 1, 2": ("A, B = 1, 2\n\ndef f(n):\n    return A + B", "3", "NameError"),
    "table filled by a loop": (
        "T = [1]\nfor i in range(5):\n    T.append(T[-1] * 2)\n\ndef f(n):\n    return T[n]",
        "8",
        "IndexError",
    ),
    "A += 1": ("A = 1\nA += 1\n\ndef f(n):\n    return A", "2", "1"),
    "two drafts": ("def f(n):\n    return n\n\ndef f(n):\n    return n + 1", "4", "3"),
}
BLOCKS = "It adds one:\n```python\ndef f(n):\n    return n + 1\n```\nFor example:\n```python\n{}\n```\n"
EXAMPLES = {"two": ("a = f(1)\nprint(a)", "4"), "three": ("a = f(1)\nb = f(2)\nprint(a + b)", "no function")}


def result(code):
    """What f(3) returns, or the error."""
    names = {}
    try:
        exec(code, names)
        return repr(names["f"](3))
    except Exception as error:
        return type(error).__name__


right = True
for what, (code, raw, sanitized) in CASES.items():
    found = result(code), result(sanitize(code, "f"))
    print(f"{what}: {found[0]}, sanitized {found[1]}")
    right &= found == (raw, sanitized)
for lines, (example, seen) in EXAMPLES.items():
    code = sanitize(BLOCKS.format(example), "f")
    found = result(code) if "def f" in code else "no function"
    print(f"an example of {lines} lines behind it: {found}")
    right &= found == seen
sys.exit(not right)
PYTHON
"$folder/venv/bin/python" "$folder/solutions.py"
