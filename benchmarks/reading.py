"""What an update of the laboratory costs: each response read with its prompt, or prompts read once for all responses.

    python benchmarks/reading.py

Computes the log-probabilities of a mini-batch's responses and their gradient, on each task of the laboratory, with the
task's cached start. First way: full sequences, batched by length. Second: `recipes.laboratory.reading`, where the
responses of a prompt share its pass. One thread, the two in turn. Prints medians over the rounds in seconds of
processor time, with ratios to the first way, and the difference of the two gradients.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
from torch.nn.functional import pad
from transformers import PreTrainedModel

from benchmarks.table import format_table
from pacs.base.arguments import positive
from pacs.base.errors import UserError
from recipes.laboratory.beginning import Beginning, read_beginning
from recipes.laboratory.reading import log_probs
from recipes.laboratory.sampling import Samples, sample
from recipes.laboratory.starts import start_of

TASKS = ("arithmetic_mixed", "countdown", "chain_sums")
#: Sequences of a whole pass.
ROWS = 32


def full_sequences(model: PreTrainedModel, samples: Samples) -> torch.Tensor:
    """(B, T) log-probabilities of the response tokens, each from a pass over prompt and response."""
    order = samples.response_mask.sum(1).argsort(stable=True)
    width, parts = samples.response_mask.shape[1], []
    for rows in order.split(ROWS):
        part = samples.of(rows)
        longest = part.response_mask.shape[1]
        positions = (part.attention_mask.cumsum(1) - 1).clamp(min=0)
        given = {"input_ids": part.ids, "attention_mask": part.attention_mask, "position_ids": positions}
        known = model(**given, logits_to_keep=longest + 1).logits[:, :-1].log_softmax(-1)
        of_tokens = known.gather(-1, part.ids[:, -longest:, None])[..., 0]
        parts.append(pad(torch.where(part.response_mask, of_tokens, 0), (0, width - longest)))
    return torch.cat(parts)[order.argsort()]


def beginning_of(task: str, prompts: int) -> Beginning:
    """The task's kept start, whose training problems are at least so many."""
    with tempfile.TemporaryDirectory() as folder:
        return read_beginning(start_of(task, 0, Path(folder)), prompts=prompts, split="test", problems=1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=positive, default=16, help="prompts of a mini-batch (default: 16)")
    parser.add_argument("--responses", type=positive, default=8, help="responses to each prompt (default: 8)")
    parser.add_argument("--rounds", type=positive, default=5, help="(default: 5)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    table = []
    try:
        beginnings = {task: beginning_of(task, args.prompts) for task in TASKS}
    except UserError as error:
        parser.error(f"argument --prompts: {error}")
    for task, begun in beginnings.items():
        samples = sample(
            begun.policy,
            begun.tokenizer,
            begun.train.of(list(range(args.prompts))).messages,
            samples=args.responses,
            max_tokens=begun.max_response_tokens,
            generator=torch.Generator().manual_seed(0),
        )
        seconds_by_way: dict[str, list[float]] = {"whole": [], "shared": []}
        gradients = {}
        for _ in range(args.rounds):
            for name, way in (("whole", full_sequences), ("shared", log_probs)):
                began = time.process_time()
                gradients[name] = torch.autograd.grad(way(begun.policy, samples).sum(), list(begun.policy.parameters()))
                seconds_by_way[name].append(time.process_time() - began)
        medians = {name: statistics.median(times) for name, times in seconds_by_way.items()}
        one, other = (torch.cat([part.flatten() for part in gradients[name]]) for name in medians)
        tokens = samples.attention_mask.sum() / len(samples), samples.response_mask.sum() / len(samples)
        ratios = [f"{median:.3f} ({median / medians['whole']:.2f})" for median in medians.values()]
        table.append([task, *(f"{mean:.0f}" for mean in tokens), *ratios, f"{(one - other).norm() / one.norm():.0e}"])
    print(f"{args.prompts} prompts, {args.responses} responses to each")
    print(format_table(["task", "tokens", "of the response", "whole, s", "shared, s", "apart"], table))


if __name__ == "__main__":
    main()
