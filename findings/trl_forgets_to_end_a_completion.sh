#!/usr/bin/env bash
# trl 1.16.0: a completion gets no end token if its row has a column "text", too; with a column "messages" it gets one in
# some processes, and none in others.
#
# Guessed: SFTTrainer and DPOTrainer end each completion of a dataset of texts with the tokenizer's end token, whatever other
# columns there are; and two processes prepare the same rows.
# Seen (2026-11-30, trl 1.16.0, transformers 5.10.4, datasets 5.2.0, torch 2.13.0, CPU; datasets of texts): SFTTrainer looks
# for its text field, "text", before it looks for a completion. If the rows have both, the end goes behind the text, and the
# prompt and the completion are what it trains on. And whether rows are conversations is asked of one of the columns prompt,
# chosen, rejected, completion and messages: the first of a set, so of another one with each hash seed of Python, which is
# random. If it is the messages, rows of texts count as conversations, which end by themselves, and are then tokenized as
# texts, without an end. So of two runs of the same command one teaches the model to stop, and the other does not. Nothing
# warns. Take such columns out of the dataset: select_columns(["prompt", "completion"]), or of ["prompt", "chosen",
# "rejected"].
#
#   one process | another:
#   SFT, prompt and completion: two and two make four <end> | two and two make four <end>
#   SFT, and a text: two and two make four | two and two make four
#   SFT, and messages: two and two make four <end> | two and two make four
#   DPO, prompt, chosen and rejected: make four <end> | make four <end>
#   DPO, and messages: make four <end> | make four
#
# Exits with a status other than 0 if any of this differs. It looks for a hash seed of either kind.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check trl==1.16.0 transformers==5.10.4 accelerate==1.15.0 \
  datasets==5.2.0 tokenizers==0.22.2 torch==2.13.0 numpy
export HF_HOME=$folder/home HF_HUB_OFFLINE=1
cat >"$folder/ends.py" <<'PYTHON'
import sys

import torch
from datasets import Dataset
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import WordLevel
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

WORDS = "<pad> <end> <unk> two and make four five".split()
ROW = {"prompt": "two and two", "completion": " make four", "chosen": " make four", "rejected": " make five"}
ROW["text"] = "two and two"
ROW["messages"] = [{"role": "user", "content": "two and two"}, {"role": "assistant", "content": "make four"}]

words = Tokenizer(WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
words.pre_tokenizer = pre_tokenizers.Split(" ", "removed")
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<end>", unk_token="<unk>")


def model():
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    return LlamaForCausalLM(LlamaConfig(vocab_size=8, pad_token_id=0, eos_token_id=1, bos_token_id=None, **sizes))


def rows(*columns):
    return Dataset.from_list([{column: ROW[column] for column in columns}] * 2)


arguments = {"output_dir": sys.argv[1], "use_cpu": True, "bf16": False, "report_to": "none"}


def sft(*columns):
    trainer = SFTTrainer(
        model(),
        SFTConfig(**arguments),
        train_dataset=rows("prompt", "completion", *columns),
        processing_class=tokenizer,
    )
    return tokenizer.decode(trainer.train_dataset[0]["input_ids"])


def dpo(*columns):
    preferences = rows("prompt", "chosen", "rejected", *columns)
    trainer = DPOTrainer(
        model(), model(), DPOConfig(**arguments), train_dataset=preferences, processing_class=tokenizer
    )
    return tokenizer.decode(trainer.train_dataset[0]["chosen_ids"])


torch.manual_seed(0)
with open(sys.argv[2], "w") as out:
    out.write(f"SFT, prompt and completion: {sft()}\n")
    out.write(f"SFT, and a text: {sft('text')}\n")
    out.write(f"SFT, and messages: {sft('messages')}\n")
    out.write(f"DPO, prompt, chosen and rejected: {dpo()}\n")
    out.write(f"DPO, and messages: {dpo('messages')}\n")
PYTHON
cat >"$folder/first.py" <<'PYTHON'
# Which column comes first in the set of those of each dataset.
for columns in (["prompt", "completion", "messages"], ["prompt", "chosen", "rejected", "messages"]):
    print({column for column in columns}.pop() == "messages", end=" ")
PYTHON
run() {
  for seed in {0..200}; do
    if [ "$(PYTHONHASHSEED=$seed "$folder/venv/bin/python" "$folder/first.py")" = "$1 $1 " ]; then
      PYTHONHASHSEED=$seed OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/ends.py" "$folder/run" "$folder/$1" \
        >/dev/null 2>"$folder/errors" || tail -3 "$folder/errors"
      return
    fi
  done
}
run False
run True
echo "one process | another:"
paste -d '|' "$folder/False" <(sed 's/[^:]*://' "$folder/True") | sed 's/|/ |/' | tee "$folder/found"
diff "$folder/found" - <<'SEEN'
SFT, prompt and completion: two and two make four <end> | two and two make four <end>
SFT, and a text: two and two make four | two and two make four
SFT, and messages: two and two make four <end> | two and two make four
DPO, prompt, chosen and rejected: make four <end> | make four <end>
DPO, and messages: make four <end> | make four
SEEN
