"""A real engine of vLLM, whose model's reasoning is between special tokens: where each answer begins.

python -m tests.evaluation.reasoning_process MODEL OUT
"""

import json
import sys
from pathlib import Path
from typing import Any

from pacs.data.chat_template import Template
from pacs.evaluation.engine import Engine, EngineOptions, EngineSettings, Finished, Request
from pacs.evaluation.settings import Sampling

SAMPLES, TOKENS = 64, 48


class RecordingEngine(Engine):
    """Keeps the tokens of what it has finished."""

    tokens: dict[str, list[int]]

    def _finished(self, output: Any) -> Finished:
        self.tokens[output.request_id.partition("-")[0]] = list(output.outputs[0].token_ids)
        return super()._finished(output)


def main(model: str, out: str) -> None:
    """Write each sample's tokens, text, and where its answer begins."""
    template = Template(model)
    prompt = template.tokens([[{"role": "user", "content": "What is 2+3?"}]])[0]
    settings = EngineSettings(
        model, len(prompt) + TOKENS, Sampling(1.0, 1.0, TOKENS, dtype="float32"), EngineOptions(),
        template.reasoning(None), cpu=True,
    )  # fmt: skip
    engine = RecordingEngine(settings, Path(out).with_suffix(".log"))
    engine.tokens = {}
    engine.start()
    requests, found = [Request(str(i), prompt, i) for i in range(SAMPLES)], []
    while len(found) < SAMPLES:
        found += engine.exchange(requests)
        requests = []
    lines = [{"tokens": engine.tokens[each.id], "text": each.response, "begins": each.answer_begins} for each in found]
    Path(out).write_text(json.dumps(lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
