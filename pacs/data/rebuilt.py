"""Tokenizers that transformers loads otherwise than their tokenizer.json says.

Most of its classes take the vocabulary from that file and put a pre-tokenizer and a decoder of their own around it
(findings/transformers_auto_tokenizer_rebuilds_qwen2.sh). A model whose class is not that of its tokenizer then reads
texts without spaces, or numbers cut at other digits.
"""

import json
from pathlib import Path
from typing import Any, Final

#: What to compare. None begins with a space, nor has a special token: there transformers means to differ.
TEXTS: Final = (
    "1 2\n3", "1 + 23 = 24", "650841823", "a  b\n\n\tc \n  d", "It's what WE'LL do", r"\boxed{\frac{1}{2}}",
    'def f(x):\n    return x["k"][0] ** 2  # ok', "naïve Straße, “quoted” – 3 ≤ π²", "привет мир", "日本語、中文", "🙂",
)  # fmt: skip


def rebuilt_problem(tokenizer: Any) -> str | None:
    """What a tokenizer as loaded makes otherwise than its tokenizer.json, a clause that goes on from its name; or None.

    Args:
        tokenizer: as AutoTokenizer loads it.
    """
    from tokenizers import Tokenizer
    from transformers import TokenizersBackend

    # That class itself reads the whole file.
    if not isinstance(tokenizer, TokenizersBackend) or type(tokenizer) is TokenizersBackend:
        return None
    if (folder := _folder(str(tokenizer.name_or_path))) is None:
        return None
    written = Tokenizer.from_file(str(folder / "tokenizer.json"))
    written.no_padding()
    written.no_truncation()
    for text in TEXTS:
        loads = tokenizer.encode(text, add_special_tokens=False)
        says = written.encode(text, add_special_tokens=False).ids
        reads, meant = (each.decode(says, skip_special_tokens=False) for each in (tokenizer.backend_tokenizer, written))
        if (loads, reads) != (says, meant):
            made = (
                f"the tokens {loads} and not {says}"
                if loads != says
                else f"{reads!r} and not {meant!r}, once read back"
            )
            return (
                f"has a tokenizer.json that transformers does not heed, and with it verl and vLLM: {text!r} becomes "
                f"{made}. {_mend(folder, type(tokenizer).__name__)}"
            )
    return None


def _folder(name: str) -> Path | None:
    """Where the model's tokenizer.json is: its folder, or that of the Hugging Face Hub's cache."""
    from huggingface_hub import try_to_load_from_cache

    if Path(name).is_dir():
        return Path(name) if Path(name, "tokenizer.json").is_file() else None
    found = try_to_load_from_cache(name, "tokenizer.json")
    return Path(found).parent if isinstance(found, str) else None


def _mend(folder: Path, loaded: str) -> str:
    from transformers.models.auto.tokenization_auto import MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS as OVERRULED

    settings = '"tokenizer_class": "PreTrainedTokenizerFast"'
    config = folder / "config.json"
    if config.is_file() and json.loads(config.read_text(encoding="utf-8")).get("model_type") in OVERRULED:
        # Code of the tokenizer's own, which is not there and is not trusted, is what makes it heed that class.
        settings += ' and "auto_map": {"AutoTokenizer": [null, null]} (without trust_remote_code)'
    return (
        f"To have the file's, set {settings} in the tokenizer_config.json of a folder of yours; if the model was "
        f"trained with the {loaded} that transformers makes of it, save that there (its save_pretrained)"
    )
