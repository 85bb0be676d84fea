"""Measure how often a model solves each problem of training data, for a run that draws its prompts by pass rate
(run.rollouts.pool.rates=true). The command samples as training does, at temperature 1, grades each row by its verifier,
and writes train.rates.jsonl beside train.parquet: the hashes of the data and of the model on the first line, then a
problem a line.

Repeating the command resumes it; --samples may be raised later. DIR is an evaluation: `pacs evaluate show DIR` prints
its samples. Give the model that will be trained, and the run's own temperature and length of responses. A sample costs
what a response in training does: 16 samples of each of 40,000 problems cost as much as 625 steps of 128 prompts with 8
responses. Without rates a run learns them as it trains.

examples:
  pacs data rate Qwen/Qwen3-8B --data data/deepscaler/train.parquet
  pacs data rate Qwen/Qwen3-8B --data data/deepscaler/train.parquet --samples 8 --max-tokens 4096
  pacs data rate outputs/pacs/qwen3_8b-pacs --data data/one/train.parquet data/two/train.parquet --out outputs/rated
  pacs train recipe=qwen3_8b run.rollouts.pool.weights=sqrt run.rollouts.pool.rates=true
"""

import argparse
from pathlib import Path

from pacs.base.arguments import add_count, path
from pacs.commands.evaluate import add_engines, add_sampling, engines_of, sampling_of, status_of
from pacs.evaluation.grading import parse_given
from pacs.evaluation.process import StopRequest
from pacs.evaluation.settings import AS_IN_TRAINING

SAMPLES = 16


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="a Hub name, or the folder of a model, a checkpoint or a run (its newest)")
    add("--data", required=True, nargs="+", type=path, metavar="FILE", help="parquet files in verl's schema")
    about = "folder of the evaluation, new or to be resumed (default: FILE, with .rates in place of .parquet)"
    add("--out", type=Path, metavar="DIR", help=about)
    add_count(add, "--samples", SAMPLES, "samples of each problem")
    sampling = parser.add_argument_group("sampling and grading (fixed once a folder exists)")
    add_sampling(sampling, AS_IN_TRAINING)
    add_engines(parser.add_argument_group("engines (may differ between starts)"))


def main(args: argparse.Namespace) -> int:
    """Rate; return the exit status: as of `pacs evaluate`."""
    # Not before there is something to do: transformers takes seconds to import.
    from pacs.evaluation.rate import RateRequest, rate

    def start() -> None:
        sampling, engines, verifiers = sampling_of(args), engines_of(args), parse_given(args.reward_kwargs)
        rate(RateRequest(args.model, args.data, args.out, args.samples, sampling, engines, verifiers), StopRequest())

    return status_of(start, "pacs data rate")
