"""Seconds of a step of vLLM, from what it reads and what it calculates."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StepSeconds:
    """The roofline (Williams et al. 2009) of a step: reading the weights once and all keys and values of the running
    requests, or the operations, whichever takes longer; and what the host does.

    Attributes:
        weights: reading them.
        context: reading keys and values of one token.
        token: operations of generating a token, without attention.
        token_pair: attention of a generated token to one token before it.
        prompt_token, prompt_pair: the same of tokens that are calculated in bulk.
        step: beside these, of a step.
        sequence: beside these, of a request in a step.
    """

    weights: float
    context: float
    token: float
    token_pair: float
    prompt_token: float
    prompt_pair: float
    step: float
    sequence: float

    def generating(self, requests: int, context: int, steps: int) -> float:
        """Of so many steps one after another, in each of which every request gets a token.

        Args:
            requests: in the batch.
            context: tokens that all of them have before the first of the steps; `requests` more in each.
            steps: at least 1.
        """
        # Both are straight lines over the steps: up to where they cross one is the longer, from there the other.
        read, calculated = self._lines(requests, context)
        crossing = steps
        slope = read[1] - calculated[1]
        if slope:
            crossing = min(max(int((calculated[0] - read[0]) / slope), 0), steps)
        total = sum(
            max(_sum_of_line(line, first, last) for line in (read, calculated))
            for first, last in ((1, crossing), (crossing + 1, steps))
            if last >= first
        )
        return total + steps * (self.step + requests * self.sequence)

    def mixed(self, requests: int, generating: int, context: int, prompt_tokens: int, prompt_pairs: int) -> float:
        """Of one step in which text is calculated in bulk as well.

        Args:
            requests: in the batch.
            generating: of them get a token.
            context: tokens that those have which had one before.
            prompt_tokens: calculated in bulk.
            prompt_pairs: of these and the tokens that each of them sees.
        """
        calculated = generating * self.token + context * self.token_pair
        calculated += prompt_tokens * self.prompt_token + prompt_pairs * self.prompt_pair
        return max(self.weights + context * self.context, calculated) + self.step + requests * self.sequence

    def _lines(self, requests: int, context: int) -> tuple[tuple[float, float], tuple[float, float]]:
        """Reading and calculating at step j: (at 0, more a step)."""
        read = (self.weights + context * self.context, requests * self.context)
        return read, (requests * self.token + context * self.token_pair, requests * self.token_pair)


def _sum_of_line(line: tuple[float, float], first: int, last: int) -> float:
    return (last - first + 1) * (line[0] + line[1] * (first + last) / 2)
