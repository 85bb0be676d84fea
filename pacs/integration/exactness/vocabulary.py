"""Whether two models mean the same by a token's number."""

from typing import Any


def other_tokens(policy: Any, teacher: Any) -> list[str]:
    """The tokens of a policy's tokenizer that have another number in a teacher's, or none."""
    numbers = teacher.get_vocab()
    return [token for token, number in policy.get_vocab().items() if numbers.get(token) != number]
