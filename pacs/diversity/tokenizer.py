"""What n-grams are made of: the tokens of the models, or words."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from pacs.diversity.measures import Tokenize
from pacs.diversity.tokens import words
from pacs.evaluation.settings import read_settings


def find_tokenizer(folders: Sequence[Path]) -> tuple[str, Tokenize]:
    """The tokenizer of the first evaluation whose model is still where it was; else words. One for all evaluations.

    Returns:
        What it is, in words; and the function.
    """
    for folder in folders:
        model = read_settings(folder).model.folder
        try:
            tokenizer = AutoTokenizer.from_pretrained(model, local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError):
            continue  # the model has been moved: what is used instead is said
        return f"tokens of {model}", partial(_ids, tokenizer)
    return "words and signs, since no model's tokenizer is where it was", lambda texts: [words(text) for text in texts]


def _ids(tokenizer: PreTrainedTokenizerBase, texts: list[str]) -> list[list[int]]:
    ids: list[list[int]] = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    return ids
