"""LiveCodeBench's code generation: its own prompt, and its public and private tests as the `code` verifier takes them.

Its repository has a loading script, which `datasets` refuses; its files of JSON lines are read instead.
"""

import base64
import io
import json
import pickle
import zlib
from dataclasses import dataclass
from datetime import date
from typing import Any

from pacs.data.problem import Dropped, Problem, Row

#: Release -> its files; each release has those of all before.
RELEASES = {
    f"release_v{n}": tuple("test.jsonl" if i == 1 else f"test{i}.jsonl" for i in range(1, n + 1)) for n in range(1, 7)
}
RELEASE = "release_v5"
#: First and last day of the contests, both included.
WINDOW = (date(2024, 7, 1), date(2025, 1, 1))
LEVELS = {"easy": 1.0, "medium": 2.0, "hard": 3.0}

# The benchmark's prompt for chat models, word for word.
SYSTEM = (
    "You are an expert Python programmer. You will be given a question (problem specification) and will generate a "
    "correct Python program that matches the specification and passes all tests."
)
WITH_STARTER = (
    "You will use the following starter code to write the solution to the problem and enclose your code within "
    "delimiters."
)
WITHOUT_STARTER = (
    "Read the inputs from stdin solve the problem and write the answer to stdout (do not directly test on the sample "
    "inputs). Enclose your code within delimiters as follows. Ensure that when the python program runs, it reads the "
    "inputs, runs the algorithm and writes output to STDOUT."
)
# What base64, zlib, pickle and JSON raise, and what is no test.
UNREADABLE = (
    ValueError, TypeError, LookupError, AttributeError, EOFError, OverflowError, RecursionError, zlib.error,
    pickle.UnpicklingError,
)  # fmt: skip


@dataclass(frozen=True)
class LiveCodeBench:
    """A reader of the rows whose contest was in `window`."""

    window: tuple[date, date] = WINDOW
    required: tuple[str, ...] = (
        "question_content", "question_id", "contest_date", "starter_code", "public_test_cases", "private_test_cases",
        "metadata",
    )  # fmt: skip

    def __call__(self, row: Row, place: str) -> Problem:
        """Read one row; see `Reader`."""
        try:
            day = date.fromisoformat(str(row["contest_date"])[:10])  # a text, or what `datasets` made of it
        except ValueError:
            raise Dropped("unreadable date") from None
        if not self.window[0] <= day <= self.window[1]:
            raise Dropped("outside the dates")
        question = str(row["question_content"] or "").strip()
        if not question:
            raise Dropped("empty question")
        try:
            tests = [*json.loads(row["public_test_cases"]), *private_tests(row["private_test_cases"])]
            gold = json.dumps(
                {
                    "fn_name": json.loads(row["metadata"]).get("func_name"),
                    "inputs": [test["input"] for test in tests],
                    "outputs": [test["output"] for test in tests],
                }
            )
        except UNREADABLE as error:
            raise Dropped("unreadable tests") from error
        if not tests:
            raise Dropped("empty answer")
        return Problem(
            question=question,
            gold=gold,
            id=str(row["question_id"]),
            difficulty=LEVELS.get(str(row.get("difficulty"))),
            content=user_message(question, row["starter_code"] or ""),
            system=SYSTEM,
        )


def user_message(question: str, starter: str) -> str:
    """The benchmark's message."""
    how, code = (WITH_STARTER, starter) if starter else (WITHOUT_STARTER, "# YOUR CODE HERE")
    return (
        f"### Question:\n{question}\n\n### Format: {how}\n```python\n{code}\n```\n\n"
        "### Answer: (use the provided format with backticks)\n\n"
    )


def private_tests(text: str) -> list[dict[str, str]]:
    """The private tests: JSON, or base64 of zlib of a pickle of a text of JSON. No other object is unpickled.

    Raises:
        One of `UNREADABLE`: If they are neither.
    """
    try:
        tests = json.loads(text)
    except json.JSONDecodeError:
        tests = json.loads(_TextUnpickler(io.BytesIO(zlib.decompress(base64.b64decode(text)))).load())
    return list(tests)


class _TextUnpickler(pickle.Unpickler):
    """Makes texts, numbers, lists and dictionaries, and calls nothing."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"the tests would load {module}.{name}")
