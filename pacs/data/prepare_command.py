"""What `pacs data prepare` does with its arguments."""

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pacs.data.columns import Columns
from pacs.data.errors import DataError
from pacs.data.evaluation import EvaluationSet, find_evaluation_sets
from pacs.data.golds import math_gold, text_gold
from pacs.data.livecodebench import RELEASE, RELEASES, WINDOW, LiveCodeBench
from pacs.data.load import FORMATS, local_revision
from pacs.data.output import find_prepared
from pacs.data.request import Request
from pacs.data.sources import INSTRUCTIONS, MAX_PROMPT_LENGTH, SOURCES, Source, find_source
from pacs.terminal import print

# Options that say nothing about other sources.
OF_LOCAL_FILES = ("question_column", "answer_column", "id_column", "difficulty_column", "split", "verifier")
OF_THE_HUB = ("from", "revision")
OF_LIVECODEBENCH = ("release", "window")


def main(args: argparse.Namespace) -> int:
    """Prepare and say what became of the rows; 2 and one line on stderr where that is impossible."""
    try:
        request = make_request(args)
        evaluation = find_evaluation_sets(args.evaluation, request.out) if request.source.training else []
        if not args.overwrite and (manifest := find_prepared(request.out, request.split, request.settings(evaluation))):
            print(f"{request.out} is already prepared: {manifest['kept']:,} problems; --overwrite prepares it again")
            return 0
        if request.source.training:
            _say_what_is_kept_apart(evaluation, request.out)
        # Not before the arguments are known to be right: `datasets` takes seconds to import.
        from pacs.data.prepare import prepare

        manifest = prepare(request, evaluation)
    except BrokenPipeError:  # of stdout: `pacs` itself ends on it
        raise
    except (DataError, OSError) as error:
        print(f"pacs data prepare: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"pacs data prepare: interrupted; {args.out} is as it was", file=sys.stderr)
        return 130
    print(f"{manifest['repo']}, revision {manifest['revision'][:15]}")
    print(f"{manifest['rows_in']:,} rows, {manifest['kept']:,} kept, {sum(manifest['dropped'].values()):,} dropped")
    for reason, count in manifest["dropped"].items():
        print(f"  {count:,} {reason}")
    print(f"wrote {request.out / request.split}.parquet and manifest.json")
    return 0


def make_request(args: argparse.Namespace) -> Request:
    """What the arguments ask for.

    Raises:
        DataError: If they do not fit together, or name nothing.
    """
    known = any(args.source in (source.name, source.repo) for source in SOURCES)
    if not known and Path(args.source).is_dir():
        raise DataError(f"{args.source} is a folder: give a file, or a source's name and --from {args.source}")
    if not known and (Path(args.source).is_file() or Path(args.source).suffix.lower() in FORMATS):
        _refuse(args, OF_THE_HUB, "sources of `pacs data list`")
        local, (source, options) = Path(args.source), _file_source(args)
    else:
        source = find_source(args.source)
        _refuse(args, OF_LOCAL_FILES, "local files")
        local, (source, options) = getattr(args, "from"), _with_options(source, args)
    if not isinstance(source.read, LiveCodeBench):
        _refuse(args, OF_LIVECODEBENCH, "livecodebench")
    if args.evaluation and not source.training:
        raise DataError("--evaluation is for training sets: the problems that those sets have are removed from them")
    if args.model is None and (args.max_prompt_length is not None or args.no_thinking):
        raise DataError("--max-prompt-length and --no-thinking are for measuring prompts: give --model too")
    if args.max_prompt_length is not None and args.max_prompt_length < 1:
        raise DataError(f"--max-prompt-length {args.max_prompt_length}: give a number of at least 1")
    if local is not None and args.revision is not None:
        raise DataError("--revision is of the repository: leave it out with --from")
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


def _file_source(args: argparse.Namespace) -> tuple[Source, dict[str, Any]]:
    """A declaration for a local file."""
    verifier = args.verifier or "math"
    columns = {
        "question": args.question_column or "problem",
        "answer": args.answer_column or "answer",
        "id": args.id_column,
        "difficulty": args.difficulty_column,
    }
    source = Source(
        name=Path(args.source).stem,
        repo=Path(args.source).name,
        split="train",
        rows=None,
        about="a local file",
        read=Columns(**columns, gold=math_gold if verifier == "math" else text_gold, strict=True),
        training=args.split != "test",
        verifier=verifier,
    )
    return source, {"columns": columns}


def _with_options(source: Source, args: argparse.Namespace) -> tuple[Source, dict[str, Any]]:
    """The declaration, changed as far as it has options."""
    if not isinstance(source.read, LiveCodeBench):
        return source, {}
    release, window = args.release or RELEASE, tuple(args.window or WINDOW)
    if window[0] > window[1]:
        raise DataError(f"--window {window[0]} {window[1]}: the first day is after the last")
    changed = dataclasses.replace(source, read=LiveCodeBench(window), files=RELEASES[release])
    return changed, {"release": release, "window": [str(day) for day in window]}


def _refuse(args: argparse.Namespace, names: Sequence[str], what: str) -> None:
    for name in names:
        if getattr(args, name) is not None:
            raise DataError(f"--{name.replace('_', '-')} is for {what}: leave it out for {args.source}")


def _say_what_is_kept_apart(evaluation: Sequence[EvaluationSet], out: Path) -> None:
    if evaluation:
        print(f"kept apart from {', '.join(each.name for each in evaluation)}", flush=True)
    else:
        print(
            f"WARNING: no evaluation set is given, and none is prepared beside {out}: no problem is removed from "
            "this training set for being in one. Prepare them first, or give --evaluation.",
            file=sys.stderr,
        )
