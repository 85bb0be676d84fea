"""Sample a model with vLLM, grade each sample by the verifier of its row, and report pass@k. For a training run, a
checkpoint of it or its export (`pacs export`), the verifiers have the settings of that run.

Repeating the command resumes it: no sample is drawn twice or left out. You may add samples and tasks to DIR; another
model, other settings or other data are refused. Engines run on all GPUs of all nodes of a Ray cluster, or on the CPU.
Ctrl-C and SIGTERM keep what is finished.
Exit status: 0 finished, 1 an engine failed, 2 refused, 75 stopped on request.

Related commands:
  pacs evaluate show DIR       print samples: right, wrong, or of one problem
  pacs evaluate grade DIR      grade all samples again; needs no GPU
  pacs evaluate compare A B    compare evaluations
  pacs evaluate budgets A B    what they would have scored with fewer tokens
(Give a model in a folder called show, grade, compare or budgets as ./show and so on.)

examples:
  pacs evaluate Qwen/Qwen3-8B --tasks math500,amc23,aime24,aime25,beyondaime --out outputs/evaluation/qwen3_8b
  pacs evaluate outputs/pacs/qwen3_8b-pacs --tasks math500,aime24 --samples math500=16 --out outputs/trained
  pacs evaluate Qwen/Qwen3-8B --tasks math500 --reward-kwargs math.accept_unevaluated=true --out outputs/lenient
  pacs evaluate exported --tasks mine=data/mine/test.parquet --samples 8 --max-tokens 1024 --out outputs/mine
"""

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import cast

from pacs.base.arguments import number, positive
from pacs.base.terminal import print
from pacs.evaluation.engine import EngineFailure, EngineOptions
from pacs.evaluation.grading import HELP, OPTION, parse_given
from pacs.evaluation.process import Stopped, StopRequest
from pacs.evaluation.settings import Sampling
from pacs.evaluation.tasks import KS, NAMES, SAMPLES, parse_tasks
from pacs.rewards.reasoning import EXAMPLE, check_named
from pacs.runs.supervisor import FAILED, STOPPED

_GO_ON = "What is finished is kept; the same command goes on from there."
DEFAULT = Sampling()
SHARE = number("a number above 0, up to 1", lambda value: 0 < value <= 1)
TEMPERATURE = "temperature of the sampling; at 0 the likeliest token is taken"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    ks = ",".join(map(str, KS))
    add = parser.add_argument
    add("model", metavar="MODEL", help="a Hub name, or the folder of a model, a checkpoint or a run (its newest)")
    add_tasks(add, required=True)
    add("--out", required=True, type=Path, metavar="DIR", help="folder of the evaluation, new or to be resumed")
    about = f"k of pass@k, as 1,8,64; repeat for single tasks (default: those of {ks} up to the samples)"
    add("--k", action="append", default=[], metavar="[TASK=]K,K,...", help=about)
    add_sampling(parser.add_argument_group("sampling and grading (fixed once a folder exists)"))
    add_engines(parser.add_argument_group("engines (may differ between starts)"))


def add_tasks(add: Callable[..., object], *, required: bool = False) -> None:
    """Which problems are sampled, and how often."""
    add_problems(add, required=required)
    about = f"samples of each problem; repeat for single tasks (default: {SAMPLES})"
    add("--samples", action="append", default=[], metavar="[TASK=]N", help=about)


def add_problems(add: Callable[..., object], *, required: bool) -> None:
    """Which problems are sampled."""
    about = f"any of {', '.join(NAMES)}; or NAME=FILE.parquet for a file in verl's schema"
    add("--tasks", required=required, metavar="T,T,...", help=about)
    about = "where DIR/TASK/test.parquet is, or will be prepared (default: data)"
    add("--data", type=Path, default=Path("data"), metavar="DIR", help=about)


def add_sampling(group: argparse._ArgumentGroup, default: Sampling = DEFAULT) -> None:
    """How a model is sampled and graded: of every command that samples one."""
    add = group.add_argument
    numbers = (
        ("--temperature", number("a number of at least 0", lambda value: 0 <= value < math.inf), "T", TEMPERATURE),
        ("--top-p", SHARE, "P", "sample from the likeliest tokens that have this probability together"),
        ("--max-tokens", positive, "N", "most tokens of a response"),
        ("--seed", int, "N", "whole number from which each sample's seed is derived"),
    )
    for option, kind, metavar, about in numbers:
        value = getattr(default, option[2:].replace("-", "_"))
        add(option, type=kind, default=value, metavar=metavar, help=f"{about} (default: {value})")
    add("--no-thinking", dest="thinking", action="store_false", help="set the chat template's enable_thinking=false")
    add_reasoning(group)
    add(
        "--token-entropy",
        action="store_true",
        help="record the mean -log p of each response's tokens, which `pacs diversity` reads",
    )
    add(OPTION, action="append", default=[], metavar="VERIFIER.SETTING=VALUE", help=HELP)


def add_reasoning(group: argparse._ActionsContainer) -> None:
    """How the model marks its reasoning, and in which precision it calculates."""
    add = group.add_argument
    about = (
        f"delimiters of the model's reasoning, within which no answer counts: '{EXAMPLE}', [] for none (default: those "
        "of the model's run, else those of tokenizer, chat template and prompt)"
    )
    add("--reasoning", type=_delimiters, metavar="JSON", help=about)
    about = "dtype of the weights (default: auto, as stored)"
    add("--dtype", default="auto", choices=("auto", "bfloat16", "float16", "float32"), help=about)


def add_engines(group: argparse._ArgumentGroup) -> None:
    """Where it is sampled."""
    add = group.add_argument
    add(
        "--engines",
        type=positive,
        metavar="N",
        help="number of engines (default: as many as the GPUs allow; 1 on the CPU)",
    )
    add("--tensor-parallel", type=positive, default=1, metavar="N", help="GPUs of each engine (default: 1)")
    add(
        "--gpu-memory", type=SHARE, default=0.9, metavar="SHARE", help="share of a GPU's memory for vLLM (default: 0.9)"
    )
    add(
        "--ray-address",
        metavar="ADDRESS",
        help="Ray cluster to join, as 10.0.0.1:6379 (default: RAY_ADDRESS, else a new one)",
    )


def main(args: argparse.Namespace) -> int:
    """Evaluate; return the exit status: 0 finished, 1 an engine failed, 2 refused, 75 stopped on request."""
    # Not before there is something to do: transformers takes seconds to import.
    from pacs.evaluation.evaluate import Asked, evaluate

    def start() -> None:
        tasks = parse_tasks(args.tasks, args.data, args.samples, args.k)
        verifiers = parse_given(args.reward_kwargs)
        evaluate(
            Asked(args.model, tasks, args.data, args.out, sampling_of(args), engines_of(args), verifiers), StopRequest()
        )

    return status_of(start, "pacs evaluate")


def status_of(start: Callable[[], None], command: str) -> int:
    """Sample, and say what has ended it early; the exit status."""
    try:
        start()
    except BrokenPipeError:  # of stdout: `pacs` itself ends on it
        raise
    except (EngineFailure, OSError) as error:  # a full disk
        print(f"{command}: {error}\n  {_GO_ON}", file=sys.stderr)
        return FAILED
    except (Stopped, KeyboardInterrupt) as error:
        print(f"{command}: stopped by {str(error) or 'Ctrl-C'}\n  {_GO_ON}", file=sys.stderr)
        return STOPPED
    return 0


def sampling_of(args: argparse.Namespace) -> Sampling:
    """What the arguments of `add_sampling` ask for."""
    return Sampling(**{field.name: getattr(args, field.name) for field in fields(Sampling)})


def engines_of(args: argparse.Namespace) -> EngineOptions:
    """What the arguments of `add_engines` ask for."""
    return EngineOptions(**{field.name: getattr(args, field.name) for field in fields(EngineOptions)})


def _delimiters(text: str) -> list[list[str]] | None:
    """What --reasoning says."""
    try:
        named = json.loads(text)
    except ValueError:
        named = text
    try:
        check_named(named, "--reasoning")
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return cast("list[list[str]] | None", named)
