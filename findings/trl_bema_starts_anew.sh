#!/usr/bin/env bash
# trl 1.16.0: BEMACallback keeps no state: after a resume its average starts anew. Until its first update, at step 400 unless
# told otherwise, what it saves in bema/ is the model that the process began with: an untrained one, or the checkpoint.
#
# Guessed: bema/ holds a bias-corrected average over the whole training, as update_freq and the length of the run give it, and a
# resumed run saves the same one.
# Seen (2026-11-30, trl 1.16.0, transformers 5.10.4, torch 2.13.0, a Llama of one layer, 200 steps; once straight through, once
# resumed at step 100): the resumed run trains the same model, as Trainer keeps its state. The callback has none in the
# checkpoint: it takes the loaded weights for the start and for the average, and goes on with the small factors of a late step,
# so that its average is another, by 13 % of the way that the weights have gone here. A run that is shorter than update_freq
# never updates: bema/ holds the untrained weights (loss 4.2), and after a resume those of the checkpoint, under the name of an
# average. In the same way all steps behind the last multiple of update_freq are left out. Nothing says so. So a comparison of
# BEMA with the plain model compares something else as soon as a run was interrupted, and with the default it is of no use to
# runs of a few hundred steps, as those with verifiable rewards often are. Set update_freq well below the number of steps, do
# not resume, or save theta0_params and ema_params yourself.
#
#   update_freq=10: loss 2.5
#   update_freq=10, resumed: same model, its average is off by 13% of the way
#   the default, update_freq=400: loss 4.2, the untrained model
#   the default, update_freq=400, resumed: same model, its average is off by 100% of the way, checkpoint-100
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 numpy trl==1.16.0 transformers==5.10.4 \
  accelerate==1.15.0 datasets==5.2.0
export HF_HOME=$folder/home HF_HUB_OFFLINE=1
cat >"$folder/averages.py" <<'PYTHON'
import sys
from pathlib import Path

import torch
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, PrinterCallback, Trainer, TrainingArguments
from transformers.utils import logging
from trl import BEMACallback

STEPS, HALF = 200, 100
SEEN = """\
update_freq=10: loss 2.5
update_freq=10, resumed: same model, its average is off by 13% of the way
the default, update_freq=400: loss 4.2, the untrained model
the default, update_freq=400, resumed: same model, its average is off by 100% of the way, checkpoint-100"""


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


def weights(model):
    return torch.cat([weight.detach().flatten() for _, weight in sorted(model.named_parameters())]).clone()


def untrained():
    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1}
    return LlamaForCausalLM(LlamaConfig(num_attention_heads=2, **sizes))


def train(folder, data, resume=None, **settings):
    """The trained model, and the one that the callback has saved."""
    args = TrainingArguments(
        str(folder), max_steps=STEPS, save_steps=HALF, learning_rate=3e-3, lr_scheduler_type="constant", seed=0,
        report_to=[], disable_tqdm=True, use_cpu=True,
    )  # fmt: skip
    trainer = Trainer(untrained(), args, train_dataset=data, callbacks=[BEMACallback(**settings)])
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=resume)
    return trainer.model, LlamaForCausalLM.from_pretrained(folder / "bema")


logging.set_verbosity_error()
folder = Path(sys.argv[1])
random = torch.Generator().manual_seed(0)
data, test = rows(1600, random), torch.tensor(rows(64, random)["input_ids"])
start = weights(untrained())
lines = []
for name, settings in {"update_freq=10": {"update_freq": 10}, "the default, update_freq=400": {}}.items():
    model, average = train(folder / name, data, **settings)
    with torch.no_grad():
        line = f"{name}: loss {average.eval()(test, labels=test).loss:.1f}"
    lines.append(line + ", the untrained model" * torch.equal(weights(average), start))
    checkpoint = folder / name / f"checkpoint-{HALF}"
    again, resumed = train(folder / name, data, resume=str(checkpoint), **settings)
    off = (weights(resumed) - weights(average)).norm() / max(
        (weights(found) - start).norm() for found in (average, resumed)
    )
    line = f"{name}, resumed: {'same' if torch.allclose(weights(again), weights(model)) else 'another'} model"
    line += f", its average is off by {off:.0%} of the way"
    half = weights(LlamaForCausalLM.from_pretrained(checkpoint))
    lines.append(line + f", checkpoint-{HALF}" * torch.equal(weights(resumed), half))
print("\n".join(lines))
sys.exit("\n".join(lines) != SEEN)
PYTHON
export OMP_NUM_THREADS=1
"$folder/venv/bin/python" "$folder/averages.py" "$folder" 2>"$folder/errors" || {
  code=$?
  tail -5 "$folder/errors"
  exit "$code"
}
