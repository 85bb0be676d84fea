"""A character-level fast tokenizer with a chat template in the manner of Qwen's.

Every printable ASCII character and the newline is one token, so text round-trips exactly; anything else becomes
`<|unk|>`. A turn is opened by one role token and closed by `<|im_end|>`, which is also the end-of-sequence token:

    <|user|>27+45<|im_end|><|assistant|>7+5=12 \\boxed{72}<|im_end|>

One token a role, because at one token a character "assistant" spelt out would be longer than most answers.
"""

import string

from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

PAD, UNKNOWN, USER, ASSISTANT, END = "<|pad|>", "<|unk|>", "<|user|>", "<|assistant|>", "<|im_end|>"
CHARACTERS = string.digits + string.ascii_letters + string.punctuation + " \n"

# `raise_exception` comes from transformers: a silently skipped message would train on half a conversation.
CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if message['role'] not in ['user', 'assistant'] %}"
    "{{ raise_exception('the arithmetic tokenizer knows the roles user and assistant, not ' + message['role']) }}"
    "{% endif %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] + '<|im_end|>' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def build_tokenizer(max_length: int, size: int = 0) -> PreTrainedTokenizerFast:
    """Make the tokenizer.

    Args:
        max_length: longest sequence in tokens, the model's `max_position_embeddings`.
        size: of the vocabulary, if that is more: filled up with tokens that no text is encoded to, so that whatever a
            model of this vocabulary samples is text.
    """
    tokens = [PAD, UNKNOWN, USER, ASSISTANT, END, *CHARACTERS]
    tokens += [f"<{i}>" for i in range(len(tokens), size)]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    # Byte-pair encoding with no merges is character-level, and needs no pre-tokenizer that could eat spaces.
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token=UNKNOWN))
    tokenizer.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        unk_token=UNKNOWN,
        eos_token=END,
        additional_special_tokens=[USER, ASSISTANT],
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
        padding_side="left",
        model_max_length=max_length,
    )
