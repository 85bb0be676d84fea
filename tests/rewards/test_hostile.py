"""Answers made to hang, crash, fool or take over the verifier."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pacs.rewards.math import compute_score

TIMEOUT = 2.0
#: Of a busy machine.
SLACK = 3.0


#: What sympy works on for minutes.
SLOW = "\\int_0^1 \\frac{\\sin(x^x)\\ln(1+x)}{1+e^{x}} dx"


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
    "factorial of a bracket": boxed("(10^9)!"),
    "power of a product": boxed("9^{9\\cdot9^9}"),
    "powers of what is rounded": boxed("\\lceil 100 \\rceil^{1000}+\\lfloor 10^{10}x \\rfloor^{100}"),
    "a long power of i": boxed("(\\sqrt{-1})^{(i+10^{100})^{\\exp(3.7)}}"),
    "a long whole power of a root of i": boxed("(\\sqrt{i})^{2.5\\cdot e^{9000}}+0." + "7" * 150),
    "power of a root": boxed("2^{\\sqrt{10^{20}}}"),
    "binomial coefficient": boxed("\\binom{10^9}{5\\cdot10^8}"),
    "power of a sum": boxed("(x+y)^{9999}"),
    "power of a sum of three": boxed("(x+y+z)^{500}"),
    "ten nested brackets": boxed("((((((((((x+1)+1)+1)+1)+1)+1)+1)+1)+1)+1)"),
    "nested roots": boxed("\\sqrt{2+" * 9 + "2" + "}" * 9),
    "nested powers": boxed("((((((2^{99})^{99})^{99})^{99})^{99})^{99})"),
    "braces, which a parser may try in every way": boxed("{" * 9 + "x" + "}" * 9 + "{" * 9 + "x" + "}" * 9),
    "an integral": boxed(SLOW),
    "the answer and another one far behind it": boxed("72" + " " * 1000 + "8"),
    "the answer and a lot of white space in it": boxed("7" + " " * 1000 + "2"),
    "a sum of a million terms": boxed("\\sum_{k=1}^{1000000} \\frac{1}{k^3+k}"),
    "many functions of long numbers": boxed("+".join(f"\\sin(10^{{{900 + k}}})" for k in range(40))),
    "many fractions": boxed("+".join(f"\\frac{{1}}{{3^{{{k}}}+1}}" for k in range(1000, 1060))),
    "the gamma function of a long decimal": boxed("x+1+0\\cdot\\binom{x+0.5}{0." + "7" * 900 + "}"),
    "the factorial of a long decimal": boxed("(0." + "7" * 300 + ")!"),
    "signs": boxed("-" * 900 + "72"),
    "exponents with signs": boxed("2^" + "-" * 900 + "1"),
    "functions of functions": boxed("\\sin" * 230 + "x"),
    "fractions of fractions": boxed("\\frac" * 180 + "1"),
    "a list": boxed(",".join(["72"] * 300)),
    "a list of roots": boxed(",".join(f"\\sqrt{{{k}}}" for k in range(2, 90))),
    "numbers beside the open ends of intervals": boxed(
        "\\cup".join(["(\\ln2,\\pi)"] * 25 + ["\\{\\ln(2+10^{-11})\\}"] * 22)
    ),
    "conditions that are intersected": boxed(",".join(f"|x|\\ne{k}" for k in range(1, 60))),
    "cases within cases": boxed("\\begin{cases}" * 30 + "1&x>1" + "\\end{cases}" * 30),
    "residues of a long modulus": boxed("n" * 300 + "\\equiv" + "1," * 150 + "1\\pmod" + "3" * 250),
    "a parameter that is never there": boxed("2k\\pi" + ",k\\in " * 150 + "Z"),
    "a lot of words": boxed("all " * 240 + "real numbers except 0"),
    "a point of many entries": boxed("(" + ",".join(f"x_{k}" for k in range(90)) + ")=(" + "1," * 89 + "1)"),
    "a matrix": boxed("\\begin{pmatrix}" + "72&" * 300 + "72\\end{pmatrix}"),
}


@pytest.mark.parametrize("gold", ["72", "x+1", "\\sqrt{2}", "\\{1, 2\\}"])
@pytest.mark.parametrize("name", READ)
def test_it_is_over_at_once_and_scores_0(name: str, gold: str) -> None:
    """In this thread, without a process that could be killed: 2 s are for a busy machine."""
    began = time.process_time()
    result = compute_score("test", READ[name], gold)
    assert time.process_time() - began < 2
    assert result["score"] == 0.0
    assert result["status"] in {"wrong", "no_answer", "unevaluated"}
    result["predicted"].encode()


def test_what_is_slow_to_carry_out_costs_at_most_the_timeout_and_once() -> None:
    settings = {"accept_unevaluated": True, "timeout_seconds": TIMEOUT}
    assert (
        compute_score("test", boxed("\\int_0^1 2x dx"), "1", **settings)["score"] == 1.0
    )  # the processes have started
    began = time.monotonic()
    for gold in ("72", "72", "x+1"):
        assert compute_score("test", boxed(SLOW), gold, **settings)["status"] == "timeout"
    assert time.monotonic() - began < TIMEOUT + SLACK


def test_nothing_is_executed(tmp_path: Path) -> None:
    marker = tmp_path / "executed"
    for answer in code(marker):
        for gold in ("72", "x+1"):
            assert compute_score("test", boxed(answer), gold, timeout_seconds=TIMEOUT)["score"] == 0.0, answer
    assert not marker.exists()


def test_neighbours_are_graded_while_others_hang() -> None:
    """More that hang than there are processes, and right and wrong answers between them."""
    settings = {"accept_unevaluated": True, "timeout_seconds": 10.0}  # of a busy machine, for those that do not hang
    hanging = [boxed(SLOW.replace("1+x", f"{i}+x")) for i in range(2, 6)]
    fair = [(boxed(f"\\int_0^{{{i}}} 2x dx"), f"{i * i + i % 2}", ("correct", "wrong")[i % 2]) for i in range(40)]
    with ThreadPoolExecutor(16) as threads:
        slow = [threads.submit(compute_score, "test", text, "72", **settings) for text in hanging]
        quick = [threads.submit(compute_score, "test", text, gold, **settings) for text, gold, _ in fair]
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


@pytest.mark.parametrize(
    "answer",
    [
        "(5,)",
        "(,5)",
        "[1,,2]",
        "(;)",
        "\\langle,\\rangle",
        "\\setminus\\{1\\}",
        "0.\\overline{\u2074}",
        "\\arctan(i)",
        "1+0\\cdot\\arctan(i)",
        "\\sqrt[10^{400}]{-2}",
        "\\sqrt[i]{-2}",
        "\\coth(0/i)",
        "(\\coth(0))!",
        "3" + "!" * 900,
        "x" + "!" * 900,
        "a" * 1001,
    ],
)
@pytest.mark.parametrize("gold", ["72", "(5,6)", "x+1", "\\text{Monday}", "\\{1, 2\\}"])
def test_what_is_broken_or_has_no_value_is_wrong_and_raises_nothing(answer: str, gold: str) -> None:
    assert compute_score("test", boxed(answer), gold)["status"] == "wrong"
    assert compute_score("test", boxed(gold), answer)["status"] in {"wrong", "error"}
