"""Write a problem set as parquet in verl's schema, with a manifest that says what was read, kept and dropped, and why.
A row is dropped if its verifier refuses the gold answer itself, or if its prompt has more than --max-prompt-length
tokens of --model. A training set also loses duplicates, and problems of an evaluation set: the same text, or the same
13 words in a row. DIR is written completely or not at all. Repeating the command changes nothing.

examples:
  pacs data prepare math500 --out data/math500
  pacs data prepare deepscaler --out data/deepscaler --model Qwen/Qwen3-8B
  pacs data prepare problems.jsonl --question-column question --out data/mine --evaluation data/math500
  pacs data prepare aime25 --from copies/aime25 --out data/aime25
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from pacs.base.arguments import positive
from pacs.base.errors import UserError
from pacs.base.files import check_not_of_a_run
from pacs.base.stops import like_ctrl_c
from pacs.base.terminal import print
from pacs.data.columns import Columns
from pacs.data.filters import find_evaluation_sets
from pacs.data.golds import GOLDS, text_gold
from pacs.data.livecodebench import RELEASE, RELEASES, WINDOW, LiveCodeBench
from pacs.data.load import FORMATS, local_revision
from pacs.data.output import find_prepared
from pacs.data.request import Request, with_options
from pacs.data.sources import INSTRUCTIONS, MAX_PROMPT_LENGTH, SOURCES, Source, find_source
from pacs.data.tally import shown
from pacs.rewards.registry import VERIFIERS

# Options that say nothing about other sources.
OF_LOCAL_FILES = ("question_column", "answer_column", "id_column", "difficulty_column", "verifier")
SPLITS = ("train", "test")
OF_THE_HUB = ("from", "revision")
OF_LIVECODEBENCH = ("release", "window")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("source", metavar="NAME_OR_PATH", help="a source of `pacs data list`, by name or repository, or a local file")
    add("--out", required=True, type=Path, metavar="DIR", help="folder for train.parquet or test.parquet")
    add("--split", choices=SPLITS, help="use of the set (default: train, or the only one that the source has)")
    add("--overwrite", action="store_true", help="replace what was prepared in DIR before")
    add("--instruction", metavar="TEXT", help='text at the end of every prompt; "" for none (default: the verifier\'s)')
    add("--system", metavar="TEXT", help='system message of every prompt; "" for none (default: the source\'s, if any)')
    add("--model", metavar="M", help="model whose tokenizer and chat template measure the prompts (default: none)")
    about = f"longest prompt that is kept, in tokens of --model (default: {MAX_PROMPT_LENGTH})"
    add("--max-prompt-length", type=positive, metavar="N", help=about)
    add("--no-thinking", action="store_true", help="measure with the chat template's enable_thinking=false")
    about = "prepared evaluation sets whose problems a training set must not have (default: those beside --out)"
    add("--evaluation", nargs="+", type=Path, default=[], metavar="DIR", help=about)
    known = parser.add_argument_group("known sources")
    known.add_argument(
        "--from", type=Path, metavar="PATH", help="read this file, or this copy of the repository, instead of the Hub"
    )
    known.add_argument("--revision", metavar="REV", help="revision of the repository (default: the pinned one)")
    known.add_argument("--release", choices=RELEASES, help=f"release of livecodebench (default: {RELEASE})")
    about = f"first and last day of livecodebench's contests (default: {WINDOW[0]} {WINDOW[1]})"
    known.add_argument("--window", nargs=2, type=_day, metavar=("FIRST", "LAST"), help=about)
    files = parser.add_argument_group(f"local files ({', '.join(FORMATS)})")
    files.add_argument("--question-column", metavar="NAME", help="column of the question (default: problem)")
    files.add_argument("--answer-column", metavar="NAME", help="column of the answer (default: answer)")
    files.add_argument("--id-column", metavar="NAME", help="column of an id (default: the row's number)")
    files.add_argument("--difficulty-column", metavar="NAME", help="column of the difficulty (default: none)")
    files.add_argument("--verifier", choices=VERIFIERS, help="verifier of the answers (default: math)")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} is no day such as {WINDOW[0]}") from None


def main(args: argparse.Namespace) -> int:
    """Prepare and say what became of the rows."""
    check_not_of_a_run(args.out)
    request = make_request(args)
    evaluation = find_evaluation_sets(args.evaluation, request.out) if request.source.training else []
    if not args.overwrite and (manifest := find_prepared(request.out, request.split, request.settings(evaluation))):
        print(f"{request.out} is already prepared: {manifest['kept']:,} problems; --overwrite prepares it again")
        return 0
    if request.source.training:
        if evaluation:
            print(f"kept apart from {', '.join(each.name for each in evaluation)}", flush=True)
        else:
            print(
                f"WARNING: no evaluation set is given, and none is prepared beside {request.out}: no problem is "
                "removed from this training set for being in one. Prepare them first, or give --evaluation.",
                file=sys.stderr,
            )
    # Not before the arguments are known to be right: `datasets` takes seconds to import.
    from pacs.data.prepare import prepare

    try:
        with like_ctrl_c():
            manifest = prepare(request, evaluation)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{args.out} is as it was") from None
    print(f"{manifest['repo']}, revision {manifest['revision'][:15]}")
    print(f"{manifest['rows_in']:,} rows, {manifest['kept']:,} kept, {sum(manifest['dropped'].values()):,} dropped")
    for reason, count in manifest["dropped"].items():
        print(f"  {count:,} {reason}")
        for line in shown(manifest["dropped_examples"][reason]):
            print(f"    {line}")
    if manifest["instructions_taken_off"]:
        print(f"  of {manifest['instructions_taken_off']:,} their own request for a form of the answer is taken off")
    print(f"wrote {request.out / request.split}.parquet and manifest.json")
    return 0


def make_request(args: argparse.Namespace) -> Request:
    """What the arguments ask for.

    Raises:
        UserError: If they do not fit together, or name nothing.
    """
    known = any(args.source in (source.name, source.repo) for source in SOURCES)
    if not known and Path(args.source).is_dir():
        raise UserError(f"{args.source} is a folder: give a file, or a source's name and --from {args.source}")
    if not known and (Path(args.source).is_file() or Path(args.source).suffix.lower() in FORMATS):
        _refuse(args, OF_THE_HUB, "sources of `pacs data list`")
        local, (source, options) = Path(args.source), _file_source(args)
    else:
        source = _with_split(find_source(args.source), args.split)
        _refuse(args, OF_LOCAL_FILES, "local files")
        local, (source, options) = getattr(args, "from"), with_options(source, args.release, args.window)
    if not isinstance(source.read, LiveCodeBench):
        _refuse(args, OF_LIVECODEBENCH, "livecodebench")
    if args.evaluation and not source.training:
        raise UserError("--evaluation is for training sets: the problems that those sets have are removed from them")
    if args.model is None and (args.max_prompt_length is not None or args.no_thinking):
        raise UserError("--max-prompt-length and --no-thinking are for measuring prompts: give --model too")
    if local is not None and args.revision is not None:
        raise UserError("--revision is of the repository: leave it out with --from")
    return Request(
        given=args.source,
        source=source,
        local=local,
        revision=(args.revision or source.revision) if local is None else local_revision(local),
        options=options,
        out=args.out,
        instruction=INSTRUCTIONS.get(source.verifier, "") if args.instruction is None else args.instruction,
        system=args.system,
        model=args.model,
        max_prompt_length=args.max_prompt_length or MAX_PROMPT_LENGTH,
        thinking=not args.no_thinking,
    )


def _with_split(source: Source, split: str | None) -> Source:
    """The source of the same repository that has this split."""
    if split is None or source.training == (split == "train"):
        return source
    for other in SOURCES:
        if other.repo == source.repo and other.training == (split == "train"):
            return other
    kind = "to train" if source.training else "to evaluate"
    raise UserError(f"--split {split}: {source.name} is {kind} on alone: leave it out")


def _file_source(args: argparse.Namespace) -> tuple[Source, dict[str, Any]]:
    """A declaration for a local file."""
    verifier = args.verifier or "math"
    given = {"question": "problem", "answer": "answer", "id": None, "difficulty": None}
    columns = given | {name: text for name in given if (text := getattr(args, f"{name}_column")) is not None}
    read, file = Columns(**columns, gold=GOLDS.get(verifier, text_gold), strict=True), Path(args.source)
    training = args.split != "test"
    source = Source(file.stem, file.name, "train", None, "a local file", read, training=training, verifier=verifier)
    return source, {"columns": columns}


def _refuse(args: argparse.Namespace, names: Sequence[str], what: str) -> None:
    for name in names:
        if getattr(args, name) is not None:
            raise UserError(f"--{name.replace('_', '-')} is for {what}: leave it out for {args.source}")
