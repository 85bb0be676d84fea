"""The rows of a source, most streamed by `datasets`, and what goes wrong there as one line each."""

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from pacs.base.errors import UserError, first_line
from pacs.base.files import file_sha256
from pacs.data.files import csv_rows, json_rows
from pacs.data.problem import Row
from pacs.data.sources import Source

#: Endings of local files, in whatever case.
FORMATS = (".json", ".jsonl", ".parquet", ".csv")
#: Until the hub is said to be out of reach.
TIMEOUT_SECONDS = 10
LOCAL_HINT = "elsewhere `hf download {repo} --repo-type dataset --local-dir DIR`, then here --from DIR"


def local_revision(path: Path) -> str:
    """A hash of a file, or of all files of a folder with their names, in place of a commit.

    Raises:
        UserError: If there is nothing to read.
    """
    if not path.exists():
        raise UserError(f"{path}: no such file or folder")
    if path.is_file():
        files = {"": path}
    else:
        found = {str(file.relative_to(path)): file for file in sorted(path.rglob("*")) if file.is_file()}
        files = {name: file for name, file in found.items() if not name.startswith(".")}
    digest = hashlib.sha256()
    for name, file in files.items():
        digest.update(name.encode())
        digest.update(bytes.fromhex(file_sha256(file)))
    return f"sha256:{digest.hexdigest()}"


def hub_revision(source: Source, revision: str | None) -> str:
    """The commit that a revision of a repository is, asked of the hub.

    Args:
        source: whose repository.
        revision: branch, tag or commit; None for the default branch.

    Raises:
        UserError: If the hub cannot be reached, has no such revision, or does not give access.
    """
    from huggingface_hub import HfApi

    try:
        info = HfApi().dataset_info(source.repo, revision=revision, timeout=TIMEOUT_SECONDS)
        if info.gated:
            HfApi().auth_check(source.repo, repo_type="dataset")
    except Exception as error:
        explain(error, source.repo)
    return str(info.sha)


def file_rows(file: Path) -> Iterator[Row]:
    """The rows of a local file.

    Raises:
        UserError: If its ending is not in `FORMATS`, or it cannot be read.
    """
    match file.suffix.lower():
        case ".json" | ".jsonl":
            return json_rows(file)
        case ".csv":
            return csv_rows(file)
        case ".parquet":
            return _parquet_rows(file)
    raise UserError(f"{file}: give a file that ends with {', '.join(FORMATS)}")


def _parquet_rows(file: Path) -> Iterator[Row]:
    """As `datasets` gives them, but numbers of 32 or 16 bits as they are written, and not as 64 bits have them.

    Bytes that are UTF-8 are text: some writers leave the type of texts out.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    narrow = {pa.float16(): np.float16, pa.float32(): np.float32}

    def as_written(value: Any, kind: pa.DataType) -> Any:
        if kind in narrow and value is not None:
            return float(str(narrow[kind](value)))  # 0.1, and not 0.10000000149011612
        if pa.types.is_struct(kind) and isinstance(value, dict):
            return {field.name: as_written(value.get(field.name), field.type) for field in kind}
        if isinstance(value, list) and hasattr(kind, "value_type"):
            return [as_written(each, kind.value_type) for each in value]
        if isinstance(value, bytes):
            with contextlib.suppress(UnicodeDecodeError):
                return value.decode()
        return value

    with contextlib.suppress(pa.ArrowException, OSError):  # explained below
        if pq.read_metadata(file).num_rows == 0:  # `datasets` cannot read it
            return
    kinds: dict[str, pa.DataType] = {}
    for row in _stream(file, "parquet", data_files=[str(file)], split="train"):
        # Not before: what is wrong with a file is explained there.
        kinds = kinds or {field.name: field.type for field in pq.read_schema(file)}
        yield {name: as_written(value, kinds[name]) for name, value in row.items()}


def source_rows(source: Source, revision: str, local: Path | None) -> Iterator[Row]:
    """The rows of a known source.

    Args:
        source: its declaration.
        revision: commit of the repository.
        local: a file with all its rows, or a copy of the repository's folder, in place of the hub.

    Raises:
        UserError: If they cannot be read.
    """
    if local is not None and local.is_file():
        yield from file_rows(local)
    elif source.files:
        place = f"hf://datasets/{source.repo}@{revision}" if local is None else str(local)
        files = [f"{place}/{name}" for name in source.files]
        yield from _stream(local or source.repo, "json", data_files=files, split="train")
    else:
        options = {"revision": revision} if local is None else {}
        for config in source.configs:
            path = str(local or source.repo)
            yield from _stream(local or source.repo, path, name=config, split=source.split, **options)


def _stream(what: str | Path, path: str, **arguments: Any) -> Iterator[Row]:
    """Rows of `datasets.load_dataset`; what it raises is explained as a failure of `what`."""
    import datasets

    # What it would log is raised too.
    datasets.utils.logging.set_verbosity(datasets.utils.logging.CRITICAL)
    try:
        yield from datasets.load_dataset(path, streaming=True, **arguments)
    except StopIteration:  # of a file without a row
        return
    except Exception as error:
        explain(error, what)


def explain(error: Exception, what: str | Path) -> NoReturn:
    """Raise the `UserError` that says what an error of `datasets` or of the hub means.

    Args:
        error: what was raised.
        what: the repository, or the local file or folder.
    """
    import httpx
    from huggingface_hub import constants
    from huggingface_hub import errors as hub

    said, hint = first_line(error), LOCAL_HINT.format(repo=what)
    terms = f"accept its terms on {constants.ENDPOINT}/datasets/{what}, then set HF_TOKEN to a token of that account"
    absent = "the Hugging Face Hub has no such dataset, or none that HF_TOKEN gives access to"
    meanings: list[tuple[type[Exception] | tuple[type[Exception], ...], str]] = [
        (hub.GatedRepoError, f" is gated: {terms}"),
        (hub.OfflineModeIsEnabled, f": HF_HUB_OFFLINE is set: unset it, or {hint}"),
        (hub.RevisionNotFoundError, " has no such --revision"),
        (hub.RepositoryNotFoundError, f": {absent}"),
        (hub.HfHubHTTPError, f": the Hugging Face Hub answered: {said}"),
        ((httpx.TransportError, ConnectionError), f": the Hugging Face Hub cannot be reached ({said}): {hint}"),
    ]
    is_local = isinstance(what, Path) or Path(what).exists()
    meaning = next((said for kinds, said in meanings if isinstance(error, kinds) and not is_local), None)
    message = f"{what}{meaning or f' cannot be read: {said}'}"
    raise UserError(message) from error
