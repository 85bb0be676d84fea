"""A folder of prepared problems, parquet and manifest, there as a whole or not at all."""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pacs.base.errors import UserError
from pacs.base.files import file_sha256, inside, nearest, write_atomically

MANIFEST = "manifest.json"
#: In every manifest of ours, and in no other.
MARK = "settings_sha256"

#: verl's schema. One for all sources, so that verl can concatenate their files.
_TEXT = pa.string()
_INFO = {
    "index": pa.int64(), "split": _TEXT, "id": _TEXT, "source": _TEXT, "revision": _TEXT, "difficulty": pa.float64(),
    "verifier": _TEXT, "choices": pa.list_(_TEXT),
}  # fmt: skip
SCHEMA = pa.schema(
    {
        "data_source": _TEXT,
        "prompt": pa.list_(pa.struct({"role": _TEXT, "content": _TEXT})),
        "ability": _TEXT,
        "reward_model": pa.struct({"style": _TEXT, "ground_truth": _TEXT}),
        "extra_info": pa.struct(_INFO),
    }
)


class Output(ExitStack):
    """Writes beside `folder` and puts all in its place at the end; whatever happens before leaves nothing.

    Args:
        folder: where the problems go; it and its parents are made at the end.
        split: `train` or `test`.

    Raises:
        UserError: If it cannot be written to, or its manifest names files elsewhere.
    """

    def __init__(self, folder: Path, split: str) -> None:
        super().__init__()
        self._folder = folder.absolute()
        self._name = f"{split}.parquet"
        before = read_manifest(self._folder) or {"sha256": {}}
        try:
            self._old = [inside(self._folder, name) for name in before["sha256"]]
        except UserError as error:
            raise UserError(f"{error}: its {MANIFEST} was not written here; choose another --out") from None
        place = nearest(self._folder)
        try:
            self._aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=place))
        except OSError as error:
            raise UserError(f"--out {folder} cannot be written ({error.strerror}): choose another") from error
        self.callback(shutil.rmtree, self._aside, ignore_errors=True)
        try:
            self._writer = pq.ParquetWriter(self._aside / self._name, SCHEMA, compression="zstd")
        except BaseException:  # Ctrl-C among them: it takes a moment
            self.close()
            raise
        self.callback(self._writer.close)

    def write(self, rows: list[dict[str, Any]]) -> None:
        """Append rows of `SCHEMA`."""
        if rows:
            self._writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))

    def publish(self, manifest: Mapping[str, Any]) -> None:
        """Put the problems and their manifest, with the file's hash added to it, in their place."""
        self._writer.close()
        parquet = self._aside / self._name
        with parquet.open("rb") as stream:
            os.fsync(stream.fileno())
        content = {**manifest, "sha256": {self._name: file_sha256(parquet)}}
        write_atomically(self._aside / MANIFEST, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        if self._folder.exists():
            # The manifest last: until then the old one's hash is not the new file's, and `find_prepared` sees it.
            for name in (self._name, MANIFEST):
                (self._aside / name).replace(self._folder / name)
            for file in self._old:
                if file.name != self._name:
                    file.unlink(missing_ok=True)
        else:
            self._aside.chmod(0o755)  # mkdtemp's folders are private
            self._folder.parent.mkdir(parents=True, exist_ok=True)
            self._aside.rename(self._folder)


def settings_sha256(settings: Mapping[str, Any]) -> str:
    """A hash of settings."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a folder of prepared problems, or None if it is not one of ours."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and MARK in manifest else None


def find_prepared(folder: Path, split: str, settings: Mapping[str, Any]) -> dict[str, Any] | None:
    """The manifest of what these settings have prepared, None if there is nothing yet.

    Args:
        folder: where it goes.
        split: `train` or `test`.
        settings: everything that decides what is prepared.

    Raises:
        UserError: If the folder has something else, that would be replaced.
    """
    manifest, file = read_manifest(folder), folder / f"{split}.parquet"
    remedy = "--overwrite replaces it, another --out keeps it"
    if manifest is None:
        present = [path.name for path in (file, folder / MANIFEST) if path.exists()]
        if present:
            raise UserError(f"{folder} holds {' and '.join(present)}, not prepared by this command: {remedy}")
        # Not what a killed process has left, whose name begins with a dot.
        others = sorted(path.name for path in folder.glob("[!.]*")) if folder.is_dir() else []
        if others:
            raise UserError(
                f"--out {folder} holds other files ({', '.join(others[:3])}): give another, or --overwrite to write "
                "beside them"
            )
        return None
    if manifest[MARK] != settings_sha256(settings):
        old = manifest["settings"]
        changed = sorted(key for key in old.keys() | settings.keys() if old.get(key) != settings.get(key))
        raise UserError(f"{folder} was prepared with other settings ({', '.join(changed)}): {remedy}")
    if not file.is_file() or manifest["sha256"][file.name] != file_sha256(file):
        raise UserError(f"{file} is not what its manifest says: --overwrite makes it again")
    return manifest
