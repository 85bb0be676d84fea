"""Print prompts as the model gets them, and their gold answers.

examples:
  pacs data show data/math500 -n 5
  pacs data show data/deepscaler/train.parquet --model Qwen/Qwen3-8B --no-thinking
"""

import argparse
from itertools import islice
from pathlib import Path

from pacs.base.arguments import positive
from pacs.base.terminal import print


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("path", type=Path, metavar="FILE", help="a parquet file in verl's schema, or its folder")
    parser.add_argument("-n", type=positive, default=3, metavar="N", help="print the first N prompts (default: 3)")
    parser.add_argument(
        "--model", metavar="M", help="model whose chat template renders them (default: the bare messages)"
    )
    parser.add_argument("--no-thinking", action="store_true", help="render with the template's enable_thinking=false")


def main(args: argparse.Namespace) -> int:
    """Print the first prompts."""
    # pyarrow and transformers take seconds to import.
    from pacs.data.chat_template import template_of
    from pacs.data.stats import read_rows, shorten

    template = template_of(args.model, no_thinking=args.no_thinking)
    for row in islice(read_rows(args.path, args.n), args.n):
        info = row.get("extra_info") or {}
        about = [f"{row['data_source']} {info.get('id', info.get('index'))}"]
        about += [f"{name} {info[name]}" for name in ("difficulty", "verifier") if info.get(name) is not None]
        if template:
            about.append(f"{template.lengths([row['prompt']])[0]} tokens")
            text = template.render(row["prompt"])
        else:
            text = "\n".join(f"[{message['role']}]\n{message['content']}" for message in row["prompt"])
        print(f"--- {', '.join(about)}\n{text}\n--- gold: {shorten(str(row['reward_model']['ground_truth']))}\n")
    return 0
