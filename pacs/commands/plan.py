"""Estimate memory and time of a training step: parameters, gradients, Adam, activations, logits, vLLM and its cache,
passes over tokens, bytes moved. The run is composed as `pacs train` composes it, without Ray or a GPU. If a phase does
not fit, the plan names settings that make it fit, each on its own. docs/scaling.md says what the estimated times
assume, and what was measured.
Exit status: 0 it fits, 1 it does not, 2 it cannot be planned.

examples:
  pacs plan recipe=qwen3_8b
  pacs plan recipe=qwen3_8b trainer.nnodes=2 --mean-response-tokens 3000
  pacs plan recipe=qwen3_8b --lengths outputs/evaluation/qwen3_8b
  pacs plan --gpu h100 recipe=qwen3_8b actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384
"""

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pacs.base.arguments import number
from pacs.base.errors import UserError
from pacs.base.files import write_json
from pacs.base.terminal import print

if TYPE_CHECKING:
    from pacs.planning.plan import Plan
    from pacs.planning.workload import Workload


#: Too many of them, or none, are refused by the run's own limit.
TOKENS = number("a number of tokens, as 3000", lambda value: True)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--config-name", default="pacs", metavar="NAME", help="the algorithm, as grpo (default: pacs)")
    about = "GPU to plan for: h200, h100 or a100 (default: the one in the name of hardware=)"
    parser.add_argument("--gpu", metavar="NAME", help=about)
    lengths = parser.add_mutually_exclusive_group()
    about = "mean length of a response, in tokens (default: half of data.max_response_length)"
    lengths.add_argument("--mean-response-tokens", type=TOKENS, metavar="N", help=about)
    about = "observed lengths: the folder of an evaluation or a run, a file of either, or a file of numbers"
    lengths.add_argument("--lengths", type=Path, metavar="PATH", help=about)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the plan to FILE, as JSON")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings of the run, as for `pacs train`")


def main(args: argparse.Namespace) -> int:
    """Print the plan."""
    # verl and Hydra take seconds to import.
    from pacs.composing import compose_run
    from pacs.planning.observed_lengths import find_lengths
    from pacs.planning.plan import make_plan
    from pacs.planning.plan_text import full

    config, hardware = compose_run(args.config_name, args.overrides)
    plan = make_plan(
        config,
        hardware=hardware,
        gpu=args.gpu,
        mean_response_tokens=args.mean_response_tokens,
        lengths=find_lengths(config, args.lengths),
    )
    if args.json:
        try:
            write_json(args.json, as_json(plan))
        except OSError as error:
            raise UserError(f"--json {args.json} cannot be written ({error.strerror}): choose another file") from error
    print(full(plan))
    return 0 if plan.fits else 1


def as_json(plan: "Plan") -> dict[str, object]:
    """The plan for programs; bytes and seconds."""
    from pacs.planning.generation import generation
    from pacs.planning.weight_sync import weight_sync_seconds

    work = plan.work
    return {
        "fits": plan.fits,
        "workload": _workload(work),
        "generation": asdict(generation(work)) if plan.seconds else {},
        "weight_sync": weight_sync_seconds(work) if plan.seconds else {},
        "phases": [asdict(phase) | {"total": phase.total, "fits": phase.fits} for phase in plan.phases],
        "seconds": plan.seconds,
        "mends": plan.mends,
        "gains": plan.gains,
    }


def _workload(work: "Workload") -> dict[str, object]:
    """With what lengths come to in their place; a generative critic's part of it likewise."""
    import numpy as np

    lengths = {"prompts": work.lengths.prompts, "responses": work.lengths.responses}
    told = {
        name: {"mean": float(tokens.mean())} | {f"p{part}": float(np.percentile(tokens, part)) for part in (50, 90, 99)}
        for name, tokens in lengths.items()
    }
    parts = {name: part and _workload(part) for name, part in (("judge", work.judge), ("asked", work.asked))}
    return asdict(work) | {"lengths": {"source": work.lengths.source} | told} | parts
