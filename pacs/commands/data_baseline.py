r"""How probable the right answers of training data are without any reasoning, for rows with the verifier
reference_probability: its score is how much more probable reasoning has made them (RLPR, arXiv 2506.18254). Writes the
mean probability of each right answer's tokens behind the bare prompt beside the data: train.baseline.jsonl beside
train.parquet, a problem a line, with the hashes of the data and of the model on the first.

Nothing is sampled: one pass over each prompt with its answer. The same command goes on where it stopped. Measure by
the model that is to be trained, with the run's own --opens (reward_kwargs.reference_probability.opens), and for the
files of its validation, too.

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
    add("model", metavar="MODEL", help="a Hub name, or a model's folder: the one that the run begins with")
    add("--data", required=True, nargs="+", type=path, metavar="FILE", help="parquet in verl's schema")
    add("--opens", default=OPENS, metavar="TEXT", help=f"what opens an answer (default: {OPENS})")
    add("--no-thinking", dest="thinking", action="store_false", help="the chat template's enable_thinking=false")
    add_reasoning(parser)
    add_engines(parser.add_argument_group("engines (may change from start to start)"))


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
