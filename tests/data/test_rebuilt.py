"""Tokenizers that transformers builds anew: which are told, and that what is said mends them; in real transformers."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.models.qwen2.tokenization_qwen2 import PRETOKENIZE_REGEX

from pacs.base.errors import UserError
from pacs.data.chat_template import load_tokenizer
from pacs.data.rebuilt import TEXTS, rebuilt_problem
from recipes.arithmetic.tokenizer import build_tokenizer

#: Llama 3's digits: up to three are a token.
BY_THREE = PRETOKENIZE_REGEX.replace(r"\p{N}|", r"\p{N}{1,3}|")


def characters() -> Tokenizer:
    return build_tokenizer(64).backend_tokenizer


def bytes_by(*before: pre_tokenizers.PreTokenizer, normalizer: normalizers.Normalizer | None = None) -> Tokenizer:
    """Byte-level, with all pairs of digits and each letter with a space before it as tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [
        ("2", "3"),
        ("6", "5"),
        ("65", "0"),
        ("1", "8"),
        ("\u0120", "w"),
        ("\u0120", "a"),
        ("\u0120", "\u0120"),
        ("'", "s"),
    ]
    vocabulary = {token: number for number, token in enumerate([*alphabet, *map("".join, merges)])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(list(before))
    made.decoder = decoders.ByteLevel()
    if normalizer is not None:
        made.normalizer = normalizer
    return made


def split_by(pattern: str, normalizer: normalizers.Normalizer | None = None) -> Tokenizer:
    """As Qwen's and Llama 3's are published."""
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return bytes_by(pre_tokenizers.Split(Regex(pattern), "isolated"), level, normalizer=normalizer)


def gpts(normalizer: normalizers.Normalizer | None = None) -> Tokenizer:
    """As those of GPT-2 and GPT-NeoX are published."""
    return bytes_by(pre_tokenizers.ByteLevel(add_prefix_space=False), normalizer=normalizer)


def pieces(*, prepended: bool) -> Tokenizer:
    """SentencePiece's, as Llama 2's (prepended) and Gemma's are published."""
    space = "\u2581"
    tokens = [
        "<unk>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        space,
        *"0123456789abcdefghijklmnopqrstuvwxyz",
        f"{space}a",
    ]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    made = Tokenizer(
        models.BPE(vocab=vocabulary, merges=[(space, "a")], unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    )
    replace = normalizers.Replace(" ", space)
    made.normalizer = normalizers.Sequence([normalizers.Prepend(space), replace]) if prepended else replace
    read: list[decoders.Decoder] = [decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse()]
    if prepended:
        read.append(decoders.Strip(" ", 1, 0))
    else:
        made.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    made.decoder = decoders.Sequence(read)
    return made


def write(folder: Path, made: Tokenizer, kind: str, named: str | None) -> Path:
    """A folder of a model of this type, whose tokenizer_config.json names this class."""
    PreTrainedTokenizerFast(tokenizer_object=made, eos_token="<|end|>", pad_token="<|pad|>").save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": kind}))
    change(folder, {"tokenizer_class": named})
    return folder


def change(folder: Path, settings: dict[str, Any]) -> None:
    file = folder / "tokenizer_config.json"
    changed = json.loads(file.read_text()) | settings
    file.write_text(json.dumps({name: value for name, value in changed.items() if value is not None}))


def encoded(tokenizer: Any) -> list[list[int]]:
    return [tokenizer.encode(text, add_special_tokens=False) for text in TEXTS]


@pytest.mark.parametrize(
    ("made", "kind", "named"),
    [
        (lambda: split_by(PRETOKENIZE_REGEX, normalizers.NFC()), "qwen2", "Qwen2Tokenizer"),
        (lambda: split_by(PRETOKENIZE_REGEX), "qwen2", "LlamaTokenizerFast"),  # R1-Distill's
        (lambda: split_by(PRETOKENIZE_REGEX, normalizers.NFC()), "qwen3", "Qwen2Tokenizer"),
        (lambda: split_by(PRETOKENIZE_REGEX, normalizers.NFC()), "qwen3", None),
        (lambda: split_by(BY_THREE), "llama", "PreTrainedTokenizerFast"),
        (lambda: split_by(BY_THREE), "qwen3", "PreTrainedTokenizerFast"),
        (gpts, "gpt2", "GPT2Tokenizer"),
        (lambda: gpts(normalizers.NFC()), "gpt_neox", "GPTNeoXTokenizerFast"),
        (lambda: pieces(prepended=True), "llama", "LlamaTokenizerFast"),
        (lambda: pieces(prepended=True), "mistral", "LlamaTokenizer"),
        (lambda: pieces(prepended=False), "gemma3_text", "GemmaTokenizerFast"),
        (characters, "qwen3", "PreTrainedTokenizerFast"),
        (characters, "llama", None),
    ],
)
def test_the_tokenizers_that_one_meets_pass(
    made: Callable[[], Tokenizer], kind: str, named: str | None, tmp_path: Path
) -> None:
    assert rebuilt_problem(AutoTokenizer.from_pretrained(write(tmp_path, made(), kind, named))) is None


@pytest.mark.parametrize(
    ("made", "kind", "named", "said"),
    [
        (
            characters,
            "qwen2",
            "PreTrainedTokenizerFast",
            r"'1 2\n3' becomes the tokens [6, 7, 8] and not [6, 99, 7, 100, 8]",
        ),
        (characters, "qwen3", None, r"'1 2\n3' becomes the tokens [6, 7, 8]"),
        (lambda: split_by(BY_THREE), "qwen2", "Qwen2Tokenizer", "'1 + 23 = 24' becomes the tokens"),
        (
            lambda: split_by(BY_THREE),
            "llama",
            "LlamaTokenizerFast",
            r"'1 2\n3' becomes the tokens",
        ),  # R1-Distill-Llama's
        (lambda: split_by(BY_THREE), "olmo2", "GPT2Tokenizer", "'650841823' becomes the tokens"),
    ],
)
def test_those_that_are_built_otherwise_are_told_and_mended_by_what_is_said(
    made: Callable[[], Tokenizer], kind: str, named: str | None, said: str, tmp_path: Path
) -> None:
    folder = write(tmp_path / "model", made(), kind, named)
    meant = [made().encode(text).ids for text in TEXTS]
    loaded = AutoTokenizer.from_pretrained(folder)
    problem = rebuilt_problem(loaded)
    assert problem is not None
    assert said in problem
    with pytest.raises(UserError, match=r"--model .* has a tokenizer.json that transformers does not heed"):
        load_tokenizer(str(folder))
    saved = tmp_path / "saved"
    loaded.save_pretrained(saved)
    (saved / "config.json").write_text((folder / "config.json").read_text())
    assert encoded(load_tokenizer(str(saved))) == encoded(loaded) != meant
    for name, value in re.findall(r'"(\w+)": (\{.*?\}|".*?")', problem):
        change(folder, {name: json.loads(value)})
    mended = load_tokenizer(str(folder))
    assert encoded(mended) == meant
    mended.save_pretrained(folder)  # a checkpoint, an export
    assert encoded(load_tokenizer(str(folder))) == meant


def test_what_is_read_back_otherwise_is_told(tmp_path: Path) -> None:
    made = split_by(PRETOKENIZE_REGEX)
    made.decoder = decoders.Fuse()
    problem = rebuilt_problem(AutoTokenizer.from_pretrained(write(tmp_path, made, "qwen3", None)))
    assert problem is not None
    assert r"'1 2\n3' becomes '1 2\n3' and not '1" in problem
    assert "once read back" in problem


def test_a_model_in_the_hubs_cache_is_compared_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = "0" * 40
    cached = tmp_path / "models--org--model"
    write(cached / "snapshots" / commit, characters(), "qwen2", None)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    loaded = AutoTokenizer.from_pretrained("org/model", local_files_only=True, cache_dir=tmp_path)
    assert rebuilt_problem(loaded) is not None


def test_without_the_file_there_is_nothing_to_compare(tmp_path: Path) -> None:
    loaded = AutoTokenizer.from_pretrained(write(tmp_path, characters(), "qwen2", None))
    (tmp_path / "tokenizer.json").unlink()
    assert rebuilt_problem(loaded) is None
