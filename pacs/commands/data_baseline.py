r"""Measure how probable the right answers of training data are without any reasoning, for rows with the verifier
reference_probability. Its score is how much more probable reasoning makes them (RLPR, arXiv 2506.18254). The command
writes the mean probability of each right answer's tokens after the bare prompt to train.baseline.jsonl beside
train.parquet: the hashes of the data and of the model on the first line, then a problem a line.

Nothing is sampled: it makes one pass over each prompt with its answer. Repeating the command resumes it. Give the model
that will be trained, the run's own --opens (reward_kwargs.reference_probability.opens), and the validation files, too.

examples:
  pacs data baseline Qwen/Qwen3-8B --data data/mine/train.parquet data/mine/test.parquet
  pacs data baseline Qwen/Qwen3-8B --data data/mine/train.parquet --opens '<answer>'
"""

import argparse
from pathlib import Path

from pacs.base.arguments import path
from pacs.commands.evaluate import add_engines, add_reasoning, engines_of, status_of
from pacs.evaluation.process import StopRequest
from pacs.rewards.reference_answer import OPENS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="the run's initial model: a Hub name, or a folder")
    add("--data", required=True, nargs="+", type=path, metavar="FILE", help="parquet files in verl's schema")
    add("--opens", default=OPENS, metavar="TEXT", help=f"text that opens an answer (default: {OPENS})")
    add("--no-thinking", dest="thinking", action="store_false", help="set the chat template's enable_thinking=false")
    add_reasoning(parser)
    add_engines(parser.add_argument_group("engines (may differ between starts)"))


def main(args: argparse.Namespace) -> int:
    """Measure; return the exit status: as of `pacs evaluate`."""
    # Not before there is something to do: transformers takes seconds to import.
    from pacs.evaluation.baseline import BaselineRequest, measure

    def start() -> None:
        files: list[Path] = args.data
        asked = BaselineRequest(
            args.model, files, args.opens, args.thinking, args.reasoning, args.dtype, engines_of(args)
        )
        measure(asked, StopRequest())

    return status_of(start, "pacs data baseline")
