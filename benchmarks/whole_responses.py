"""What it costs vLLM's front end to tell of each token of a response, where only the whole one is read.

    python benchmarks/whole_responses.py                        # the arithmetic recipe's model, untrained, on a CPU
    python benchmarks/whole_responses.py --model Qwen/Qwen3-0.6B --requests 1024 --tokens 2048

verl reads an engine's last output of a request, and vLLM by default makes one for each token (RequestOutputKind
CUMULATIVE); PACS asks for the last alone (FINAL_ONLY), unless requests may be broken off. The two kinds take turns on
one engine, with log-probabilities and without texts, as in training. Prints medians over the rounds: seconds, and
microseconds of this process's processor time for a token, each with its ratio to the first. Fails if the two wrote
different tokens.
"""

import argparse
import asyncio
import gc
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.table import format_table
from pacs.base.arguments import positive

PROMPT_TOKENS = 16


def make_model(folder: Path) -> Path:
    """The recipe's, whose tokens are those of a model that has learned nothing."""
    from recipes.arithmetic.model import build_model
    from recipes.arithmetic.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(4096)
    build_model(tokenizer, seed=0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


async def respond(engine: Any, kind: Any, name: str, arguments: argparse.Namespace) -> tuple[float, float, list[Any]]:
    """Wall and processor seconds of a round, and the tokens of its responses."""
    from vllm import SamplingParams

    async def response(number: int) -> list[int]:
        sampling = SamplingParams(
            seed=number, max_tokens=arguments.tokens, ignore_eos=True, logprobs=0, detokenize=False, output_kind=kind
        )
        prompt = {"prompt_token_ids": [3 + number % 7] * PROMPT_TOKENS}
        async for output in engine.generate(prompt, sampling, f"{name}-{number}"):
            last = output
        return list(last.outputs[0].token_ids)

    gc.collect()
    began, used = time.perf_counter(), time.process_time()
    responses = await asyncio.gather(*map(response, range(arguments.requests)))
    return time.perf_counter() - began, time.process_time() - used, responses


async def measure(model: str, arguments: argparse.Namespace) -> dict[str, list[tuple[float, float]]]:
    """Rounds of each kind of output."""
    from vllm import AsyncEngineArgs
    from vllm.sampling_params import RequestOutputKind
    from vllm.v1.engine.async_llm import AsyncLLM

    settings = AsyncEngineArgs(
        model=model, max_model_len=PROMPT_TOKENS + arguments.tokens, max_num_seqs=arguments.requests,
        enforce_eager=True, enable_chunked_prefill=False, enable_prefix_caching=False,
        max_num_batched_tokens=max(PROMPT_TOKENS + arguments.tokens, PROMPT_TOKENS * arguments.requests),
    )  # fmt: skip
    engine = AsyncLLM.from_engine_args(settings)
    found: dict[str, list[tuple[float, float]]] = {}
    try:
        for number in range(arguments.rounds + 1):
            written = []
            kinds = [RequestOutputKind.CUMULATIVE, RequestOutputKind.FINAL_ONLY]
            for kind in kinds[:: -1 if number % 2 else 1]:  # what comes second takes longer, whichever it is
                *seconds, tokens = await respond(engine, kind, f"{number}-{kind.name}", arguments)
                written.append(tokens)
                if number:  # the first warms up
                    found.setdefault(kind.name, []).append((seconds[0], seconds[1]))
            if written[0] != written[1]:
                raise SystemExit("the two kinds of output have different tokens")
    finally:
        engine.shutdown()
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="a folder or a name for vLLM (default: one that is made here)")
    parser.add_argument("--requests", type=positive, default=128, help="at a time (default: 128)")
    parser.add_argument("--tokens", type=positive, default=128, help="of each response (default: 128)")
    parser.add_argument("--rounds", type=positive, default=6, help="of each kind, after one to warm up (default: 6)")
    arguments = parser.parse_args()
    for name, value in {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind"}.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(prefix="whole-responses-") as folder:
        found = asyncio.run(measure(arguments.model or str(make_model(Path(folder))), arguments))
    tokens = arguments.requests * arguments.tokens
    medians = {kind: [statistics.median(each) for each in zip(*rounds, strict=True)] for kind, rounds in found.items()}
    wall, used = medians["CUMULATIVE"]
    rows = [
        [kind, f"{seconds:.2f} ({seconds / wall:.2f})", f"{1e6 * spent / tokens:.1f} ({spent / used:.2f})"]
        for kind, (seconds, spent) in sorted(medians.items())
    ]
    print(format_table(["outputs", "seconds of a round", "microseconds a token"], rows))


if __name__ == "__main__":
    main()
