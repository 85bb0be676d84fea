"""Embeddings on disk, so that none is computed twice."""

import hashlib
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from pacs.base.errors import UserError

Vector = npt.NDArray[np.float32]

#: Seconds to wait for another process that writes to the same file.
WAIT_SECONDS = 60.0


class Embedding(NamedTuple):
    """What is kept of a text."""

    vector: Vector
    #: The text was longer than the model takes, and its end was left out.
    cut: bool


class Cache:
    """One SQLite file: (embedding model's identity, SHA-256 of the text) -> embedding.

    What `put` has returned from survives a kill; what it was in the middle of is not there.

    Raises:
        UserError: the file is something else, or cannot be read or written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        try:
            self._connection = sqlite3.connect(file, timeout=WAIT_SECONDS)
            with self._connection as transaction:
                transaction.execute(
                    "CREATE TABLE IF NOT EXISTS embeddings"
                    " (model TEXT, text TEXT, vector BLOB, cut INTEGER, PRIMARY KEY (model, text))"
                )
        except sqlite3.Error as error:
            raise self._refused(error) from error

    def get(self, model: str, text: str) -> Embedding | None:
        """The embedding of a text, None if it is not there."""
        try:
            row = self._connection.execute(
                "SELECT vector, cut FROM embeddings WHERE model = ? AND text = ?", (model, _sha256(text))
            ).fetchone()
        except sqlite3.Error as error:
            raise self._refused(error) from error
        return None if row is None else Embedding(np.frombuffer(row[0], dtype="<f4"), bool(row[1]))

    def put(self, model: str, embeddings: Iterable[tuple[str, Embedding]]) -> None:
        """Add the embeddings of some texts: all of them or none."""
        rows = [(model, _sha256(text), vector.astype("<f4").tobytes(), cut) for text, (vector, cut) in embeddings]
        try:
            with self._connection as transaction:
                transaction.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?, ?)", rows)
        except sqlite3.Error as error:
            raise self._refused(error) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _refused(self, error: sqlite3.Error) -> UserError:
        return UserError(f"the cache of embeddings {self._file}: {error}; --cache names another file")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
