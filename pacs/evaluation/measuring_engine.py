"""An engine that samples nothing, and says how probable the last tokens of a request are."""

import json
from typing import Any

from pacs.evaluation.engine import Engine, Finished, Request


class MeasuringEngine(Engine):
    """vLLM's engine, which samples nothing: what is finished says the log-probabilities of a request's last tokens.

    A request's seed is how many of its tokens are meant.
    """

    def start(self) -> int:
        """As an engine that samples."""
        self._wanted: dict[str, int] = {}
        return super().start()

    def _sampling(self, request: Request) -> dict[str, Any]:
        self._wanted[request.id] = request.seed
        return {"temperature": 0.0, "max_tokens": 1, "prompt_logprobs": 0, "detokenize": False}

    def _finished(self, output: Any) -> Finished:
        """Of a request, with the log-probabilities as JSON in place of a response."""
        count = self._wanted.pop(output.request_id)
        last = zip(output.prompt_token_ids[-count:], output.prompt_logprobs[-count:], strict=True)
        log_probs = [of_place[token].logprob for token, of_place in last]
        return Finished(output.request_id, json.dumps(log_probs), count, False, None, 0)
