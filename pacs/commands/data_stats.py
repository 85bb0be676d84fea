"""Count lengths, kinds of answers, duplicates and difficulties of a problem set.

examples:
  pacs data stats data/math500
  pacs data stats data/deepscaler/train.parquet --model Qwen/Qwen3-8B
"""

import argparse
from pathlib import Path

from pacs.base.terminal import print

MODEL = "model whose tokenizer and chat template also measure the prompts (default: none; characters are counted)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("path", type=Path, metavar="FILE_OR_DIR", help="a parquet file in verl's schema, or its folder")
    parser.add_argument("--model", metavar="M", help=MODEL)
    parser.add_argument("--no-thinking", action="store_true", help="measure with the template's enable_thinking=false")


def main(args: argparse.Namespace) -> int:
    """Print the tables."""
    # pyarrow and transformers take seconds to import.
    from pacs.data.chat_template import template_of
    from pacs.data.stats import read_rows, statistics

    print(statistics(read_rows(args.path), template_of(args.model, no_thinking=args.no_thinking)))
    return 0
