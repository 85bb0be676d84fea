"""`pacs data prepare`, `stats`, `show` and `list`: their arguments."""

import argparse
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from pacs.data.livecodebench import RELEASE, RELEASES, WINDOW
from pacs.data.load import FORMATS
from pacs.data.sources import MAX_PROMPT_LENGTH
from pacs.rewards.registry import VERIFIERS

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = """\
Problem sets for training and evaluation, from the Hugging Face Hub or local files, as verl's parquet.
`pacs data COMMAND --help` says more.
"""

PREPARE = """\
Turn a source into verl's parquet with a manifest that says what was read, kept and dropped, and why. Dropped is
what the verifier does not take for right when the gold answer is given as the answer, and a prompt of more than
--max-prompt-length tokens of --model; from a training set also a problem that was there before, or that an
evaluation set has: the same text, or 13 words in a row. DIR gets all of it or nothing. The same command again
changes nothing.
"""

EXAMPLES = """\
examples:
  pacs data prepare math500 --out data/math500
  pacs data prepare deepscaler --out data/deepscaler --model Qwen/Qwen3-8B
  pacs data prepare problems.jsonl --question-column question --out data/mine --evaluation data/math500
  pacs data prepare aime25 --from copies/aime25 --out data/aime25
"""

THINKING = "the chat template's enable_thinking=false"


def add_parser(subparsers: "Subparsers") -> argparse.ArgumentParser:
    """Add `data` to the subcommands of `pacs`; the parsed arguments carry what does it as `handler`."""
    parser = subparsers.add_parser("data", help="problem sets: prepare, stats, show, list", description=DESCRIPTION)
    commands = parser.add_subparsers(dest="data_command", required=True, metavar="COMMAND")
    prepare = commands.add_parser(
        "prepare",
        help="turn a source into verl's parquet",
        description=PREPARE,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_arguments(prepare)
    prepare.set_defaults(handler=_prepare)

    stats = commands.add_parser("stats", help="lengths, kinds of answers, duplicates, difficulty")
    stats.add_argument("path", type=Path, metavar="FILE_OR_DIR", help="a parquet file in verl's schema, or its folder")
    stats.add_argument("--model", metavar="M", help="whose tokenizer and chat template measure the prompts too")
    stats.add_argument("--no-thinking", action="store_true", help=f"measure with {THINKING}")
    stats.set_defaults(handler=_stats)

    show = commands.add_parser("show", help="prompts as the model gets them, and their gold answers")
    show.add_argument("path", type=Path, metavar="FILE", help="a parquet file in verl's schema, or its folder")
    show.add_argument("-n", type=int, default=3, metavar="N", help="how many, from the first on (default: 3)")
    show.add_argument("--model", metavar="M", help="whose chat template renders them (default: the bare messages)")
    show.add_argument("--no-thinking", action="store_true", help=f"render with {THINKING}")
    show.set_defaults(handler=_show)

    commands.add_parser("list", help="the known sources").set_defaults(handler=_list)
    return parser


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="NAME_OR_PATH", help="a source of `pacs data list`, by name or repository, or a local file")
    add("--out", required=True, type=Path, metavar="DIR", help="folder for train.parquet or test.parquet")
    add("--overwrite", action="store_true", help="replace what was prepared in DIR before")
    add("--instruction", metavar="TEXT", help='ends every prompt; "" for none (default: as the verifier needs it)')
    add("--system", metavar="TEXT", help='starts every prompt; "" for none (default: the source\'s own, if it has one)')
    add("--model", metavar="M", help="whose tokenizer and chat template measure the prompts (default: not measured)")
    add("--max-prompt-length", type=int, metavar="N", help=f"tokens of --model (default: {MAX_PROMPT_LENGTH})")
    add("--no-thinking", action="store_true", help=f"measure with {THINKING}")
    add(
        "--evaluation", nargs="+", type=Path, default=[], metavar="DIR",
        help="prepared evaluation sets that a training set is kept apart from (default: those beside --out)",
    )  # fmt: skip
    known = parser.add_argument_group("known sources")
    known.add_argument("--from", type=Path, metavar="PATH", help="read this file, or copy of the repository, instead")
    known.add_argument("--revision", metavar="REV", help="of the repository (default: the pinned one)")
    known.add_argument("--release", choices=RELEASES, help=f"of livecodebench (default: {RELEASE})")
    known.add_argument(
        "--window", nargs=2, type=_day, metavar=("FIRST", "LAST"),
        help=f"days of livecodebench's contests, both included (default: {WINDOW[0]} {WINDOW[1]})",
    )  # fmt: skip
    files = parser.add_argument_group(f"local files ({', '.join(FORMATS)})")
    files.add_argument("--question-column", metavar="NAME", help="default: problem")
    files.add_argument("--answer-column", metavar="NAME", help="default: answer")
    files.add_argument("--id-column", metavar="NAME", help="default: the row's number")
    files.add_argument("--difficulty-column", metavar="NAME", help="default: none")
    files.add_argument("--split", choices=("train", "test"), help="what it is for (default: train)")
    files.add_argument("--verifier", choices=VERIFIERS, help="of its answers (default: math)")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no day such as {WINDOW[0]}") from None


# Imported where they are needed: pyarrow and transformers are slow, and `pacs train --help` passes here.


def _prepare(args: argparse.Namespace) -> int:
    from pacs.data import prepare_command

    return prepare_command.main(args)


def _stats(args: argparse.Namespace) -> int:
    from pacs.data import read_command

    return read_command.stats(args)


def _show(args: argparse.Namespace) -> int:
    from pacs.data import read_command

    return read_command.show(args)


def _list(args: argparse.Namespace) -> int:
    from pacs.data import read_command

    return read_command.list_sources(args)
