"""A process of its own: `python -m tests.planning.real_engine CASES.json` serves each case with the installed vLLM.

A case is {"requests": [[prompt tokens, response tokens, group], ...], "limits": {...}}, as of `pacs.planning.batching`.
Of each a line of JSON is printed: the scheduler's steps, preemptions, tokens in bulk and the most requests at once.
"""

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

# The scheduler within this process, where its counts can be read.
os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1"}
os.environ |= {"VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_PLUGINS": ""}

import torch
from transformers import AutoModelForCausalLM, Qwen3Config

VOCABULARY = 512


def serve(model: Path, case: dict[str, Any]) -> dict[str, int]:
    """The case's counts."""
    from vllm import LLM, SamplingParams

    limits = case["limits"]
    engine = LLM(
        model=str(model),
        skip_tokenizer_init=True,
        dtype="float32",
        enforce_eager=True,
        block_size=16,
        num_gpu_blocks_override=limits["blocks"] + 1,  # of which vLLM keeps one that nothing is written to
        max_model_len=max(prompt + response for prompt, response, _ in case["requests"]),
        max_num_seqs=limits["sequences"],
        max_num_batched_tokens=limits["batched_tokens"],
        enable_prefix_caching=limits["prefix_caching"],
        watermark=limits["watermark"] / (limits["blocks"] + 1) + 1e-9,
        enable_chunked_prefill=True,
        async_scheduling=False,
    )
    scheduler = engine.llm_engine.engine_core.engine_core.scheduler
    counts = {"steps": 0, "preemptions": 0, "prefilled": 0, "most": 0}
    schedule, generating = scheduler.schedule, set[str]()

    def counted(*args: Any, **kwargs: Any) -> Any:
        output = schedule(*args, **kwargs)
        if not output.total_num_scheduled_tokens:
            return output
        preempted = output.preempted_req_ids or set()
        generating.difference_update(preempted)
        counts["steps"] += 1
        counts["most"] = max(counts["most"], len(scheduler.running))
        counts["preemptions"] += len(preempted)
        for name, tokens in output.num_scheduled_tokens.items():
            if name not in generating:
                counts["prefilled"] += tokens
                request = scheduler.requests[name]
                if request.num_computed_tokens >= request.num_tokens:
                    generating.add(name)
        return output

    scheduler.schedule = counted
    prompts, sampling = [], []
    for prompt, response, group in case["requests"]:
        prompts.append({"prompt_token_ids": [(17 * group + 5 * place) % VOCABULARY for place in range(prompt)]})
        sampling.append(SamplingParams(max_tokens=response, ignore_eos=True, temperature=1.0, detokenize=False))
    answers = engine.generate(prompts, sampling, use_tqdm=False)
    assert [len(answer.outputs[0].token_ids) for answer in answers] == [response for _, response, _ in case["requests"]]
    return counts


def main() -> None:
    """Serve the cases."""
    cases = json.loads(Path(sys.argv[1]).read_text())
    torch.manual_seed(0)
    shape = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=512,
    )
    with tempfile.TemporaryDirectory() as folder:
        AutoModelForCausalLM.from_config(shape, dtype=torch.float32).save_pretrained(folder)
        for case in cases:
            print(json.dumps(serve(Path(folder), case)), flush=True)


if __name__ == "__main__":
    main()
