"""How long the equations of PACS take on one core, without a model.

    python benchmarks/loss.py

For a train batch of 8,192 responses in groups of 8, times `score_responses`, which turns (B,) log-ratios into scores,
weights, losses and effective advantages, and its parts, for each estimator; the total must stay under 5 ms. It also
times `sequence_log_ratios`, the sum over tokens, and compares it with reading its inputs once (a plain torch sum over
as many bytes). Prints medians in milliseconds.
"""

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Literal

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.table import format_table
from pacs.algorithm import (
    Pacs,
    batch_constants,
    score_responses,
    sequence_log_ratios,
)
from pacs.base.arguments import positive

ESTIMATORS: tuple[Literal["rloo", "grpo", "dr_grpo", "none"], ...] = ("rloo", "grpo", "dr_grpo", "none")
WHOLE_BAR_MS = 5.0
WARM_UP_CALLS = 3


def median_ms(call: Callable[[], object], repeats: int) -> float:
    """Median time of a call, in milliseconds."""
    times = []
    for _ in range(WARM_UP_CALLS + repeats):
        start = perf_counter()
        call()
        times.append(1000 * (perf_counter() - start))
    return statistics.median(times[WARM_UP_CALLS:])


def time_rows(rows: int, group: int, repeats: int) -> dict[str, float]:
    """Median of everything that is a value a row: name -> milliseconds."""
    ids = torch.arange(rows)[torch.randperm(rows)] // group
    log_ratios = 0.3 * torch.randn(rows)
    labels = torch.randint(0, 2, (rows,)).float()
    lengths = torch.randint(1, 8193, (rows,))

    def scoring(config: Pacs) -> Callable[[], object]:
        return lambda: score_responses(log_ratios, lengths, labels, ids, config)

    calls: dict[str, Callable[[], object]] = {
        f"score_responses, {estimator}": scoring(Pacs(estimator=estimator)) for estimator in ESTIMATORS
    }
    calls["  batch_constants"] = lambda: batch_constants(labels, ids, Pacs())
    return {name: median_ms(call, repeats) for name, call in calls.items()}


def time_tokens(rows: int, tokens: int, repeats: int) -> tuple[float, float, float]:
    """The token sum, a plain sum over as many bytes (both in milliseconds), and the bytes of its inputs in GB."""
    log_probs = -torch.rand(rows, tokens)
    reference = -torch.rand(rows, tokens)
    mask = torch.arange(tokens) < torch.randint(1, tokens + 1, (rows, 1))
    size = sum(tensor.numel() * tensor.element_size() for tensor in (log_probs, reference, mask))
    as_many = torch.ones(size // 4)
    ours = median_ms(lambda: sequence_log_ratios(log_probs, reference, mask), repeats)
    return ours, median_ms(as_many.sum, repeats), size / 1e9


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=positive, default=8192, help="responses, a multiple of --group (default: 8192)")
    parser.add_argument("--group", type=positive, default=8, help="responses a prompt (default: 8)")
    parser.add_argument(
        "--tokens", type=positive, default=2048, help="tokens of a response, for the token sum (default: 2048)"
    )
    parser.add_argument("--repeats", type=positive, default=50, help="timed calls of each (default: 50)")
    a = parser.parse_args()
    if a.rows % a.group:
        parser.error(f"--rows {a.rows} is not a multiple of --group {a.group}")

    torch.set_num_threads(1)
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, 1 thread, {a.rows:,} responses in groups of {a.group}\n", flush=True)
    lines = []
    for name, median in time_rows(a.rows, a.group, a.repeats).items():
        scoring = name.startswith("score_responses")
        bar = [f"{WHOLE_BAR_MS:.0f}", f"{median / WHOLE_BAR_MS:.2f}", verdict(median)] if scoring else ["", "", ""]
        lines.append([name, f"{median:.3f}", *bar])
    print(format_table(["a value a response", "ms", "bar, ms", "of the bar", ""], lines) + "\n", flush=True)

    ours, read_once, gigabytes = time_tokens(a.rows, a.tokens, max(5, a.repeats // 5))
    rate = gigabytes / read_once * 1000
    lines = [
        ["sequence_log_ratios", f"{ours:.1f}", f"{ours / read_once:.2f}"],
        [f"reading its {gigabytes:.2f} GB once, at {rate:.1f} GB/s", f"{read_once:.1f}", "1.00"],
    ]
    print(format_table([f"{a.rows:,} x {a.tokens:,} tokens, fp32", "ms", "of the memory bound"], lines))


def verdict(median: float) -> str:
    """Whether the whole stays under its bar."""
    return "pass" if median < WHOLE_BAR_MS else "FAIL"


if __name__ == "__main__":
    main()
