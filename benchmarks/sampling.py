"""How fast the laboratory samples many responses to a problem, as rows of a batch and as a tree.

    python benchmarks/sampling.py

Samples the same problems of each task of the laboratory with the task's cached start, in three ways, in turn:
`model.generate` of transformers, which copies a prompt for each sample; `recipes.laboratory.sampling`, which reads a
prompt once and drops responses that have ended; `recipes.laboratory.counting`, which reads prefixes that samples share
once. One thread. Prints medians over the rounds in seconds of processor time, with ratios to the second way, and how
many of the samples differ: the fewer, the more the tree saves.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from benchmarks.table import format_table
from pacs.base.arguments import positive
from recipes.laboratory.beginning import Beginning, read_beginning
from recipes.laboratory.counting import count
from recipes.laboratory.sampling import encode, sample
from recipes.laboratory.starts import start_of

TASKS = ("arithmetic_mixed", "countdown", "chain_sums")
#: Prompts that `model.generate` is given at a time.
PROMPTS = 4


def by_generate(begun: Beginning, samples: int) -> None:
    """Sample as transformers does it, some prompts at a time."""
    messages = begun.evaluated.messages
    for first in range(0, len(messages), PROMPTS):
        ids, mask = encode(begun.tokenizer, messages[first : first + PROMPTS])
        begun.policy.generate(
            input_ids=ids,
            attention_mask=mask,
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            num_return_sequences=samples,
            max_new_tokens=begun.max_response_tokens,
            pad_token_id=begun.tokenizer.pad_token_id,
        )


def seconds(work: Callable[[], object]) -> float:
    """Processor time of a call."""
    began = time.process_time()
    with torch.no_grad():
        work()
    return time.process_time() - began


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=positive, default=16, help="problems of each task (default: 16)")
    parser.add_argument("--samples", type=positive, default=256, help="samples of each problem (default: 256)")
    parser.add_argument("--rounds", type=positive, default=3, help="(default: 3)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for task in TASKS:
        with tempfile.TemporaryDirectory() as folder:
            begun = read_beginning(start_of(task, 0, Path(folder)), prompts=1, split="test", problems=args.problems)
        given = (begun.policy, begun.tokenizer, begun.evaluated.messages)
        how = {"samples": args.samples, "max_tokens": begun.max_response_tokens}
        drawn_once = count(*given, **how, generator=torch.Generator().manual_seed(0))
        ways: dict[str, Callable[[], object]] = {
            "generate": partial(by_generate, begun, args.samples),
            "rows": partial(sample, *given, **how, generator=torch.Generator()),
            "tree": partial(count, *given, **how, generator=torch.Generator()),
        }
        seconds_by_way: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(args.rounds):
            for name, way in ways.items():
                seconds_by_way[name].append(seconds(way))
        medians = {name: statistics.median(times) for name, times in seconds_by_way.items()}
        differ = sum(map(len, drawn_once.texts)) / (args.problems * args.samples)
        rows.append([task, f"{differ:.2f}", *(f"{m:.2f} ({m / medians['rows']:.2f})" for m in medians.values())])
    print(f"{args.problems} problems, {args.samples} samples of each")
    print(format_table(["task", "differ", "generate, s", "rows, s", "tree, s"], rows))


if __name__ == "__main__":
    main()
