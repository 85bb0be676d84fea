#!/usr/bin/env bash
# trl 1.16.0: on data with chosen and rejected responses, KTOTrainer trains up to 1,000 chosen ones and then as many rejected
# ones: no batch has both, each epoch has the same order, and rewards/margins is never logged.
#
# Guessed: KTOTrainer accepts pairs ("prompt", "chosen", "rejected"), splits them, and mixes both kinds in its batches, by
# shuffling or by taking each pair's two responses in turn.
# Seen (2026-12-01, trl 1.16.0, transformers 5.10.4, datasets 5.2.0, torch 2.13.0; 1,200 pairs, batches of 8, and a run on 16
# pairs, a Llama of one layer): the pairs are split in blocks of 1,000, each as all chosen responses and then all rejected ones,
# and loss_type="kto" allows no order but that of the rows. So the model is pushed towards 1,000 responses, then away from 1,000,
# and so on, in every epoch alike; the KL term, which is of the same batch, is that of chosen or of rejected responses alone; and
# the difference of both, rewards/margins, is not in the logs, for no batch has it. A dataset of fewer than 1,000 pairs ends each
# epoch, and the training, with its rejected half. Split the pairs (trl.data_utils.unpair_preference_dataset) and shuffle them
# before you hand them over.
#
#   batches in a row: 125 of chosen, 125 of rejected, 25 of chosen, 25 of rejected; of both: 0
#   another epoch: the same order
#   steps that log rewards/chosen, rewards/rejected, rewards/margins: 2, 2, 0 of 4
#   split and shuffled before: batches of both: 298 of 300
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 trl==1.16.0 transformers==5.10.4 \
  datasets==5.2.0 accelerate==1.15.0 numpy
cat >"$folder/pairs.py" <<'PYTHON'
import sys
from itertools import groupby

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import KTOConfig, KTOTrainer
from trl.data_utils import unpair_preference_dataset

folder = sys.argv[1]
words = ["<pad>", "<eos>", "<unk>", *(f"w{number}" for number in range(50))]
table = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
table.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=table, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
)
torch.manual_seed(0)
size = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
LlamaForCausalLM(LlamaConfig(vocab_size=len(words), **size)).save_pretrained(f"{folder}/model")


def pairs(rows):
    return Dataset.from_dict(
        {
            "prompt": [f"w{row % 50}" for row in range(rows)],
            "chosen": [f" w{(row + 1) % 50}" for row in range(rows)],
            "rejected": [f" w{(row + 2) % 50}" for row in range(rows)],
        }
    )


def trainer(data):
    settings = KTOConfig(
        output_dir=f"{folder}/out",
        per_device_train_batch_size=8,
        num_train_epochs=1,
        logging_steps=1,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
    )
    model = LlamaForCausalLM.from_pretrained(f"{folder}/model")
    return KTOTrainer(model=model, args=settings, train_dataset=data, processing_class=tokenizer)


def kinds(made):
    """What each batch of an epoch holds, and the ids of the epoch's rows."""
    batches = list(made.get_train_dataloader())
    labels = [set(batch["label"].bool().tolist()) for batch in batches]
    names = ["both" if len(label) == 2 else "chosen" if True in label else "rejected" for label in labels]
    return names, [batch["input_ids"].tolist() for batch in batches]


made = trainer(pairs(1200))
names, rows = kinds(made)
runs = ", ".join(f"{len(list(run))} of {name}" for name, run in groupby(names))
same = rows == kinds(made)[1]
small = trainer(pairs(16))
small.train()
steps = [entry for entry in small.state.log_history if "loss" in entry]
logged = [sum(f"rewards/{name}" in step for step in steps) for name in ("chosen", "rejected", "margins")]
shuffled, _ = kinds(trainer(unpair_preference_dataset(pairs(1200)).shuffle(seed=0)))
found = [
    f"batches in a row: {runs}; of both: {names.count('both')}",
    f"another epoch: {'the same order' if same else 'another order'}",
    "steps that log rewards/chosen, rewards/rejected, rewards/margins: "
    f"{', '.join(map(str, logged))} of {len(steps)}",
    f"split and shuffled before: batches of both: {shuffled.count('both')} of {len(shuffled)}",
]
SEEN = """\
batches in a row: 125 of chosen, 125 of rejected, 25 of chosen, 25 of rejected; of both: 0
another epoch: the same order
steps that log rewards/chosen, rewards/rejected, rewards/margins: 2, 2, 0 of 4
split and shuffled before: batches of both: 298 of 300"""
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
HF_HOME="$folder/home" HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 \
  "$folder/venv/bin/python" "$folder/pairs.py" "$folder" 2>"$folder/errors" | grep -v '^{\|^$' || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
