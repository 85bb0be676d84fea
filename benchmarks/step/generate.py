"""Child: sample the rollouts with vLLM, in a process of its own, so that its memory is released."""

import json
import sys
from pathlib import Path
from time import perf_counter

from vllm import LLM, SamplingParams

from benchmarks.step.child import say
from benchmarks.step.rollouts import make_rollouts, random_prompts, response_lengths
from benchmarks.step.settings import SHAPES, Settings


def sampling(tokens: int) -> SamplingParams:
    """Exactly so many tokens, with their log-probabilities, as verl asks for them."""
    return SamplingParams(
        max_tokens=tokens, min_tokens=tokens, ignore_eos=True, temperature=1.0, logprobs=0, detokenize=False
    )


def main(folder: Path) -> None:
    """Write rollouts.pt and generation.json to the work folder."""
    settings = Settings.read(folder)
    cpu = settings.device == "cpu"
    llm = LLM(
        model=str(folder / "model"),
        skip_tokenizer_init=True,
        dtype="float32" if cpu else "bfloat16",
        enforce_eager=cpu,
        max_model_len=settings.longest_sequence,
        max_num_seqs=settings.rows,
        seed=settings.seed,
    )
    prompts = random_prompts(settings, SHAPES[settings.shape].model.vocab_size)
    inputs = [{"prompt_token_ids": prompt} for prompt in prompts]
    lengths = response_lengths(settings.rows, settings.median_tokens, settings.seed)
    llm.generate(inputs, sampling(1), use_tqdm=False)  # warm-up
    llm.reset_prefix_cache()  # which has these prompts now: a step reads them anew

    start = perf_counter()
    answers = llm.generate(inputs, [sampling(length) for length in lengths], use_tqdm=False)
    seconds = perf_counter() - start
    outputs = [answer.outputs[0] for answer in answers]
    responses = [list(output.token_ids) for output in outputs]
    log_probs = [[next(iter(step.values())).logprob for step in output.logprobs] for output in outputs]
    assert [len(response) for response in responses] == lengths
    make_rollouts(prompts, responses, log_probs, settings.seed).save(folder)
    tokens = sum(lengths)
    (folder / "generation.json").write_text(json.dumps({"seconds": seconds, "tokens": tokens}))
    say(f"generated {tokens:,} tokens in {seconds:.1f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
