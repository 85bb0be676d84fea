#!/usr/bin/env bash
# transformers 5.10.4, schedulefree 1.4.1: with optim="schedule_free_adamw", Trainer saves the average of the weights, which is
# the model, only behind an evaluation; any other checkpoint, and save_model(), has the point at which gradients are taken.
#
# Guessed: what Trainer saves is what evaluate() measures.
# Seen (2026-11-30, transformers 5.10.4, schedulefree 1.4.1, torch 2.13.0, a Llama of one layer, 40 steps with a constant
# learning rate of 0.01, checkpoints at 20 and 40): a schedule-free optimizer holds two sets of weights and has to be told with
# train() and eval() which of them the model gets. Trainer tells it before each training step and before each evaluation, but
# not before it saves. So without an evaluation all that is saved is the training point, 4 % away here. With an evaluation every
# 40 steps the checkpoint at 40 is the average, and the one at 20 is not. The loss that was logged is then another model's than
# that in the folder, checkpoints of one run are of two kinds, and two runs that differ only in how often they evaluate give
# different models. Call trainer.optimizer.eval() before save_model(), and evaluate at each step at which a checkpoint is saved.
#
#   no evaluation: checkpoint-20 training point, checkpoint-40 training point, save_model training point
#   evaluation at step 40: checkpoint-20 training point, checkpoint-40 average, save_model average
#   no evaluation, optimizer.eval(): save_model average
#   apart by 4.3% of the weights' norm after 40 steps
#
# Exits with a status other than 0 if any of the first three lines differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy transformers==5.10.4 \
  accelerate==1.15.0 datasets==5.2.0 schedulefree==1.4.1
export HF_HOME=$folder/home HF_HUB_OFFLINE=1
cat >"$folder/points.py" <<'PYTHON'
import sys
from pathlib import Path

import torch
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, PrinterCallback, Trainer, TrainingArguments
from transformers.utils import logging

SEEN = """\
no evaluation: checkpoint-20 training point, checkpoint-40 training point, save_model training point
evaluation at step 40: checkpoint-20 training point, checkpoint-40 average, save_model average
no evaluation, optimizer.eval(): save_model average"""


def rows(count, random):
    """Sequences in which most tokens follow from the one before."""
    follows = torch.arange(64).roll(7)
    found = []
    for _ in range(count):
        tokens = torch.randint(0, 64, (16,), generator=random)
        for place in range(1, 16):
            if torch.rand((), generator=random) < 0.6:
                tokens[place] = follows[tokens[place - 1]]
        found.append({"input_ids": tokens.tolist(), "labels": tokens.tolist()})
    return Dataset.from_list(found)


def trained(folder, **settings):
    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    model = LlamaForCausalLM(LlamaConfig(num_attention_heads=2, **sizes))
    settings = {"max_steps": 40, "save_steps": 20, "learning_rate": 0.01, "lr_scheduler_type": "constant"} | settings
    args = TrainingArguments(
        str(folder), optim="schedule_free_adamw", seed=0, report_to=[], disable_tqdm=True, use_cpu=True, **settings
    )
    random = torch.Generator().manual_seed(0)
    trainer = Trainer(model, args, train_dataset=rows(320, random), eval_dataset=rows(32, random))
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    trainer.save_model(str(folder / "last"))
    return trainer


def weights(model):
    return torch.cat([weight.detach().flatten() for _, weight in sorted(model.state_dict().items())]).clone()


def points(folder, steps):
    """The point that gradients are taken at after so many steps, and the average."""
    trainer = trained(folder, max_steps=steps)
    found = {"training point": weights(trainer.model)}
    trainer.optimizer.eval()
    return found | {"average": weights(trainer.model)}


def which(folder, points):
    """The name of the point whose weights a folder has."""
    found = weights(LlamaForCausalLM.from_pretrained(folder))
    (name,) = [name for name, point in points.items() if torch.allclose(found, point, atol=1e-6)]
    return name


logging.set_verbosity_error()
folder = Path(sys.argv[1])
after = {steps: points(folder / str(steps), steps) for steps in (20, 40)}
apart = (after[40]["average"] - after[40]["training point"]).norm() / after[40]["average"].norm()
lines = []
for name, settings in {
    "no evaluation": {},
    "evaluation at step 40": {"eval_strategy": "steps", "eval_steps": 40},
}.items():
    trained(folder / name, **settings)
    kinds = [f"checkpoint-{steps} {which(folder / name / f'checkpoint-{steps}', after[steps])}" for steps in (20, 40)]
    lines.append(f"{name}: {', '.join(kinds)}, save_model {which(folder / name / 'last', after[40])}")
trainer = trained(folder / "by hand")
trainer.optimizer.eval()
trainer.save_model(str(folder / "by hand" / "last"))
lines.append(f"no evaluation, optimizer.eval(): save_model {which(folder / 'by hand' / 'last', after[40])}")
print("\n".join(lines))
print(f"apart by {apart:.1%} of the weights' norm after 40 steps")
sys.exit("\n".join(lines) != SEEN)
PYTHON
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" "$folder/points.py" "$folder" 2>"$folder/errors" || {
  code=$?
  tail -5 "$folder/errors"
  exit "$code"
}
