#!/usr/bin/env bash
# transformers 5.10.4, torch 2.13.0: Trainer multiplies a mixture of experts' router loss, and a loss with label smoothing, by
# the number of micro-batches.
#
# Guessed: the gradient of a step is that of its rows, however many micro-batches they come in. That is what
# num_items_in_batch is for.
# Seen (2026-11-29, CPU, float32; models of random weights, 8 equal rows a step, no clipping): so it is for a dense model. Its
# cross entropy is divided by the tokens of the whole step, so Trainer no longer divides by the number of micro-batches. But
# Qwen3-MoE, as other mixtures of experts, adds its load balancing loss to that, a mean over the micro-batch: with 8
# micro-batches a router_aux_loss_coef of 0.001 acts as 0.008, and a run that halves the micro-batch to fit longer rows
# doubles it. With label_smoothing_factor the whole loss is such a mean, and the gradient and the logged loss grow by the
# number (huggingface/transformers#46731); clipping then hides it. Divide the coefficient by gradient_accumulation_steps, and
# smooth labels only where a step is one micro-batch.
#
#   gradient in 1, 2 and 8 micro-batches, over that in 1:
#   dense 1.00, 1.00, 1.00
#   dense, label smoothing 1.00, 2.00, 8.00
#   experts without router loss 1.00, 1.00, 1.00
#   the router loss's part 1.00, 2.00, 8.00
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 transformers==5.10.4 accelerate==1.15.0 numpy
cat >"$folder/micro.py" <<'PYTHON'
import copy
import sys

import torch
from transformers import (
    PrinterCallback, Qwen3Config, Qwen3ForCausalLM, Qwen3MoeConfig, Qwen3MoeForCausalLM, Trainer, TrainerCallback,
    TrainingArguments,
)
from transformers.utils import logging

logging.set_verbosity_error()
SIZES = {
    "vocab_size": 40, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 16,
}
torch.manual_seed(0)
ROW = torch.randint(0, 40, (16,))
DENSE = Qwen3ForCausalLM(Qwen3Config(**SIZES))
EXPERTS = Qwen3MoeForCausalLM(
    Qwen3MoeConfig(**SIZES, moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2, router_aux_loss_coef=0.1)
)


class Keep(TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        self.gradient = torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def gradient(model, micro_batches, router_loss=False, **settings):
    model = copy.deepcopy(model)
    model.config.output_router_logits = router_loss
    keep = Keep()
    arguments = TrainingArguments(
        output_dir=sys.argv[1], per_device_train_batch_size=8 // micro_batches,
        gradient_accumulation_steps=micro_batches, max_steps=1, max_grad_norm=0, learning_rate=0.0, use_cpu=True,
        report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True, **settings,
    )
    trainer = Trainer(model, arguments, train_dataset=[{"input_ids": ROW, "labels": ROW}] * 8, callbacks=[keep])
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return keep.gradient


def of_the_router(micro_batches):
    return gradient(EXPERTS, micro_batches, router_loss=True) - gradient(EXPERTS, micro_batches)


KINDS = {
    "dense": (lambda micro_batches: gradient(DENSE, micro_batches), "1.00, 1.00, 1.00"),
    "dense, label smoothing": (
        lambda micro_batches: gradient(DENSE, micro_batches, label_smoothing_factor=0.1), "1.00, 2.00, 8.00",
    ),
    "experts without router loss": (lambda micro_batches: gradient(EXPERTS, micro_batches), "1.00, 1.00, 1.00"),
    "the router loss's part": (of_the_router, "1.00, 2.00, 8.00"),
}
changed = False
for kind, (function, seen) in KINDS.items():
    one, *more = (function(micro_batches) for micro_batches in (1, 2, 8))
    for other in more:
        changed |= float(torch.cosine_similarity(one, other, dim=0)) < 0.999
    found = ", ".join(f"{float(each.norm() / one.norm()):.2f}" for each in (one, *more))
    print(f"{kind} {found}", flush=True)
    changed |= found != seen
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" -W ignore "$folder/micro.py" "$folder/out"
