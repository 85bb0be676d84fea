"""The verifier of programs: it runs them on tests, as LiveCodeBench does, in a sandbox.

What a program writes is compared here: neither the right outputs nor the verdict are in any process of the sandbox,
nor anything that depends on them, as would a limit made from the length of an output.
"""

import json
import logging
import re
import textwrap
import time
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, repeat
from typing import Any, Final

from pacs.rewards.reasoning import final_part
from pacs.rewards.sandbox.limits import Limits
from pacs.rewards.sandbox.sandbox import Sandbox, SandboxError
from pacs.rewards.verdict import Status, verdict

_FENCE: Final = re.compile(r"^(?P<indent>[ \t]*)(?P<ticks>`{3,})(?P<info>[^`\n]*)$", re.M)
_PYTHON: Final = {"", "py", "python", "python3"}
#: A right program may write this, and four times the right output: what is longer is wrong without being read.
OUTPUT_BYTES: Final = 2**20

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Tests:
    """A problem's tests, as LiveCodeBench has them.

    Attributes:
        fn_name: the function to call, or None: the program reads standard input.
        inputs: of each test the whole standard input; for a function its arguments, one JSON a line.
        outputs: of each test the whole standard output; for a function its result, as JSON.
    """

    fn_name: str | None
    inputs: list[str]
    outputs: list[str]

    @classmethod
    def from_json(cls, text: str) -> "Tests":
        """Read them from a row's ground truth. Raises ValueError if they are not in LiveCodeBench's form."""
        try:
            match json.loads(str(text)):
                case {"inputs": [_, *_] as inputs, "outputs": [*outputs], **others} if (
                    len(inputs) == len(outputs)
                    and all(isinstance(item, str) for item in [*inputs, *outputs])
                    and isinstance(fn_name := others.get("fn_name"), str | None)
                ):
                    if fn_name is not None:
                        for line in [*outputs, *chain.from_iterable(item.split("\n") for item in inputs)]:
                            _loads(line)
                    return cls(fn_name, inputs, outputs)
        except RecursionError as error:
            raise ValueError("the ground truth is nested too deeply") from error
        raise ValueError("the ground truth is not {fn_name: string or null, inputs: [string...], outputs: as many}")

    def check_lengths(self, output_mib: int) -> None:
        """Raise ValueError if what a right program may write is more than any program can write."""
        longest = max(len(output.encode()) for output in self.outputs)
        most = (output_mib * 2**20 - OUTPUT_BYTES) // 4
        if longest > most:
            raise ValueError(
                f"a right output has {longest:,} bytes; with code.output_mib={output_mib} it may have {most:,} at most"
            )


def gold_problem(gold: str) -> str | None:
    """Why programs cannot be graded by these tests, in words for the user; None if they can. For preparing data."""
    try:
        Tests.from_json(gold).check_lengths(Limits.output_mib)
    except json.JSONDecodeError as error:
        return f"{error.doc[:50]!r} is not JSON ({error.msg})"
    except ValueError as error:
        return str(error)
    return None


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    *,
    test_seconds: int = 6,
    total_seconds: float = 120.0,
    memory_mib: int = 4096,
    output_mib: int = Limits.output_mib,
    float_tolerance: float = 0.0,
    allow_without_landlock: bool = False,
    allow_without_seccomp: bool = False,
) -> dict[str, Any]:
    """Whether the program in the response's last Python block passes all tests. The first failure ends it.

    Args:
        data_source: named in the log.
        solution_str: the response.
        ground_truth: the `Tests`, as JSON.
        extra_info: may say where the answer begins (`pacs.rewards.reasoning`).
        test_seconds: processor time that a test may take.
        total_seconds: time on the clock that all tests may take.
        memory_mib: address space that the program may take.
        output_mib: what the program may write in a test. The right output may be a quarter of it, less 256 KiB.
        float_tolerance: how far numbers of which one has a point or an exponent may be apart: of the right size, or
            absolutely where that is below 1. Whole numbers are exact.
        allow_without_landlock, allow_without_seccomp: run even where the kernel lacks these, see `Limits`.

    Returns:
        The `verdict`: `wrong` also for a program that fails, `error` for ground truths that are no tests, or with an
        output for which there is no room, and where the sandbox itself failed (why is logged).

    Raises:
        ValueError: If a limit is too small to be one.
        Refused: If this machine cannot hold a program as it must, and no setting allows that.
    """
    least_values = (("test_seconds", test_seconds, 1), ("memory_mib", memory_mib, 256), ("output_mib", output_mib, 2))
    for name, value, least in least_values:
        if not isinstance(value, int) or value < least:
            raise ValueError(f"code.{name}={value}: use a whole number of at least {least}")
    if not total_seconds > 0:
        raise ValueError(f"code.total_seconds={total_seconds}: use a number above 0")
    if not 0 <= float_tolerance < 1:
        raise ValueError(f"code.float_tolerance={float_tolerance}: use a number from 0 to below 1")
    code = last_code_block(final_part(solution_str, extra_info))
    if code is None:
        return verdict("no_answer")
    limits = Limits(test_seconds, memory_mib, output_mib, allow_without_landlock, allow_without_seccomp)
    try:
        tests = Tests.from_json(ground_truth)
        tests.check_lengths(output_mib)
        return verdict(run_tests(code, tests, limits, total_seconds, float_tolerance), code)
    except (ValueError, OSError, SandboxError) as error:
        logger.warning("A program of %s could not be tested: %s", data_source, error)
        return verdict("error", code)


def run_tests(code: str, tests: Tests, limits: Limits, total_seconds: float, float_tolerance: float = 0.0) -> Status:
    """Run a program on one test after another until one fails.

    Raises:
        Refused, SandboxError, OSError: As `Sandbox`.
    """
    agrees = same_lines if tests.fn_name is None else same_json
    deadline = time.monotonic() + total_seconds
    with Sandbox(code, tests.fn_name, limits) as sandbox:
        for given, expected in zip(tests.inputs, tests.outputs, strict=True):
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            outcome = sandbox.run(given, longest_bytes=longest_bytes(len(expected.encode())), seconds=left)
            if outcome.ended == "timeout":
                return "timeout"
            if outcome.ended == "failed" or outcome.output is None:
                return "wrong"
            if not agrees(outcome.output.decode(errors="replace"), expected, float_tolerance):
                return "wrong"
    return "correct"


def longest_bytes(expected: int) -> int:
    """The longest output that is read, where the right one has so many bytes."""
    return OUTPUT_BYTES + 4 * expected


def last_code_block(text: str) -> str | None:
    """The last fenced block that is marked as Python, or not marked.

    None if there is none, or if the text ends within a block: that program was cut off.
    """
    block, opening = None, None
    for fence in _FENCE.finditer(text):
        if opening is None:
            opening = fence
        elif not fence["info"].strip() and len(fence["ticks"]) >= len(opening["ticks"]):
            if opening["info"].strip().lower() in _PYTHON:
                block = opening, fence
            opening = None
    if block is None or opening is not None:
        return None
    first, last = block
    code = text[first.end() + 1 : last.start()]
    return textwrap.dedent(code) if first["indent"] else code


def same_lines(output: str, expected: str, tolerance: float = 0.0) -> bool:
    """Whether two texts agree as LiveCodeBench has it: line by line, without white space at the ends of text and lines.

    Two lines that differ agree if all their words are numbers and equal in value: `1.0 2` and `1 2.00`. With a
    tolerance they may be apart as `compute_score` says.
    """
    output, expected = output.strip(), expected.strip()
    if output.count("\n") != expected.count("\n"):
        return False
    return all(map(_same_line, output.split("\n"), expected.split("\n"), repeat(tolerance)))


def _same_line(output: str, expected: str, tolerance: float) -> bool:
    if output.strip() == expected.strip():
        return True
    words, others = output.split(), expected.split()
    try:
        return len(words) == len(others) and all(
            _same_number(Decimal(word), Decimal(other), 0.0 if _is_whole(word) and _is_whole(other) else tolerance)
            for word, other in zip(words, others, strict=True)
        )
    except ArithmeticError:  # a word is no number
        return False


def _is_whole(word: str) -> bool:
    return word.lstrip("+-").isdecimal()


def _same_number(number: Decimal | float, right: Decimal | float, tolerance: float) -> bool:
    if number == right or not tolerance:
        return number == right
    number, right = Decimal(number), Decimal(right)
    if not (number.is_finite() and right.is_finite()):
        return False
    return abs(number - right) <= Decimal(tolerance) * max(Decimal(1), abs(right))


def same_json(output: str, expected: str, tolerance: float = 0.0) -> bool:
    """Whether two JSON texts have equal values; with a tolerance numbers may be apart as `compute_score` says."""
    try:
        return _same_value(_loads(output), _loads(expected), tolerance)
    except (ValueError, RecursionError, ArithmeticError):  # of the output: the expected ones were read before
        return False


def _same_value(value: Any, right: Any, tolerance: float) -> bool:
    match value, right:
        case list(), list():
            return len(value) == len(right) and all(map(_same_value, value, right, repeat(tolerance)))
        case dict(), dict():
            return value.keys() == right.keys() and all(_same_value(value[key], right[key], tolerance) for key in value)
        case (float(), Decimal() | float()) | (Decimal(), float()):
            return _same_number(value, right, tolerance)
    return bool(value == right)


def _loads(text: str) -> Any:
    """JSON whose whole numbers may have more digits than Python turns into an int."""
    return json.loads(text, parse_int=Decimal)
