"""Where a response is cut into segments, each of which the critic values by what stands before it."""

from collections.abc import Sequence

from pacs.algorithm.vineppo import delimiter_ends

#: The authors cut "by delimiter rules" and do not print these. A segment of theirs has 120 tokens in the mean.
DELIMITER, LEAST_TOKENS, MOST_TOKENS = "\n", 64, 256


def segment_starts(
    texts: Sequence[str], delimiter: str = DELIMITER, least_tokens: int = LEAST_TOKENS, most_tokens: int = MOST_TOKENS
) -> list[int]:
    """Where the segments of a response begin.

    A segment ends with the token that completes the delimiter, once it has `least_tokens`, and at `most_tokens` in any
    case. Whether it ends depends on its tokens and those before them alone. Otherwise its value, which the critic gives
    before it, would be a baseline that depends on the action, and bias the gradient.

    Args:
        texts: of each token of the response.
        delimiter: text that ends a segment.
        least_tokens: a shorter segment goes on to the next delimiter.
        most_tokens: a segment has no more, also where this is less than `least_tokens`.

    Returns:
        The place of each segment's first token, ascending; [0] of a response in one segment.
    """
    ends = set(delimiter_ends(texts, delimiter))
    starts = [0]
    for place in range(1, len(texts)):
        tokens = place - starts[-1]
        if tokens >= most_tokens or (tokens >= least_tokens and place in ends):
            starts.append(place)
    return starts
