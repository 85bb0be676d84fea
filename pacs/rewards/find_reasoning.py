"""How a run's model marks its reasoning: found from its tokenizer, its chat template, and the prompt's end.

Once for a run, and the same in training and in evaluation.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from os.path import commonprefix
from typing import Any

from jinja2 import TemplateError

from pacs.rewards.reasoning import ALWAYS, OF_A_TEMPLATE, TAG, Delimiters, Reasoning, pair_of, tag_pairs


class CannotTell(ValueError):
    """It cannot be told how a model's reasoning ends; the message says what stands in the way."""


def find_reasoning(
    tokenizer: Any, options: Mapping[str, Any], named: Sequence[Sequence[str]] | None = None
) -> Reasoning:
    """How a model marks its reasoning.

    Args:
        tokenizer: of transformers, with the run's chat template.
        options: of the chat template, as the run gives them.
        named: the user's pairs of an opening and a closing text, as `check_named` takes them; None: find them.

    Raises:
        CannotTell: the template opens something behind the last message, and how that ends is not known.
    """
    end, header = _rendered(tokenizer, options)
    special = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
    special += tokenizer.all_special_tokens
    if named is not None:
        delimiters = of_tokenizer = tuple(pair_of(*pair) for pair in named)
    else:
        template = tokenizer.get_chat_template() if tokenizer.chat_template else ""
        added = tokenizer.get_added_vocab()
        of_tokenizer = _of(added, f"{template}\n{end}")
        delimiters = (*ALWAYS, *(each for each in of_tokenizer if each not in ALWAYS))
        _check_told(end, header, delimiters, added)
    texts = [text for each in of_tokenizer for text in (*each.opens, *each.closes)]
    lost = any(token in text for text in texts for token in special if token)
    return Reasoning(delimiters, end, lost, named is not None, of_tokenizer)


def _of(added: Iterable[str], template: str) -> tuple[Delimiters, ...]:
    """The delimiters that a tokenizer's added tokens or its chat template have."""
    texts = "\n".join([*added, template])
    known = [each for each in (*ALWAYS, *OF_A_TEMPLATE) if each.opens[0] in texts]
    # of gpt-oss the template makes the channel's name from a variable
    known += [each for each in ALWAYS if "<|channel|>" in each.opens[0] and "<|channel|>" in texts]
    spelled = {text for each in known for text in (*each.opens, *each.closes)}
    found = [pair_of(*pair) for pair in tag_pairs(texts, texts) if spelled.isdisjoint(pair)]
    return tuple(dict.fromkeys([*known, *found]))


def _rendered(tokenizer: Any, options: Mapping[str, Any]) -> tuple[str, str]:
    """What the chat template puts behind the last message, and what it puts before an answer that is there."""
    if not tokenizer.chat_template:
        return "", ""
    asked, said = "a question of 1783", "an answer of 2917"
    user, assistant = {"role": "user", "content": asked}, {"role": "assistant", "content": said}
    try:
        prompt = tokenizer.apply_chat_template([user], add_generation_prompt=True, tokenize=False, **options)
    except TemplateError:  # it takes other conversations alone; what it opens is then found at each prompt's end
        return "", ""
    end = str(prompt).rpartition(asked)[2]
    try:
        both = tokenizer.apply_chat_template([user, assistant], tokenize=False, **options)
    except TemplateError:
        return end, end
    return end, str(both).rpartition(asked)[2].partition(said)[0]


def _check_told(end: str, header: str, delimiters: Sequence[Delimiters], added: Iterable[str]) -> None:
    """Raise CannotTell if a prompt's end has words or tags that stand before no answer, and no known delimiter.

    Args:
        end: what the template puts behind the last message.
        header: what it puts before an answer that is there.
        delimiters: known.
        added: the tokenizer's added tokens.
    """
    opened = end.removeprefix(commonprefix([end, header]))  # noqa: RUF071 (of characters: it is what is meant)
    tags = [found[0] for found in TAG.finditer(opened)]
    tags += [token for token in added if token.strip() and token in opened]
    known = [text for each in delimiters for text in (*each.opens, *each.closes)]
    words = re.search(r"\w", opened) is not None and not tags
    if (words or any(tag not in header for tag in tags)) and not any(text in opened for text in known):
        raise CannotTell(
            f"the chat template ends a prompt with {opened.strip()!r}, which stands before no answer that is there: if "
            "it opens the model's reasoning, what ends that cannot be told from the tokenizer"
        )
