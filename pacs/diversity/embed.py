"""Responses as embeddings, through sentence-transformers.

How a model is pooled and normalised, and how long a text it takes, is in the model's own folder, and
sentence-transformers reads it there: Qwen3-Embedding takes the last token's state of texts padded on the left. A
response is embedded as it is, its reasoning included and without an instruction.
"""

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import torch
from tqdm import tqdm

from pacs.base.errors import UserError, one_line
from pacs.diversity.cache import Cache, Embedding
from pacs.diversity.measures import encodable

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DType = Literal["float32", "bfloat16", "float16"]

INSTALL = "pip install sentence-transformers"
#: Batches between two writes to the cache: what a kill costs.
BATCHES_A_WRITE = 16


class Embedder:
    """An embedding model.

    Attributes:
        name: of the model, as given.
        identity: a hash of all that decides an embedding: weights, tokenizer, modules, longest text, precision.
        max_tokens: of a longer text the rest is cut off.

    Args:
        name: a Hugging Face id or a folder.
        batch_size: texts at a time.
        dtype: the precision the model computes in.
        max_tokens: embed this much of a response at most; None: as much as the model takes.

    Raises:
        UserError: sentence-transformers is not installed, or the model cannot be loaded or is a chat model.
    """

    def __init__(self, name: str, *, batch_size: int, dtype: DType = "float32", max_tokens: int | None = None) -> None:
        self.name = name
        self._batch_size = batch_size
        self._model = _load(name, dtype)
        longest: int = self._model.max_seq_length
        if max_tokens is not None:
            if max_tokens > longest:
                raise UserError(f"--max-tokens {max_tokens}: {name} takes {longest} at most")
            self._model.max_seq_length = max_tokens
        self.max_tokens: int = self._model.max_seq_length
        self.identity = _identity(self._model)

    def embed(self, cache: Cache, texts: Sequence[str], what: str = "responses") -> tuple[npt.NDArray[np.float32], int]:
        """Embed texts, those that the cache has not; equal texts once.

        Args:
            cache: where embeddings are looked up first, and kept.
            texts: n of them, at least one.
            what: names them in the progress bar.

        Returns:
            (n, D), in their order; and how many of them were too long and were cut.

        Raises:
            UserError: the device's memory is too small for a batch, an embedding is zero or not finite, or the
                cache cannot be used.
        """
        texts = [*map(encodable, texts)]
        known: dict[str, Embedding] = {}
        missing = []
        for text in dict.fromkeys(texts):
            if (found := cache.get(self.identity, text)) is None:
                missing.append(text)
            else:
                known[text] = found
        missing.sort(key=len, reverse=True)  # little padding, and too large a batch fails at once
        with tqdm(total=len(missing), desc=f"embedding {what}", unit=" texts", disable=not missing) as progress:
            step = self._batch_size * BATCHES_A_WRITE
            for start in range(0, len(missing), step):
                part = missing[start : start + step]
                new = dict(zip(part, self._compute(part), strict=True))
                cache.put(self.identity, new.items())
                known |= new
                progress.update(len(part))
        return np.stack([known[text].vector for text in texts]), sum(known[text].cut for text in texts)

    def _compute(self, texts: list[str]) -> list[Embedding]:
        try:
            vectors = self._model.encode(texts, batch_size=self._batch_size, show_progress_bar=False).astype(np.float32)
        except torch.OutOfMemoryError as error:
            raise UserError(
                f"--batch-size {self._batch_size}: too much for the device's memory; give a smaller one"
            ) from error
        if not (np.isfinite(vectors).all() and vectors.any(axis=1).all()):
            raise UserError(
                f"--embedding-model {self.name} gives an embedding that is zero or not finite: try --dtype float32"
            )
        uncut_ids = self._model.tokenizer(texts, verbose=False)["input_ids"]
        return [Embedding(vector, len(ids) > self.max_tokens) for vector, ids in zip(vectors, uncut_ids, strict=True)]


def _load(name: str, dtype: DType) -> "SentenceTransformer":
    if find_spec("sentence_transformers") is None:
        raise UserError(f"sentence-transformers is not installed: {INSTALL}")
    from sentence_transformers import SentenceTransformer  # seconds

    try:
        model = SentenceTransformer(name, model_kwargs={"dtype": dtype})
    except Exception as error:  # what transformers, safetensors or a module's own code raises of files that are damaged
        why = f"{type(error).__name__}: {one_line(error)}"
        raise UserError(f"--embedding-model {name} cannot be loaded ({why})") from error
    if "message" in model.modalities:  # what is embedded would be a chat in which the response is the user's turn
        raise UserError(f"--embedding-model {name} is a chat model: give one made for sentence-transformers")
    return model.eval()


def _identity(model: "SentenceTransformer") -> str:
    digest = hashlib.sha256()
    digest.update(repr((repr(model), model.max_seq_length, model.dtype)).encode())
    digest.update(model.tokenizer.backend_tokenizer.to_str().encode())
    for name, weights in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(weights.cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    return digest.hexdigest()
