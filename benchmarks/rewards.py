"""How fast answers are graded, compared with plain math-verify, and what hostile ones cost.

    python benchmarks/rewards.py
    python benchmarks/rewards.py --data math_train.json math500.json     # golds of your own: json or jsonl, "answer"

Responses come in groups of 8 to a problem, about 1,200 characters long with a boxed answer at the end. Half are right,
in several notations. Of the wrong ones most have another number in the right answer's place, some another problem's
answer. "plain" is math-verify as its README shows it, without a time limit: parse the gold, parse the response, verify.
Everything is warm (math-verify's parser is ten times slower at first), and no answer was graded before. One core: this
thread and one process take turns. The pool: as many processes as cores, with requests from 16 threads.

"operations" are answers with an integral, a sum or a derivative, which sympy evaluates in a process that can be killed
(with `accept_unevaluated`; otherwise they are not evaluated at all), compared with math-verify on the same rows.

The limits: 12 times as fast as plain on one core, with verdicts that differ from math-verify's in less than 1 of 100
pairs (all are printed: units, bases and the like, which it drops); 99 of 100 answers within 5 ms; operations no slower
than math-verify without isolation; with 1% hostile answers at most twice as long as without. "5% that hang" times the
other 95%, while some answers compute until they are killed after 3 s (which costs the machine the cores they run on).
"""

import argparse
import json
import os
import random
import re
import statistics
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

from math_verify import parse, verify

from benchmarks.table import format_table
from pacs.base.arguments import positive
from pacs.rewards.answers.exact import exact
from pacs.rewards.answers.read_answer import read
from pacs.rewards.extract import last_boxed
from pacs.rewards.isolation import Limits
from pacs.rewards.math import _grade, _read_gold, _tried, compute_score

GROUP = 8
THREADS = 16
FILLER = (
    "We have $a_{n+1} = \\frac{1}{2} a_n + 3$, so by induction $a_n < 6$ for all $n$, and then \\[ x^2 + y^2 = 25. \\] "
)
HOSTILE = [
    "\\boxed{2^{2^{2^{2^{2^2}}}}}",
    "\\boxed{99999999!}",
    "\\boxed{1}" * 20_000,
    "word " * 400_000 + "\\boxed{71}",
    "\\boxed{" + "{" * 3000 + "72" + "}" * 3000 + "}",
    "\\boxed{__import__('os').system('true')}",
    "\\boxed{7\udcff2}",
]
HANGING = [f"\\boxed{{\\int_0^1 \\frac{{\\sin(x^x)\\ln({k}+x)}}{{1+e^{{x}}}} dx}}" for k in range(1, 1000)]
OPERATIONS = ["\\int_0^{{{}}} 2x dx", "\\sum_{{k=1}}^{{{}}} (2k-1)", "\\lim_{{x\\to 0}} \\frac{{{0}^2 \\sin x}}{{x}}"]

Rows = list[tuple[str, str]]


def made_up_golds(random_: random.Random) -> list[str]:
    """In the shares of the MATH training set: 65% integers, 13% fractions, the rest takes algebra."""
    golds = []
    for _ in range(400):
        a, b, c = (random_.randint(2, 99) for _ in range(3))
        algebra = [
            f"{a}\\sqrt{{{b}}}",
            f"({a},{b})",
            f"x^2-{a}x+{b}",
            f"[{a},\\infty)",
            f"\\frac{{{a}\\pi}}{{{b}}}",
            f"{a}+{b}i",
        ]
        kind = random_.random()
        golds.append(f"{a * b}" if kind < 0.65 else f"\\frac{{{a}}}{{{b}}}" if kind < 0.78 else algebra[c % 6])
    return golds


def read_golds(files: Sequence[Path]) -> list[str]:
    """The answers of json and jsonl files."""
    golds = []
    for file in files:
        text = file.read_text()
        rows = [json.loads(line) for line in text.splitlines()] if file.suffix == ".jsonl" else json.loads(text)
        golds += [str(row["answer"]) for row in rows if str(row["answer"])]
    return golds


def answer_to(gold: str, golds: Sequence[str], random_: random.Random) -> str:
    """A model's answer: right half of the time."""
    if random_.random() < 0.5:
        return random_.choice(
            [gold, gold, gold, gold, f"${gold}$", gold.replace("\\frac", "\\dfrac"), gold.replace(" ", ""), f"x={gold}"]
        )
    numbers = list(re.finditer(r"\d+", gold))
    if not numbers or random_.random() < 0.2:
        return random_.choice(golds)
    changed = random_.choice(numbers)
    return f"{gold[: changed.start()]}{int(changed[0]) + random_.randint(1, 9)}{gold[changed.end() :]}"


def responses_to(golds: Sequence[str], answers: int, random_: random.Random) -> Rows:
    """(response, gold), in groups."""
    rows = []
    for gold in random_.choices(golds, k=answers // GROUP):
        for _ in range(GROUP):
            working = FILLER * random_.randint(6, 16)
            rows.append((f"{working}So the answer is \\boxed{{{answer_to(gold, golds, random_)}}}.", gold))
    return rows


def with_share(rows: Rows, others: Sequence[str], share: float, random_: random.Random) -> Rows:
    """The rows with a share of the responses replaced."""
    changed = list(rows)
    for place in random_.sample(range(len(rows)), round(share * len(rows))):
        changed[place] = (random_.choice(others), rows[place][1])
    return changed


def plain(response: str, gold: str) -> object:
    """math-verify alone."""
    return verify(
        parse(f"\\boxed{{{gold}}}", parsing_timeout=None), parse(response, parsing_timeout=None), timeout_seconds=None
    )


def one_by_one(grade_one: Callable[[str, str], object], rows: Rows) -> tuple[float, list[float]]:
    """Seconds in all, and milliseconds of each."""
    times = []
    for response, gold in rows:
        start = perf_counter()
        grade_one(response, gold)
        times.append(1000 * (perf_counter() - start))
    return sum(times) / 1000, times


def operations(count: int, random_: random.Random) -> Rows:
    """Rows whose answers have to be carried out, all of them different; half of them right."""
    rows = []
    for k in random_.sample(range(2, 10_000), count):
        right = random_.random() < 0.5
        rows.append((f"It is \\boxed{{{random_.choice(OPERATIONS).format(k)}}}.", str(k * k + (not right))))
    return rows


def forget() -> None:
    """No answer has been seen."""
    for cache in (_grade, _read_gold, _tried, read, exact):
        cache.cache_clear()


def ours(limits: Limits, *, lenient: bool = False) -> Callable[[str, str], object]:
    """This project's verifier."""
    return lambda response, gold: compute_score("", response, gold, accept_unevaluated=lenient, **vars(limits))


def pooled(rows: Rows, limits: Limits, *, lenient: bool = False, apart: Sequence[str] = ()) -> float:
    """Seconds until the pool has graded all rows but those of the responses that are `apart`."""
    forget()
    start = perf_counter()
    grade_one = ours(limits, lenient=lenient)
    with ThreadPoolExecutor(THREADS) as threads:
        slow = [threads.submit(grade_one, *row) for row in rows if row[0] in apart]
        quick = [threads.submit(grade_one, *row) for row in rows if row[0] not in apart]
        for call in quick:
            call.result()
        seconds = perf_counter() - start
        for call in slow:
            call.result()
    return seconds


def different(rows: Rows) -> Rows:
    """A row of each pair of an answer and a gold: the same pair behind other words is judged alike."""
    return list({(last_boxed(response), gold): (response, gold) for response, gold in rows}.values())


def disagreements(rows: Rows) -> list[tuple[str, str, str]]:
    """(answer, gold, our status) of the rows that math-verify judges otherwise."""
    other = []
    for response, gold in rows:
        status = str(compute_score("", response, gold)["status"])
        try:
            theirs = bool(plain(response, gold))
        except Exception:
            theirs = False
        if theirs != (status == "correct"):
            other.append((last_boxed(response) or "", gold, status))
    return other


def percentile(times: Sequence[float], share: float) -> float:
    """Of sorted or unsorted times."""
    return sorted(times)[min(int(share * len(times)), len(times) - 1)]


def main() -> int:
    """Print the tables; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--data", nargs="+", type=Path, default=[], metavar="FILE", help="files of golds (default: generated ones)"
    )
    parser.add_argument("--answers", type=positive, default=2000, help="responses a measurement (default: 2000)")
    parser.add_argument(
        "--repeats", type=positive, default=3, help="of each measurement; medians are shown (default: 3)"
    )
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random_ = random.Random(options.seed)
    golds = read_golds(options.data) or made_up_golds(random_)
    one, pool = Limits(workers=1), Limits(workers=os.cpu_count() or 1)
    for response, gold in [*responses_to(golds, options.answers, random_), *operations(20, random_)]:
        plain(response, gold)
    for limits in (one, pool):
        pooled(operations(20, random_), limits, lenient=True)

    seconds: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        rows, hard = responses_to(golds, options.answers, random_), operations(options.answers // 20, random_)
        for name, call, some in (
            ("plain math-verify", plain, rows),
            ("ours, one core", ours(one), rows),
            ("operations, plain math-verify", plain, hard),
            ("operations, ours, isolated", ours(one, lenient=True), hard),
        ):
            forget()
            total, each = one_by_one(call, some)
            seconds.setdefault(name, []).append(total / len(some))
            times.setdefault(name, []).extend(each)
        for name, others, share in (("pool", [], 0.0), ("pool, 1% hostile", HOSTILE, 0.01)):
            new = responses_to(golds, options.answers, random_)
            seconds.setdefault(name, []).append(pooled(with_share(new, others, share, random_), pool) / len(new))
        for name, share in (("pool of operations", 0.0), ("pool of operations, 5% that hang", 0.05)):
            new = operations(options.answers // 10, random_)
            mixed = with_share(new, HANGING, share, random_) if share else new
            took = pooled(mixed, pool, lenient=True, apart=HANGING)
            seconds.setdefault(name, []).append(took / len(new) / (1 - share))

    median = {name: statistics.median(values) for name, values in seconds.items()}
    table = []
    for name, value in median.items():
        against = median["operations, plain math-verify" if "operations" in name else "plain math-verify"]
        latency = [f"{percentile(times[name], q):.3f}" for q in (0.5, 0.99)] if name in times else ["", ""]
        table.append([name, f"{1 / value:,.0f}", f"{against / value:.1f}", *latency])
    print(format_table(["", "answers/s", "times plain", "p50 ms", "p99 ms"], table))
    rows = different(responses_to(golds, options.answers * 2, random_))
    other = disagreements(rows)
    print(f"\njudged otherwise than by math-verify: {len(other)} of {len(rows):,} pairs")
    for answer, gold, status in other:
        print(f"  {answer} for {gold}: {status}")
    met = {
        "12 times plain on one core": median["plain math-verify"] / median["ours, one core"] >= 12,
        "verdicts differ in less than 1%": len(other) < 0.01 * len(rows),
        "p99 under 5 ms": percentile(times["ours, one core"], 0.99) < 5,
        "operations no slower": median["operations, ours, isolated"] <= median["operations, plain math-verify"],
        "hostile at most twice as long": median["pool, 1% hostile"] <= 2 * median["pool"],
    }
    print("bars: " + "; ".join(f"{bar}: {'met' if is_met else 'MISSED'}" for bar, is_met in met.items()))
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
