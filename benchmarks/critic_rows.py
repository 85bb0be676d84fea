"""What it saves to put all traces about a response into one row of a critic's update (GenAC).

    python benchmarks/critic_rows.py

Runs forward and backward passes over one response and its traces, as one row and as one row a trace, with a small
Qwen3 on one core. The two ways take turns, and their gradients are compared. Prints the tokens that pass through the
model and median seconds, and the FLOPs of a step by the paper's count, at its lengths (`benchmarks.critic_costs`).
"""

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter

import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.critic_costs import Lengths, genac, ppo, vineppo
from benchmarks.table import format_table
from pacs.base.arguments import positive
from pacs.integration.exchange import Branches
from pacs.integration.trainer.critic_rows import CriticRow, Judged, Trace, critic_batch, critic_rows
from pacs.integration.worker.shared_prefix import laid_out, layout_of
from pacs.verl_keys.config import SHARED_PREFIX

VOCABULARY = 512


def make_response(tokens: int, segment: int, trace: int) -> Judged:
    """A response of random tokens, with a trace about each of its segments."""
    rng = random.Random(0)

    def some(number: int) -> list[int]:
        return [rng.randrange(VOCABULARY) for _ in range(number)]

    traces = [Trace(start, some(trace), [0.0] * trace, 0.5) for start in range(0, tokens, segment)]
    return Judged(some(200), some(tokens), some(4), 1.0, traces)


def gradient(model: Qwen3ForCausalLM, rows: Sequence[CriticRow]) -> torch.Tensor:
    """Of the sum of all traces' log-likelihoods, a row at a time; that of the first layer's queries."""
    model.zero_grad()
    for row in rows:
        batch = critic_batch([row], updates=1, ranks=1, pad=0, temperature=1.0)
        ids, positions = batch["input_ids"].values()[None], batch["position_ids"].values()[None]
        with laid_out(layout_of(Branches.unpack(batch), packed=True)):
            logits = model(ids, position_ids=positions, use_cache=False).logits[0]
        written = torch.tensor([0] * len(row.prompt) + row.mask).nonzero()[:, 0]
        log_probs = torch.log_softmax(logits[written - 1], -1).gather(-1, ids[0, written, None])
        log_probs.sum().backward()  # type: ignore[no-untyped-call]
    grad = model.model.layers[0].self_attn.q_proj.weight.grad
    assert grad is not None
    return torch.clone(grad)


def seconds_of(call: Callable[[], object]) -> float:
    """Of one call."""
    start = perf_counter()
    call()
    return perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=positive, default=1200, help="tokens of the response (default: 1200)")
    parser.add_argument("--segment", type=positive, default=120, help="tokens of a segment (default: 120)")
    parser.add_argument("--trace", type=positive, default=100, help="tokens of a trace (default: 100)")
    parser.add_argument("--repeats", type=positive, default=5, help="rounds of each way (default: 5)")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=256, intermediate_size=768, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=64, max_position_embeddings=16384, attn_implementation=SHARED_PREFIX,
    )  # fmt: skip
    model = Qwen3ForCausalLM(config)
    response = make_response(args.tokens, args.segment, args.trace)
    ways = {
        name: list(critic_rows(response, [1.0] * len(response.traces), most))
        for name, most in (("a row for each trace", 1), ("one row", sys.maxsize))
    }
    each, one = (gradient(model, rows) for rows in ways.values())
    gap = float((each - one).norm() / each.norm())
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(args.repeats):
        for name, rows in ways.items():
            times[name].append(seconds_of(lambda rows=rows: gradient(model, rows)))  # type: ignore[misc]
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    tokens = {name: sum(map(len, rows)) for name, rows in ways.items()}
    plain = "a row for each trace"
    table = [
        [name, f"{tokens[name]:,}", f"{medians[name]:.2f}", f"{tokens[name] / tokens[plain]:.2f}",
         f"{medians[name] / medians[plain]:.2f}"]
        for name in ways
    ]  # fmt: skip
    print(f"{len(response.traces)} traces of {args.trace} tokens about a response of {args.tokens}; the two gradients")
    print(f"differ by {gap:.1e} of their norm\n")
    print(format_table(["update of the critic", "tokens", "seconds", "tokens, ratio", "seconds, ratio"], table))
    lengths = Lengths()
    counts = {
        "PPO, a value head": ppo(lengths),
        "GenAC, shared everywhere": genac(lengths),
        "GenAC, a row for each trace in training": genac(lengths, trained_once=False),
        "GenAC, shared nowhere": genac(lengths, generated_once=False, trained_once=False),
        "VinePPO": vineppo(lengths),
    }
    of_ppo = [
        [name, f"{count / lengths.response:.0f}", f"{count / ppo(lengths):.2f}"] for name, count in counts.items()
    ]
    print(f"\nFLOPs of a step, counted at the paper's lengths (T = {lengths.response:g}):\n")
    print(format_table(["", "P T", "of PPO"], of_ppo))


if __name__ == "__main__":
    main()
