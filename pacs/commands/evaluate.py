"""`pacs evaluate MODEL --tasks ... --out DIR`, and the subcommands beside it."""

import argparse
import json
import math
import sys
from dataclasses import fields
from pathlib import Path
from typing import cast

from pacs.base.errors import UserError
from pacs.base.terminal import print
from pacs.evaluation.engine import EngineFailure, EngineOptions
from pacs.evaluation.grading import HELP, OPTION, parse_given
from pacs.evaluation.process import Stopped, StopRequest
from pacs.evaluation.settings import Sampling
from pacs.evaluation.tasks import KS, NAMES, SAMPLES, parse_tasks
from pacs.rewards.reasoning import EXAMPLE, check_named
from pacs.runs.supervisor import FAILED, STOPPED

DESCRIPTION = f"""\
Sample a model with vLLM, grade each sample by the verifier of its row, and report pass@k. Of a training run, a
checkpoint of it or its export (`pacs export`), the verifiers have the settings that the run graded with.

The same command goes on where it stopped: no sample is drawn twice, and none is left out. More samples and more
tasks may be added to DIR; another model, other settings and other data are refused. Engines run on all GPUs of all
nodes of a Ray cluster, or on the CPU. Ctrl-C and SIGTERM keep what is finished, and exit with status 75.

Beside it:
  pacs evaluate show DIR       page through samples: right, wrong, of one problem
  pacs evaluate grade DIR      grade all samples again; needs no GPU
  pacs evaluate compare A B    models side by side
(A model in a folder of such a name is given as ./show.)

Tasks: {", ".join(NAMES)}
"""

EXAMPLES = """\
examples:
  pacs evaluate Qwen/Qwen3-8B --tasks math500,amc23,aime24,aime25,beyondaime --out outputs/evaluation/qwen3_8b
  pacs evaluate outputs/pacs/qwen3_8b-pacs --tasks math500,aime24 --samples math500=16 --out outputs/trained
  pacs evaluate Qwen/Qwen3-8B --tasks math500 --reward-kwargs math.accept_unevaluated=true --out outputs/lenient
  pacs evaluate exported --tasks mine=data/mine/test.parquet --samples 8 --max-tokens 1024 --out outputs/mine
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    default = Sampling()
    add = parser.add_argument
    add("model", metavar="MODEL", help="a Hub name, a model's folder, a training checkpoint, or a run: its newest one")
    add("--tasks", required=True, metavar="T,T,...", help="names, and NAME=FILE.parquet for files in verl's schema")
    add("--out", required=True, type=Path, metavar="DIR", help="folder of the evaluation, new or to go on with")
    add(
        "--data",
        type=Path,
        default=Path("data"),
        metavar="DIR",
        help="where DIR/TASK/test.parquet of the tasks is, or is prepared (default: data)",
    )
    add(
        "--samples",
        action="append",
        default=[],
        metavar="[TASK=]N",
        help=f"of each problem; again for one task (default: {SAMPLES})",
    )
    add(
        "--k",
        action="append",
        default=[],
        metavar="[TASK=]K,K,...",
        help=f"of pass@k; again for one task (default: {','.join(map(str, KS))}, those up to the samples)",
    )
    how = parser.add_argument_group("sampling and grading (what a folder was made with is not changed)")
    how.add_argument(
        "--temperature", type=float, default=default.temperature, metavar="T", help=f"default: {default.temperature}"
    )
    how.add_argument("--top-p", type=float, default=default.top_p, metavar="P", help=f"default: {default.top_p}")
    how.add_argument(
        "--max-tokens",
        type=int,
        default=default.max_tokens,
        metavar="N",
        help=f"of a response (default: {default.max_tokens})",
    )
    how.add_argument(
        "--seed", type=int, default=default.seed, metavar="N", help="every sample's own seed comes of it (default: 0)"
    )
    how.add_argument(
        "--no-thinking", dest="thinking", action="store_false", help="the chat template's enable_thinking=false"
    )
    how.add_argument(
        "--reasoning",
        type=_delimiters,
        metavar="JSON",
        help=f"the delimiters of the model's reasoning, in which no answer counts: '{EXAMPLE}', [] for none (default: "
        "as the model's run named them, else what tokenizer, chat template and prompt say)",
    )
    how.add_argument("--token-entropy", action="store_true", help="record the entropy of each response's tokens")
    how.add_argument(
        "--dtype",
        default="auto",
        choices=("auto", "bfloat16", "float16", "float32"),
        help="of the weights (default: auto, as they are stored)",
    )
    how.add_argument(OPTION, action="append", default=[], metavar="VERIFIER.SETTING=VALUE", help=HELP)
    where = parser.add_argument_group("engines (may change from start to start)")
    where.add_argument("--engines", type=int, metavar="N", help="default: as many as GPUs allow; one on the CPU")
    where.add_argument("--tensor-parallel", type=int, default=1, metavar="N", help="GPUs of one engine (default: 1)")
    where.add_argument(
        "--gpu-memory", type=float, default=0.9, metavar="SHARE", help="of a GPU, for vLLM (default: 0.9)"
    )
    where.add_argument(
        "--ray-address", metavar="ADDRESS", help="a Ray cluster to join (default: RAY_ADDRESS, or one of its own)"
    )


def main(args: argparse.Namespace) -> int:
    """Evaluate; return the exit status: 0 finished, 1 an engine failed, 2 refused, 75 stopped on request."""
    # Not before there is something to do: transformers takes seconds to import.
    from pacs.evaluation.evaluate import Asked, evaluate

    try:
        _check(args)
        sampling = Sampling(**{field.name: getattr(args, field.name) for field in fields(Sampling)})
        options = EngineOptions(**{field.name: getattr(args, field.name) for field in fields(EngineOptions)})
        tasks = parse_tasks(args.tasks, args.data, args.samples, args.k)
        verifiers = parse_given(args.reward_kwargs)
        evaluate(Asked(args.model, tasks, args.data, args.out, sampling, options, verifiers), StopRequest())
    except BrokenPipeError:  # of stdout: `pacs` itself ends on it
        raise
    except (EngineFailure, OSError) as error:  # a full disk
        print(f"pacs evaluate: {error}\n  {_GO_ON}", file=sys.stderr)
        return FAILED
    except (Stopped, KeyboardInterrupt) as error:
        print(f"pacs evaluate: stopped by {str(error) or 'Ctrl-C'}\n  {_GO_ON}", file=sys.stderr)
        return STOPPED
    return 0


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


_GO_ON = "What is finished is kept; the same command goes on from there."


def _check(args: argparse.Namespace) -> None:
    """Raise `UserError` if a number is out of its range."""
    bounds = {
        "temperature": (0 <= args.temperature < math.inf, "a number of at least 0"),
        "top-p": (0 < args.top_p <= 1, "a number above 0, up to 1"),
        "max-tokens": (args.max_tokens >= 1, "a number of at least 1"),
        "engines": (args.engines is None or args.engines >= 1, "a number of at least 1"),
        "tensor-parallel": (args.tensor_parallel >= 1, "a number of at least 1"),
        "gpu-memory": (0 < args.gpu_memory <= 1, "a share above 0, up to 1"),
    }
    for name, (is_right, remedy) in bounds.items():
        if not is_right:
            raise UserError(f"--{name} {getattr(args, name.replace('-', '_'))}: give {remedy}")
