"""`pacs diversity` and `pacs support`: their arguments."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]

EMBEDDING_MODEL = "Qwen/Qwen3-Embedding-0.6B"
BATCH_SIZE = 8
CACHE = "embeddings.sqlite"

DIVERSITY = """\
How different a model's responses to one problem are, from the samples of `pacs evaluate`: mean pairwise cosine distance
of their embeddings, right responses only (the paper's Eq. 15); entropy of the final answers and of the tokens;
distinct n-grams. Of two evaluations also what they differ by, with paired intervals, and both in one picture.

Writes DIR/diversity.json, DIR/diversity.md and a picture a task. Embeddings are kept in DIR/embeddings.sqlite: a
killed command goes on where it stopped.
"""

DIVERSITY_EXAMPLES = """\
examples:
  pacs diversity evaluations/pacs --out diversity
  pacs diversity evaluations/base evaluations/pacs --task aime24 aime25 --out diversity
  pacs diversity evaluations/base evaluations/pacs --embedding-model models/minilm --out diversity
"""

SUPPORT = """\
Which problems a trained model solves within k samples that its base model does not, and the other way round, from the
samples of `pacs evaluate`: kept, gained, lost and neither, with the metrics of "The Invisible Leash" (arXiv
2507.14843), and the entropy of answers beside that of tokens.

Writes DIR/support.json, DIR/support.md and DIR/support.png.
"""

SUPPORT_EXAMPLES = """\
examples:
  pacs support evaluations/base evaluations/pacs --out support
  pacs support evaluations/base evaluations/pacs --k 8 64 --task aime24 --out support
"""


def add_parser(subparsers: "Subparsers") -> None:
    """Add `diversity` and `support` to the subcommands of `pacs`; the parsed arguments carry `handler`."""
    diversity = subparsers.add_parser(
        "diversity",
        help="how different a model's responses to a problem are",
        description=DIVERSITY,
        epilog=DIVERSITY_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    diversity.add_argument("folders", nargs="+", type=Path, metavar="EVALUATION", help="one or two of `pacs evaluate`")
    _add_common(diversity)
    _add_diversity(diversity)
    diversity.set_defaults(handler=_diversity)

    support = subparsers.add_parser(
        "support",
        help="problems that a trained model has gained and lost",
        description=SUPPORT,
        epilog=SUPPORT_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    support.add_argument("base", type=Path, metavar="BASE", help="evaluation of the base model")
    support.add_argument("model", type=Path, metavar="MODEL", help="evaluation of the trained model")
    _add_common(support)
    support.add_argument(
        "--k", nargs="+", type=_positive, metavar="K", help="samples of a problem that count (default: all)"
    )
    support.set_defaults(handler=_support)


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write to")
    parser.add_argument(
        "--task", nargs="+", metavar="T", help="tasks (default: all that the evaluations have in common)"
    )


def _add_diversity(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--responses",
        choices=("correct", "all"),
        default="correct",
        help="which responses the distance is between (default: %(default)s)",
    )
    parser.add_argument("--problem", metavar="ID", help="draw the responses to this problem alone (default: to all)")
    add = parser.add_argument_group("embedding").add_argument
    add("--embedding-model", default=EMBEDDING_MODEL, metavar="M", help="id or folder (default: %(default)s)")
    add(
        "--max-tokens", type=_positive, metavar="N", help="of a response, at most (default: as many as the model takes)"
    )
    add(
        "--batch-size",
        type=_positive,
        default=BATCH_SIZE,
        metavar="N",
        help="responses at a time (default: %(default)s)",
    )
    add(
        "--dtype",
        choices=("float32", "bfloat16", "float16"),
        default="float32",
        help="precision of the model (default: %(default)s; the others are faster on a GPU and add noise)",
    )
    add("--cache", type=Path, metavar="FILE", help=f"where embeddings are kept (default: DIR/{CACHE})")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text}: give a whole number of at least 1")
    return int(text)


# Imported where they are needed: torch and matplotlib are slow, and `pacs --help` passes here.


def _diversity(args: argparse.Namespace) -> int:
    from pacs.diversity import diversity_command

    args.cache = args.cache or args.out / CACHE
    return diversity_command.main(args)


def _support(args: argparse.Namespace) -> int:
    from pacs.diversity import support_command

    return support_command.main(args)
