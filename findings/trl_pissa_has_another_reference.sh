#!/usr/bin/env bash
# trl 1.16.0, peft 0.21.2: with adapters initialised by PiSSA or OLoRA, DPO and GRPO compare the policy with a model that lacks
# its largest directions: DPO's loss does not begin at log 2, nor GRPO's KL at 0. A model that was wrapped before is another.
#
# Guessed: the reference of a new adapter is the model that was given, whatever the adapter's init_lora_weights: at the first
# step the policy is the reference.
# Seen (2026-11-30, trl 1.16.0, peft 0.21.2, transformers 5.10.4, torch 2.13.0, CPU; a Llama of two layers with random weights,
# adapters of rank 8 on all linear layers, the first step of DPOTrainer and of GRPOTrainer with beta=0.04): trl has no second
# model, it takes the model with its adapter off. "pissa" and "olora" move a part of each weight into the adapter (PiSSA its
# largest singular vectors), and what stays behind is the reference. So DPO begins with margins that no training made, and the
# KL term pulls towards a damaged model. No message says so. A model from get_peft_model, given without peft_config, gets a copy
# of its adapter for the reference; adding that copy takes a part out of the weights a second time, so that DPO's loss looks
# right and the policy itself is another model than the one given. peft's disable_adapter() leads to the same damaged model.
# Leave init_lora_weights as it is ("gaussian" and "orthogonal" are right, too); DPO can be given a ref_model.
#
#   log 2 is 0.69; log-probability of the chosen responses under the model: -19.2
#   True: DPO's loss 0.69, with ref_model 0.69, wrapped 0.69 at -19.2; GRPO's kl 0
#   gaussian: DPO's loss 0.69, with ref_model 0.69, wrapped 0.69 at -19.2; GRPO's kl 0
#   orthogonal: DPO's loss 0.69, with ref_model 0.69, wrapped 0.69 at -19.2; GRPO's kl 0
#   pissa: DPO's loss 0.83, with ref_model 0.69, wrapped 0.69 at -18.9; GRPO's kl above 0.5
#   olora: DPO's loss 0.80, with ref_model 0.69, wrapped 0.69 at -20.0; GRPO's kl above 0.5
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check trl==1.16.0 transformers==5.10.4 accelerate==1.15.0 \
  peft==0.21.2 datasets==5.2.0 tokenizers==0.22.2 torch==2.13.0 numpy
export HF_HOME=$folder/home HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1
cat >"$folder/reference.py" <<'PYTHON'
import sys
import warnings

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer

warnings.simplefilter("ignore")
INITS = (True, "gaussian", "orthogonal", "pissa", "olora")
WORDS = ["<pad>", "<eos>", "<unk>", *(f"w{number}" for number in range(61))]
tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="<unk>"))
tokenizer.pre_tokenizer = WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")
pairs = [
    {"prompt": f"w{i} w{i + 1}", "chosen": f" w{i + 2} w{i + 3} w{i + 7}", "rejected": f" w{i + 9} w{i + 5}"}
    for i in range(8)
]
COMMON = {
    "output_dir": sys.argv[1],
    "per_device_train_batch_size": 8,
    "max_steps": 1,
    "logging_steps": 1,
    "save_strategy": "no",
    "report_to": [],
    "use_cpu": True,
    "bf16": False,
    "gradient_checkpointing": False,
    "disable_tqdm": True,
}


def model():
    set_seed(0)
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        initializer_range=0.2,
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
    )
    return LlamaForCausalLM(config)


def adapter(init):
    return LoraConfig(r=8, target_modules="all-linear", init_lora_weights=init, task_type="CAUSAL_LM")


def first_step(trainer):
    trainer.train()
    return trainer.state.log_history[0]


def dpo(policy, **how):
    rows = Dataset.from_list(pairs)
    return first_step(DPOTrainer(policy, args=DPOConfig(**COMMON), train_dataset=rows, processing_class=tokenizer, **how))


def lengths(completions, **_):
    return [float(len(text) % 3) for text in completions]


def grpo(policy, **how):
    rows = Dataset.from_list([{"prompt": pair["prompt"]} for pair in pairs])
    args = GRPOConfig(**COMMON, beta=0.04, num_generations=4, max_completion_length=16)
    return first_step(GRPOTrainer(policy, lengths, args=args, train_dataset=rows, processing_class=tokenizer, **how))


SEEN = """\
True: DPO's loss 0.69, with ref_model 0.69, wrapped 0.69 at -19.2; GRPO's kl 0
gaussian: DPO's loss 0.69, with ref_model 0.69, wrapped 0.69 at -19.2; GRPO's kl 0
orthogonal: DPO's loss 0.69, with ref_model 0.69, wrapped 0.69 at -19.2; GRPO's kl 0
pissa: DPO's loss 0.83, with ref_model 0.69, wrapped 0.69 at -18.9; GRPO's kl above 0.5
olora: DPO's loss 0.80, with ref_model 0.69, wrapped 0.69 at -20.0; GRPO's kl above 0.5"""

own = dpo(model(), ref_model=model())["logps/chosen"]
print(f"log 2 is 0.69; log-probability of the chosen responses under the model: {own:.1f}")
lines = []
for init in INITS:
    given = dpo(model(), peft_config=adapter(init))["loss"]
    beside = dpo(model(), peft_config=adapter(init), ref_model=model())["loss"]
    wrapped = dpo(get_peft_model(model(), adapter(init)))
    kl = grpo(model(), peft_config=adapter(init))["kl"]
    lines.append(
        f"{init}: DPO's loss {given:.2f}, with ref_model {beside:.2f}, wrapped {wrapped['loss']:.2f} at "
        f"{wrapped['logps/chosen']:.1f}; GRPO's kl {'above 0.5' if kl > 0.5 else format(abs(round(kl, 2)), 'g')}"
    )
    print(lines[-1], flush=True)
sys.exit(f"{own:.1f}" != "-19.2" or "\n".join(lines) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/reference.py" "$folder/out" 2>"$folder/errors" >"$folder/found" || code=$?
grep -E "^log 2|DPO's" "$folder/found" || tail -3 "$folder/errors"
exit "${code:-0}"
