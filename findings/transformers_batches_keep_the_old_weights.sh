#!/usr/bin/env bash
# transformers 5.10.4: generate_batch with persistent_manager=True keeps the prompts' keys and values from earlier weights, and
# the sampling settings of the first call: behind a training step, prompts that were seen before are read by the old model.
#
# Guessed: persistent_manager saves the set-up of a manager (memory, graphs) between calls; what a call returns depends on the
# model and the settings that it is called with.
# Seen (2026-11-30, transformers 5.10.4, torch 2.13.0, a Llama of two layers in float32, blocks of 16 tokens, 20 prompts of 8
# and 20 of 40 tokens, greedy): the manager's cache shares the blocks of equal prompts, and outlives the call. After new weights
# are loaded into the model, no response to a long prompt is right any more: the first two blocks of the prompt are the old
# model's, and only the rest is the new one's. The log-probabilities that come back are those of this mixture. Prompts that
# fill no block (256 tokens by default) are right. And a greedy call behind one that sampled samples, too: the settings are
# those of the first call, but for max_new_tokens. So a loop of rollouts and steps over the same prompts, or with one long
# system prompt, samples from a model that nobody trains, and an evaluation in between is not greedy. Do not persist the
# manager across a step, call destroy_cached_continuous_batching_manager() before each one, or set allow_block_sharing=False
# and keep the settings.
#
#   wrong responses to 20 short and 20 long prompts:
#   persistent_manager=True: 0 and 0 before the weights changed, 0 and 20 after
#   persistent_manager=True, allow_block_sharing=False: 0 and 0 before the weights changed, 0 and 0 after
#   persistent_manager=False: 0 and 0 before the weights changed, 0 and 0 after
#   greedy responses of a greedy call behind a sampling one: 0 of 20; with persistent_manager=False: 20 of 20
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy transformers==5.10.4 accelerate==1.15.0
export HF_HOME=$folder/home HF_HUB_OFFLINE=1
cat >"$folder/persistent.py" <<'PYTHON'
import logging
import sys

import torch
from transformers import ContinuousBatchingConfig, GenerationConfig, LlamaConfig, LlamaForCausalLM

SEEN = """\
persistent_manager=True: 0 and 0 before the weights changed, 0 and 20 after
persistent_manager=True, allow_block_sharing=False: 0 and 0 before the weights changed, 0 and 0 after
persistent_manager=False: 0 and 0 before the weights changed, 0 and 0 after
greedy responses of a greedy call behind a sampling one: 0 of 20; with persistent_manager=False: 20 of 20"""


def model(seed):
    torch.manual_seed(seed)
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
    ends = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": 0}
    found = LlamaForCausalLM(LlamaConfig(num_attention_heads=2, **sizes, **ends)).eval()
    with torch.no_grad():
        found.lm_head.weight.mul_(30)
    return found


def responses(model, prompts, persistent, sharing=True, **settings):
    # Blocks of 16 tokens: a prompt of 8 fills none, and one of 40 fills two.
    batching = ContinuousBatchingConfig(
        block_size=16, num_blocks=128, max_batch_tokens=256, allow_block_sharing=sharing, return_logprobs=True
    )
    settings = {"max_new_tokens": 20, "do_sample": False, "eos_token_id": -1, "pad_token_id": 0} | settings
    done = model.generate_batch(
        prompts, GenerationConfig(**settings), continuous_batching_config=batching, persistent_manager=persistent,
        progress_bar=False, warmup=False,
    )  # fmt: skip
    assert len(done) == len(prompts)
    return done.values()


def off(model, prompts, persistent, sharing):
    """The number of responses with a log-probability that is not the model's for that token, by more than 0.01."""
    count = 0
    for response in responses(model, prompts, persistent, sharing):
        tokens = list(response.generated_tokens)
        with torch.no_grad():
            logits = model(torch.tensor([[*response.prompt_ids, *tokens]])).logits[0, -len(tokens) - 1 : -1]
        right = logits.log_softmax(-1).gather(1, torch.tensor(tokens)[:, None])[:, 0]
        count += bool(((torch.tensor(response.logprobs) - right).abs() > 0.01).any())
    return count


def greedy_behind_sampling(persistent):
    """The number of responses of a greedy call, behind one that samples, that are the greedy ones."""
    policy = model(0)
    greedy = {tuple(done.prompt_ids): done.generated_tokens for done in responses(model(0), short, False)}
    responses(policy, short, persistent, do_sample=True, temperature=3.0, top_k=0)
    return sum(done.generated_tokens == greedy[tuple(done.prompt_ids)] for done in responses(policy, short, persistent))


logging.disable(logging.WARNING)
torch.set_num_threads(1)
random = torch.Generator().manual_seed(0)
short, long = (torch.randint(2, 64, (20, length), generator=random).tolist() for length in (8, 40))
lines = []
for name, persistent, sharing in (
    ("persistent_manager=True", True, True),
    ("persistent_manager=True, allow_block_sharing=False", True, False),
    ("persistent_manager=False", False, True),
):
    policy = model(0)
    before = [off(policy, prompts, persistent, sharing) for prompts in (short, long)]
    policy.load_state_dict(model(1).state_dict())
    after = [off(policy, prompts, persistent, sharing) for prompts in (short, long)]
    lines.append(f"{name}: {before[0]} and {before[1]} before the weights changed, {after[0]} and {after[1]} after")
lines.append(
    f"greedy responses of a greedy call behind a sampling one: {greedy_behind_sampling(True)} of 20; "
    f"with persistent_manager=False: {greedy_behind_sampling(False)} of 20"
)
print("wrong responses to 20 short and 20 long prompts:")
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" "$folder/persistent.py" 2>"$folder/errors" || {
  code=$?
  tail -5 "$folder/errors"
  exit "$code"
}
