#!/usr/bin/env bash
# trl 1.16.0: its trainers compute log-probabilities without the model's own head: in ModernBERT decoders (Ettin), RecurrentGemma
# and xLSTM they train another distribution than the one that the model generates from.
#
# Guessed: the loss of SFTTrainer is the model's own cross-entropy, for each causal model of transformers, or an error.
# Seen (2026-11-30, trl 1.16.0, transformers 5.10.4, peft absent, torch 2.13.0, CPU; models of two or three layers with random
# weights, 8 rows of 33 tokens, 100 steps of SFTTrainer): trl multiplies the last hidden states by the weight that
# get_output_embeddings() names, and then scales and caps them by those settings whose names it knows. ModernBERT's decoder has
# a dense layer, an activation and a norm before that weight: they are left out, do not train, and generate() goes through
# them, so trl reports a loss that falls while the model's own hardly does. RecurrentGemma's logits_soft_cap and xLSTM's
# output_logit_soft_cap are names that trl does not know: logits beyond 30 count in training as they never do in generation.
# The causal heads of BERT, RoBERTa, ELECTRA and RoFormer lose their dense layer, too. DPO, KTO, GRPO and RLOO score the policy
# and the reference with the same function; in GRPO the ratio to the sampler's probabilities is wrong as well. No warning.
# Before training, compare eval_loss with cross_entropy(model(rows).logits[:, :-1], rows[:, 1:]).
#
#   the model's cross-entropy and trl's eval_loss:
#   LlamaForCausalLM: 13.7 and 13.7; after 100 steps 0 and 0
#   ModernBertDecoderForCausalLM: 13.7 and 30.5; after 100 steps 11 and 4
#   RecurrentGemmaForCausalLM: 23.0 and 31.4; after 100 steps 4 and 4
#   xLSTMForCausalLM: 21.6 and 27.3; after 100 steps 0 and 0
#   weights of ModernBertDecoderForCausalLM that did not change: lm_head.dense.weight, lm_head.norm.weight
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check trl==1.16.0 transformers==5.10.4 accelerate==1.15.0 \
  datasets==5.2.0 tokenizers==0.22.2 torch==2.13.0 numpy
export HF_HOME=$folder/home HF_HUB_OFFLINE=1
cat >"$folder/heads.py" <<'PYTHON'
import sys

import torch
import transformers
from datasets import Dataset
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

HIDDEN = {"hidden_size": 32, "intermediate_size": 48, "num_attention_heads": 4}
MODELS = {
    "Llama": {"num_hidden_layers": 2, **HIDDEN},
    "ModernBertDecoder": {"num_hidden_layers": 2, "cls_token_id": 1, "sep_token_id": 2, **HIDDEN},
    "RecurrentGemma": {"num_hidden_layers": 3, "lru_width": 32, **HIDDEN},
    "xLSTM": {"hidden_size": 128, "embedding_dim": 128, "num_blocks": 2, "num_heads": 4, "chunk_size": 16},
}


def cross_entropy(model, ids):
    model.eval()
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).item()


torch.manual_seed(0)
ids = torch.randint(3, 64, (8, 33))
rows = Dataset.from_list([{"input_ids": row} for row in ids.tolist()])
words = WordLevel({f"w{i}": i for i in range(64)}, unk_token="w3")
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(words), pad_token="w0", bos_token="w1", eos_token="w2", unk_token="w3"
)
arguments = SFTConfig(
    sys.argv[1],
    max_steps=100,
    learning_rate=3e-3,
    per_device_train_batch_size=8,
    use_cpu=True,
    bf16=False,
    gradient_checkpointing=False,
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
)
found = []
torch.manual_seed(0)
for name, sizes in MODELS.items():
    config = getattr(transformers, f"{name}Config")(
        vocab_size=64, pad_token_id=0, bos_token_id=1, eos_token_id=2, **sizes
    )
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    torch.nn.init.normal_(model.get_output_embeddings().weight)
    start = {key: weight.detach().clone() for key, weight in model.named_parameters()}
    trainer = SFTTrainer(model, arguments, train_dataset=rows, eval_dataset=rows, processing_class=tokenizer)
    line = f"{name}ForCausalLM: {cross_entropy(model, ids):.1f} and {trainer.evaluate()['eval_loss']:.1f}"
    trainer.train()
    line += f"; after 100 steps {cross_entropy(model, ids):.0f} and {trainer.evaluate()['eval_loss']:.0f}"
    found.append(line)
    if name == "ModernBertDecoder":
        same = [key for key, weight in model.named_parameters() if torch.equal(weight, start[key])]
same = f"weights of ModernBertDecoderForCausalLM that did not change: {', '.join(same)}"
found = "\n".join([*found, same])

SEEN = """\
LlamaForCausalLM: 13.7 and 13.7; after 100 steps 0 and 0
ModernBertDecoderForCausalLM: 13.7 and 30.5; after 100 steps 11 and 4
RecurrentGemmaForCausalLM: 23.0 and 31.4; after 100 steps 4 and 4
xLSTMForCausalLM: 21.6 and 27.3; after 100 steps 0 and 0
weights of ModernBertDecoderForCausalLM that did not change: lm_head.dense.weight, lm_head.norm.weight"""
with open(sys.argv[2], "w") as out:
    out.write(f"the model's cross-entropy and trl's eval_loss:\n{found}\n")
sys.exit(found != SEEN)
PYTHON
code=0
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/heads.py" "$folder/run" "$folder/found" >/dev/null 2>"$folder/errors" || code=$?
cat "$folder/found" || tail -3 "$folder/errors"
exit "$code"
