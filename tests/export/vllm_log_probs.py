"""vLLM loads a folder as a user would, and says how likely it holds tokens; started by test_vllm.py as a process."""

import json
import sys
from pathlib import Path

from vllm import LLM, SamplingParams


def main() -> None:
    folder, answer = sys.argv[1:]
    sequences = json.load(sys.stdin)
    llm = LLM(folder, dtype="float32", enforce_eager=True, max_model_len=128, disable_log_stats=True)
    prompts = [{"prompt_token_ids": tokens} for tokens in sequences]
    outputs = llm.generate(prompts, SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0))
    log_probs = [
        [step[token].logprob for step, token in zip(output.prompt_logprobs[1:], tokens[1:], strict=True)]
        for output, tokens in zip(outputs, sequences, strict=True)
    ]
    Path(answer).write_text(json.dumps(log_probs))


if __name__ == "__main__":
    main()
