r"""How fast answers are graded, beside plain math-verify, and what hostile ones cost.

    python benchmarks/rewards.py
    python benchmarks/rewards.py --data math_train.json math500.json     # golds of your own: json or jsonl, "answer"

Responses in groups of 8 to a problem, about 1,200 characters long with the answer in a box at the end; half of them
right, in several ways of writing, the others wrong: most with another number in the right answer's place, some another
problem's answer. "plain" is math-verify as its README shows it, without a time limit: parse the gold, parse the
response, verify. Everything is warm (math-verify's parser is ten times slower at first), and no answer has been seen.
One core: this thread and one process take turns. The pool: as many processes as cores, asked by 16 threads.

The bars: 5 times plain on one core; 99 of 100 answers of the fast path within 5 ms; with 1% hostile answers at most
twice as long. Answers that hang until they are killed are shown beside it (a timeout of 3 s each).
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
from pacs.rewards.equality import equal
from pacs.rewards.extract import last_boxed
from pacs.rewards.isolation import Limits
from pacs.rewards.math import _equal, compute_score
from pacs.rewards.notation import bare
from pacs.rewards.shortcut import grade_without_algebra

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
HANGING = ["\\boxed{(10^9)!}", "\\boxed{(x+y+z)^{500}}", "\\boxed{\\int_0^1 e^{\\sin(x^{x})} dx}"]

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


def pooled(rows: Rows, limits: Limits) -> float:
    """Seconds in which the pool grades all rows, none of which it has seen."""
    _equal.cache_clear()
    start = perf_counter()
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(lambda row: compute_score("", *row, **vars(limits)), rows))
    return perf_counter() - start


def disagreements(rows: Rows) -> tuple[int, list[tuple[str, str]]]:
    """How many pairs the fast path decides, and those of them that math-verify decides otherwise."""
    pairs = {(bare(last_boxed(response) or ""), bare(gold)) for response, gold in rows}
    decided = {pair: verdict for pair in pairs if (verdict := grade_without_algebra(*pair))}
    other = []
    for (predicted, gold), verdict in decided.items():
        try:
            same = (verdict == "correct") == equal(predicted, gold)
        except Exception:
            same = False
        if not same:
            other.append((predicted, gold))
    return len(decided), other


def percentile(times: Sequence[float], share: float) -> float:
    """Of sorted or unsorted times."""
    return sorted(times)[min(int(share * len(times)), len(times) - 1)]


def main() -> int:
    """Print the tables; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", type=Path, default=[], metavar="FILE", help="golds (default: made up)")
    parser.add_argument("--answers", type=int, default=2000, help="responses a measurement (default: 2000)")
    parser.add_argument("--repeats", type=int, default=3, help="of each measurement; medians are shown (default: 3)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random_ = random.Random(options.seed)
    golds = read_golds(options.data) or made_up_golds(random_)
    one, pool = Limits(workers=1), Limits(workers=os.cpu_count() or 1)
    warm_up = responses_to(golds, options.answers, random_)
    for response, gold in warm_up:
        plain(response, gold)
    for limits in (one, pool):
        pooled(warm_up, limits)

    seconds: dict[str, list[float]] = {}
    times: dict[str, list[float]] = {"plain math-verify": [], "ours, one core": [], "  of these: fast path": []}
    for _ in range(options.repeats):
        rows = responses_to(golds, options.answers, random_)
        fast = [row for row in rows if grade_without_algebra(bare(last_boxed(row[0]) or ""), bare(row[1]))]
        _equal.cache_clear()
        for name, call, some in (
            ("plain math-verify", plain, rows),
            ("ours, one core", lambda response, gold: compute_score("", response, gold, **vars(one)), rows),
            ("  of these: fast path", lambda response, gold: compute_score("", response, gold, **vars(one)), fast),
        ):
            _equal.cache_clear()
            total, each = one_by_one(call, some)
            seconds.setdefault(name, []).append(total / len(some))
            times[name] += each
        for name, others, share in (
            ("pool", HOSTILE, 0.0),
            ("pool, 1% hostile", HOSTILE, 0.01),
            ("pool, 0.2% that hang", HANGING, 0.002),
        ):
            new = responses_to(golds, options.answers, random_)
            seconds.setdefault(name, []).append(pooled(with_share(new, others, share, random_), pool) / len(new))

    median = {name: statistics.median(values) for name, values in seconds.items()}
    plain_rate = 1 / median["plain math-verify"]
    table = []
    for name, value in median.items():
        latency = [f"{percentile(times[name], q):.3f}" for q in (0.5, 0.99)] if name in times else ["", ""]
        table.append([name, f"{1 / value:,.0f}", f"{1 / value / plain_rate:.1f}", *latency])
    print(format_table(["", "answers/s", "times plain", "p50 ms", "p99 ms"], table))
    share = len(times["  of these: fast path"]) / len(times["ours, one core"])
    slower = median["pool, 1% hostile"] / median["pool"]
    decided, other = disagreements(responses_to(golds, options.answers * 4, random_))
    print(f"\nfast path: {share:.0%} of the answers; of {decided:,} pairs that it decides, {len(other)} otherwise than")
    print(f"math-verify {other[:5] if other else ''}")
    print(f"1% hostile answers: {slower:.2f} times as long")
    met = {
        "5 times plain on one core": median["plain math-verify"] / median["ours, one core"] >= 5,
        "fast path p99 under 5 ms": percentile(times["  of these: fast path"], 0.99) < 5,
        "hostile at most twice as long": slower <= 2,
        "the fast path agrees": not other,
    }
    print("bars: " + "; ".join(f"{bar}: {'met' if is_met else 'MISSED'}" for bar, is_met in met.items()))
    return 0 if all(met.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
