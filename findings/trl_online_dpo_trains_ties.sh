#!/usr/bin/env bash
# trl 1.16.0: OnlineDPOTrainer takes the first of two responses with equal rewards for the better one and trains it with full
# force; with gradient accumulation its gradient is as many times too large; and its KL and entropy count the padding.
#
# Guessed: two equal rewards are no preference and give no gradient; 4 batches of one row are one of 4 rows; objective/kl and
# objective/entropy are those of the responses, as the loss is.
# Seen (2026-11-30, trl 1.16.0, transformers 5.10.4, torch 2.13.0, a Llama of one layer; each prompt has the same two responses,
# of 8 and of 2 tokens): the gradient with rewards of 0 and 0 is the one with 1 and 0, the first response's reward being the
# higher one, and so it is if the reward function gives None for both, "not scored". With rewards of 0 and 1 many pairs are
# equal: both responses are right or both are wrong, and one of them, at random, is made more likely.
# The loss is not divided by gradient_accumulation_steps before the backward pass, while the logged one is divided: 4
# accumulated batches have 4 times the gradient, which max_grad_norm then clips. The KL and the entropy are sums over all
# positions of the longest response: what stands behind the end of the shorter ones is added. Accumulate no batches, and look
# at logps and rewards instead, which leave the padding out. Nothing drops equal pairs: use rewards that rarely tie, or a
# trainer that compares more than two responses.
#
#   gradient with the rewards 1 and 0: 1.35, with 0 and 0: 1.35, with None and None: 1.35, the same one: True
#   gradient of 1 batch of 4 rows: 1.35, of 4 batches of 1 row: 5.41; loss 0.72 and 0.72
#   objective/kl: -0.58, of the responses alone: -0.28
#   objective/entropy: 28.0, of the responses alone: 17.3
#
# Exits with a status other than 0 if any of this differs. It runs trl's own training step; the responses are given.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy trl==1.16.0 transformers==5.10.4 \
  accelerate==1.15.0 datasets==5.2.0
export HF_HOME=$folder/home HF_HUB_OFFLINE=1
cat >"$folder/pairs.py" <<'PYTHON'
import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, PrinterCallback, TrainerCallback
from transformers.utils import logging
from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer

LONG, SHORT = [2, 3, 4, 5, 6, 7, 8, 1], [9, 1]
SEEN = """\
gradient with the rewards 1 and 0: 1.35, with 0 and 0: 1.35, with None and None: 1.35, the same one: True
gradient of 1 batch of 4 rows: 1.35, of 4 batches of 1 row: 5.41; loss 0.72 and 0.72
objective/kl: -0.58, of the responses alone: -0.28
objective/entropy: 28.0, of the responses alone: 17.3"""


class Fixed(OnlineDPOTrainer):
    """The trainer with two given responses to each prompt: one of eight tokens, and one of two behind it."""

    def _generate(self, model, prompts, images=None):
        ids = torch.tensor([self.processing_class(prompt)["input_ids"] for prompt in prompts]).repeat(2, 1)
        short = SHORT + [0] * (len(LONG) - len(SHORT))
        responses = torch.tensor([LONG] * len(prompts) + [short] * len(prompts))
        return ids, torch.ones_like(ids), responses, (responses != 0).long(), None


class Seen(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        self.gradient = torch.cat([weight.grad.flatten() for weight in model.parameters()])

    def on_log(self, args, state, control, logs=None, **_):
        self.logs = getattr(self, "logs", None) or dict(logs)


def model(seed):
    torch.manual_seed(seed)
    sizes = {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    ends = {"bos_token_id": None, "eos_token_id": 1, "pad_token_id": 0}
    return LlamaForCausalLM(LlamaConfig(num_attention_heads=2, **sizes, **ends))


def step(rewards, rows=4, batches=1):
    """The gradient and the logs of a step on four rows; the policy and the reference are two models."""
    args = OnlineDPOConfig(
        sys.argv[1], per_device_train_batch_size=rows, gradient_accumulation_steps=batches, max_steps=1,
        max_grad_norm=0, logging_steps=1, save_strategy="no", bf16=False, gradient_checkpointing=False, report_to=[],
        disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    words = {"<pad>": 0, "<eos>": 1} | {f"word{place}": place for place in range(2, 32)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")
    seen = Seen()
    trainer = Fixed(
        model(0), model(1), lambda completions, **_: [rewards[len(words.split()) == 1] for words in completions], args,
        train_dataset=Dataset.from_dict({"prompt": ["word10 word11"] * 4}), processing_class=tokenizer,
        callbacks=[seen],
    )  # fmt: skip
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return seen.gradient, seen.logs


def log_probability(model, response):
    with torch.no_grad():
        found = model.eval()(torch.tensor([[10, 11, *response]])).logits[0, 1:-1].log_softmax(-1)
    return sum(row[token].item() for row, token in zip(found, response, strict=True))


logging.set_verbosity_error()
gradient, logs = step((1.0, 0.0))
tie, none = step((0.0, 0.0))[0], step((None, None))[0]
apart, other = step((1.0, 0.0), rows=1, batches=4)
same = torch.equal(gradient, tie) and torch.equal(gradient, none)
sizes = [f"{found.norm():.2f}" for found in (gradient, tie, none, apart)]
policy, reference = ([log_probability(model(seed), response) for response in (LONG, SHORT)] for seed in (0, 1))
kl, entropy = (sum(policy) - sum(reference)) / 2, -sum(policy) / 2
lines = [
    f"gradient with the rewards 1 and 0: {sizes[0]}, with 0 and 0: {sizes[1]}, with None and None: {sizes[2]}, "
    f"the same one: {same}",
    f"gradient of 1 batch of 4 rows: {sizes[0]}, of 4 batches of 1 row: {sizes[3]}; "
    f"loss {logs['loss']:.2f} and {other['loss']:.2f}",
    f"objective/kl: {logs['objective/kl']:.2f}, of the responses alone: {kl:.2f}",
    f"objective/entropy: {logs['objective/entropy']:.1f}, of the responses alone: {entropy:.1f}",
]
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" "$folder/pairs.py" "$folder/run" 2>"$folder/errors" || {
  code=$?
  tail -5 "$folder/errors"
  exit "$code"
}
