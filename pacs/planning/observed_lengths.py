"""Lengths of prompts and responses that were seen: an evaluation's, a run's, or those of the run's data."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import TemplateError
from omegaconf import DictConfig

from pacs.base.errors import UserError
from pacs.planning.lengths import Sample
from pacs.verl_keys import config as keys
from pacs.verl_keys.names import POLICY_PATH, TRAIN_FILES

#: Rows that are looked at where a tokenizer has to count: the newest responses of a run, prompts throughout the data.
MOST = 1000
#: What a folder may be, each with the files that have its responses.
FOLDERS = ("samples/*/generated-*.jsonl", "generated-*.jsonl", "samples/train/[0-9]*.jsonl", "[0-9]*.jsonl")


def find_lengths(config: DictConfig, given: Path | None) -> Sample | None:
    """What is known of a run's lengths.

    Args:
        config: verl's, composed.
        given: `--lengths`; None: no responses were seen.

    Returns:
        Responses and prompts of `given`; prompts of the run's data, if `given` has none and data and tokenizer are on
        this machine. None: nothing is known.

    Raises:
        UserError: `given` cannot be read, or the chat template refuses a prompt of the data.
    """
    sample = read_lengths(given, keys.policy_path(config)) if given else None
    if sample and sample.prompts:
        return sample
    prompts = data_prompts(config)
    if not prompts:
        return sample
    source = f"prompts of {len(prompts):,} rows of {TRAIN_FILES}"
    if not sample:
        return Sample(prompts, (), f"{source}; responses assumed")
    return replace(sample, prompts=prompts, source=f"{sample.source}; {source}")


def read_lengths(path: Path, model: str) -> Sample:
    """The lengths in a file or a folder.

    Args:
        path: the folder or a file of an evaluation (samples/TASK/generated-*.jsonl, whose lines have `tokens`); the
            folder of a run or a file of its samples (samples/train/STEP.jsonl, whose lines have `input` and `output`,
            which the tokenizer counts); or a file with the tokens of a response a line.
        model: of the run, whose tokenizer counts texts.

    Raises:
        UserError: it is none of these.
    """
    files = _files(path)
    rows = [row for file in files for row in _rows(file)]
    if not rows:
        raise UserError(f"--lengths {path} has no responses: give another")
    texts = [row for row in rows if isinstance(row, dict) and "output" in row]
    if not texts:
        responses = [row if isinstance(row, int) else int(row["tokens"]) for row in rows]
        cut = sum(isinstance(row, dict) and bool(row.get("truncated")) for row in rows)
        remark = f", {cut / len(rows):.0%} of them cut off there" if cut else ""
        return Sample((), tuple(responses), f"{len(rows):,} responses in {path}{remark}")
    texts = texts[-MOST:]
    tokenizer = _tokenizer(model)
    if tokenizer is None:
        raise UserError(
            f"--lengths {path} has texts, and the tokenizer of {POLICY_PATH}={model}, which is to count "
            "their tokens, is not on this machine: download the model first, or give a file with numbers of tokens"
        )
    prompts, responses = (_count(tokenizer, [row[side] for row in texts]) for side in ("input", "output"))
    # Of a prompt its responses follow each other.
    firsts = [index for index in range(len(texts)) if not index or texts[index]["input"] != texts[index - 1]["input"]]
    return Sample(
        tuple(prompts[index] for index in firsts), tuple(responses), f"the last {len(texts):,} responses in {path}"
    )


def data_prompts(config: DictConfig) -> tuple[int, ...]:
    """Tokens of prompts of `data.train_files`, as verl makes them of the chat messages, without those that it leaves
    out as too long; () where a file, the tokenizer or its chat template is not on this machine.

    Raises:
        UserError: a file is not in verl's schema or has no rows, or the chat template refuses a prompt.
    """
    paths = [Path(file).expanduser() for file in keys.train_files(config)]
    if not paths or not all(path.is_file() for path in paths):
        return ()
    tokenizer = _tokenizer(keys.policy_path(config))
    if tokenizer is None or not tokenizer.chat_template:
        return ()
    import pyarrow.parquet as parquet

    from pacs.data.schema import schema_problems

    column, options = keys.prompt_column(config), keys.chat_template_options(config)
    for path in paths:
        for problem in schema_problems(path, prompt=column, graded=False):
            raise UserError(f"{TRAIN_FILES}={path} {problem}")
    prompts = [row for path in paths for row in parquet.read_table(path, columns=[column])[0].to_pylist()]
    try:
        rendered = [
            tokenizer.apply_chat_template(row, add_generation_prompt=True, tokenize=False, **options)
            for row in prompts[:: -(-len(prompts) // MOST)]
        ]
    except TemplateError as error:
        raise UserError(
            f"{POLICY_PATH}={keys.policy_path(config)}: its chat template refuses a prompt: {error}"
        ) from error
    return tuple(count for count in _count(tokenizer, rendered) if count <= keys.longest_prompt(config))


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UserError(f"--lengths {path}: there is no such file or folder")
    for pattern in FOLDERS:
        if found := [file for file in path.glob(pattern) if file.is_file()]:
            # Steps in their order; their names are numbers.
            return sorted(found, key=lambda file: (file.parent, len(file.name), file.name))
    raise UserError(
        f"--lengths {path}: neither the folder of an evaluation (samples/TASK/generated-0000.jsonl) nor of a run "
        "(samples/train/1.jsonl): give one of these, or a file"
    )


def _rows(file: Path) -> Iterator[Any]:
    """Numbers, or objects that say how long a response is."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--lengths: {file} cannot be read ({error}): give another file") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        length = row.get("tokens") if isinstance(row, dict) else row
        texts = isinstance(row, dict) and isinstance(row.get("output"), str) and isinstance(row.get("input"), str)
        if not texts and (not isinstance(length, int) or isinstance(length, bool) or length < 0):
            raise UserError(
                f"--lengths: {file}, line {number}, does not say how long a response is: a line has a number, "
                "or a JSON object with `tokens`, as an evaluation writes, or with `input` and `output`, as a run does"
            )
        yield row


def _tokenizer(model: str) -> Any:
    """That of a folder, or of the Hugging Face cache; None if it is in neither."""
    from transformers import AutoTokenizer

    try:
        found = AutoTokenizer.from_pretrained(str(Path(model).expanduser()), local_files_only=True)
    except (OSError, ValueError):
        return None
    # Of a folder with config.json alone transformers makes one without a vocabulary, to which every text is empty.
    return found if _count(found, ["0"])[0] else None


def _count(tokenizer: Any, texts: Iterable[str]) -> list[int]:
    return [len(ids) for ids in tokenizer(list(texts), add_special_tokens=False)["input_ids"]]
