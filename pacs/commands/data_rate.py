"""How often a model solves each problem of training data, for a run that draws its prompts by that
(run.rollouts.pool.rates=true). Samples as training does, at temperature 1, grades by the verifier of each row, and
writes the rates beside the data: train.rates.jsonl beside train.parquet, a problem a line, with the hashes of the data
and of the model on the first.

The same command goes on where it stopped; --samples may be raised later. It is an evaluation: its samples are in
DIR, and `pacs evaluate show DIR` pages through them. Rate the model that is to be trained, with the run's own
temperature and length of responses. A sample of a problem costs what a response in training does: 16 of each of 40,000
problems are as many as 625 steps of 128 prompts with 8 responses. Without rates a pool learns them as it trains.

examples:
  pacs data rate Qwen/Qwen3-8B --data data/deepscaler/train.parquet
  pacs data rate Qwen/Qwen3-8B --data data/deepscaler/train.parquet --samples 8 --max-tokens 4096
  pacs data rate outputs/pacs/qwen3_8b-pacs --data data/one/train.parquet data/two/train.parquet --out outputs/rated
  pacs train recipe=qwen3_8b run.rollouts.pool.weights=sqrt run.rollouts.pool.rates=true
"""

import argparse
from pathlib import Path

from pacs.base.arguments import path, positive
from pacs.commands.evaluate import add_engines, add_sampling, engines_of, sampling_of, status_of
from pacs.evaluation.grading import parse_given
from pacs.evaluation.process import StopRequest
from pacs.evaluation.settings import AS_IN_TRAINING

SAMPLES = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a Hub name, a model's folder, a training checkpoint, or a run: its newest one")
    add("--data", required=True, nargs="+", type=path, metavar="FILE", help="parquet in verl's schema")
    about = "folder of the evaluation, new or to go on with (default: FILE without .parquet, and .rates behind it)"
    add("--out", type=Path, metavar="DIR", help=about)
    add("--samples", type=positive, default=SAMPLES, metavar="N", help=f"of each problem (default: {SAMPLES})")
    sampling = parser.add_argument_group("sampling and grading (what a folder was made with is not changed)")
    add_sampling(sampling, AS_IN_TRAINING)
    add_engines(parser.add_argument_group("engines (may change from start to start)"))


def main(args: argparse.Namespace) -> int:
    """Rate; return the exit status: as of `pacs evaluate`."""
    # Not before there is something to do: transformers takes seconds to import.
    from pacs.evaluation.rate import RateRequest, rate

    def start() -> None:
        sampling, engines, verifiers = sampling_of(args), engines_of(args), parse_given(args.reward_kwargs)
        rate(RateRequest(args.model, args.data, args.out, args.samples, sampling, engines, verifiers), StopRequest())

    return status_of(start, "pacs data rate")
