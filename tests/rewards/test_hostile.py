"""Answers made to hang, crash, fool or take over the verifier."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pacs.rewards.math import compute_score

TIMEOUT = 2.0
#: Of a busy machine.
SLACK = 3.0


def boxed(answer: str) -> str:
    return f"So it is \\boxed{{{answer}}}."


def code(marker: Path) -> list[str]:
    """What would make a file if it were executed."""
    command = f"open('{marker}','w')"
    return [
        f"__import__('os').system('touch {marker}')",
        f"exec({command!r})",
        f"{{0.__class__.__base__}}; {command}",
        f"\\input{{|touch {marker}}}",
        f"\\write18{{touch {marker}}}",
        f"1 if {command} else 2",
        f"$(touch {marker})",
        f"lambda: {command}",
        f"[{command} for x in (1,)][0]",
        f"72; {command}",
    ]


#: What is over at once, and what math-verify would work on for minutes.
READ = {
    "power tower": boxed("2^{2^{2^{2^{2^2}}}}"),
    "power tower without braces": boxed("9^9^9^9"),
    "power tower in Python": boxed("9**9**9**9"),
    "huge exponent": boxed("10^{10^{10}}"),
    "huge factorial": boxed("99999999!"),
    "factorial of a factorial": boxed("((9!)!)!"),
    "20,000 boxes": "\\boxed{1}" * 20_000,
    "20,000 boxes that are not closed": "\\boxed{1" * 20_000,
    "2 MB of text": "word " * 400_000 + boxed("71"),
    "2 MB in the box": boxed("1+" * 10**6 + "1"),
    "3,000 nested braces": boxed("{" * 3000 + "72" + "}" * 3000),
    "3,000 braces that are not closed": boxed("{" * 3000 + "72"),
    "200 nested brackets": boxed("(" * 200 + "72" + ")" * 200),
    "invalid UTF-8": boxed("7\udcff2"),
    "control characters": boxed("\x00\x1b[2J\r\x08"),
    "right-to-left": boxed("\u202e27"),
    "a page of commands": boxed("\\frac" * 150),
    "nested brackets behind a variable": boxed("x=" + "(" * 300),
    "nested braces behind a variable": boxed("x=" + "{" * 300 + "1" + "}" * 300),
    "infinity less infinity": boxed("(-2)^{0+" + "9" * 400 + "-" + "9" * 400 + "}"),
    "a root of infinity less infinity": boxed("\\sqrt[" + "9" * 400 + "-" + "9" * 400 + "]{2}"),
}
HANG = {
    "factorial of a bracket": boxed("(10^9)!"),
    "integral": boxed("\\int_0^1 e^{\\sin(x^{x})} dx"),
    "power of a sum": boxed("(x+y+z)^{500}"),
    "braces, which the parser tries in every way": boxed("{" * 9 + "x" + "}" * 9 + "{" * 9 + "x" + "}" * 9),
}


@pytest.mark.parametrize("name", [*READ, *HANG])
def test_it_costs_at_most_the_timeout_and_scores_0(name: str) -> None:
    compute_score("test", boxed("x+1"), "2+x")  # the processes have started
    began = time.monotonic()
    result = compute_score("test", (READ | HANG)[name], "72", timeout_seconds=TIMEOUT)
    assert time.monotonic() - began < TIMEOUT + SLACK
    assert result["score"] == 0.0
    assert result["status"] in {"wrong", "no_answer", "timeout", "error"}
    result["predicted"].encode()


@pytest.mark.parametrize("name", READ)
def test_what_can_be_told_by_reading_is_not_computed(name: str) -> None:
    result = compute_score("test", READ[name], "72", timeout_seconds=TIMEOUT)
    assert result["status"] in {"wrong", "no_answer"}


def test_nothing_is_executed(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    for answer in code(marker):
        for gold in ("72", "x+1"):
            assert compute_score("test", boxed(answer), gold, timeout_seconds=TIMEOUT)["score"] == 0.0, answer
    assert not marker.exists()


def test_neighbours_are_graded_while_others_hang() -> None:
    """More that hang than there are processes, and right and wrong answers between them."""
    hanging = [boxed(f"(x+y+z)^{{{500 + i}}}") for i in range(4)]
    fair = [(boxed(f"x={i}"), f"{i + i % 2}", ("correct", "wrong")[i % 2]) for i in range(40)]
    with ThreadPoolExecutor(16) as threads:
        slow = [threads.submit(compute_score, "test", text, "72", timeout_seconds=TIMEOUT) for text in hanging]
        quick = [threads.submit(compute_score, "test", text, gold, timeout_seconds=TIMEOUT) for text, gold, _ in fair]
        assert [call.result()["status"] for call in quick] == [status for _, _, status in fair]
        assert {call.result()["status"] for call in slow} == {"timeout"}


@pytest.mark.parametrize(
    "response",
    [
        "\\boxed{72} \\boxed{71}",
        "\\boxed{71, 72}",
        "\\boxed{71 \\text{ or } 72}",
        "\\boxed{x}",
        "\\boxed{72 = 71}",
        "\\boxed{\\boxed{71}}",
        "\\boxed{ground_truth}",
        "\\boxed{\\text{correct}}",
        "\\boxed{\\infty}",
        "\\boxed{\\text{the answer is } 72 \\text{ or not}}",
        "<think>\\boxed{72}</think>",
        "72",
    ],
)
def test_hedging_is_not_rewarded(response: str) -> None:
    assert compute_score("test", response, "72")["score"] == 0.0
