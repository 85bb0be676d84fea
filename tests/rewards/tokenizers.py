"""Tokenizers of single bytes whose added tokens and chat templates are those of models that reason."""

from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

#: ChatML, with what it puts behind the last message in place of OPENS.
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\nOPENS{% endif %}"
)


def tokenizer(special: Sequence[str] = (), plain: Sequence[str] = (), opens: str = "") -> PreTrainedTokenizerFast:
    """One with added tokens, special and not, whose template ends a prompt with a text."""
    characters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_alone = Tokenizer(models.BPE(vocab={character: i for i, character in enumerate(characters)}, merges=[]))
    bytes_alone.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_alone.decoder = decoders.ByteLevel()
    made = PreTrainedTokenizerFast(tokenizer_object=bytes_alone, eos_token="<|im_end|>", pad_token="<|pad|>")
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>", *special]})
    made.add_tokens([AddedToken(text, special=False) for text in plain])
    made.chat_template = TEMPLATE.replace("OPENS", opens)
    return made
