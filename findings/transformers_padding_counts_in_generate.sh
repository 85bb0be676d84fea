#!/usr/bin/env bash
# transformers 5.10.4: repetition_penalty counts the padding on the left, and compute_transition_scores that behind the end: a
# row's end gets less likely beside longer prompts, and a response's log-probability falls with the length of the others.
#
# Guessed: what generate samples, and what is read off its scores, depends on a row's own tokens; of beams that end early,
# compute_transition_scores gives 0 behind the end, so it does of sampled rows, too.
# Seen (2026-11-30, transformers 5.10.4, torch 2.13.0, CPU; a model that gives the end 0.30 after "a", is sure of the end
# after "x" and of another "y" after "y"): the penalty falls on every token of the row, padded places included. Where padding
# is the token of the end, as it is made for Llama, Mistral or GPT-2, which have none, one place of it makes the end half as
# likely; alone, or as the longest of its batch, the same prompt has 0.30. And the sum of compute_transition_scores over a
# row that ended early has the scores of the padding behind the end in it. So responses get longer by the batch that a prompt
# is in, and log-probabilities that are compared (for a ratio, a rejection or a vote) depend on the longest row. Give the
# tokenizer a token of padding that is no other, and cut the scores behind the first end.
#
#   probability of the end with repetition_penalty=1.3
#   alone: 0.30, with one place of padding: 0.15, with another token as padding: 0.30
#   sum of compute_transition_scores of a response that is sure
#   alone: 0.0, beside one of 6 tokens: -24.3, up to its end: 0.0, as a beam: 0.0
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.10.4 torch==2.13.0 numpy==2.3.5
export HF_HOME=$folder/home
cat >"$folder/padding.py" <<'PYTHON'
import math
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig

SIZE, PAD, END, A, X, Y = 128, 0, 2, ord("a"), ord("x"), ord("y")
SHAPE = {
    "vocab_size": SIZE, "hidden_size": SIZE, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 4, "head_dim": 32, "bos_token_id": 1, "eos_token_id": END, "pad_token_id": PAD,
}  # fmt: skip


def made(logits):
    """A model whose logits depend on the last token alone: logits[last, next], and 0 where nothing is said."""
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("qwen3", **SHAPE, tie_word_embeddings=False)).eval()
    with torch.no_grad():
        for weight in (*model.model.layers[0].parameters(), model.lm_head.weight):
            weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(SIZE))
        for (last, following), logit in logits.items():
            model.lm_head.weight[following, last] = logit / math.sqrt(SIZE)
    return model


def generate(model, rows, pad, **settings):
    width = max(map(len, rows))
    ids = torch.tensor([[pad] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    settings = {"pad_token_id": pad, "eos_token_id": END, "output_scores": True, "return_dict_in_generate": True} | settings
    return model.generate(ids, attention_mask=mask, generation_config=GenerationConfig(**settings, top_k=0))


def end(rows, pad):
    settings = {"max_new_tokens": 1, "do_sample": True, "repetition_penalty": 1.3}
    return generate(model, rows, pad, **settings).scores[0][0].softmax(0)[END].item()


def sums(rows, up_to_end=False, **settings):
    out = generate(model, rows, END, max_new_tokens=6, **settings)
    scores = model.compute_transition_scores(out.sequences, out.scores, out.get("beam_indices"), normalize_logits=True)
    return scores[0][: 1 if up_to_end else None].sum().item()


model = made({(A, END): 4, (X, END): 40, (Y, Y): 40})
ends = [end([[A]], END), end([[A], [Y, Y]], END), end([[A], [Y, Y]], PAD)]
totals = [sums([[X]], do_sample=True), sums([[X], [Y]], do_sample=True), sums([[X], [Y]], up_to_end=True, do_sample=True)]
totals.append(sums([[X], [Y]], num_beams=2))
ends, totals = [f"{value:.2f}" for value in ends], [f"{round(value, 1) + 0.0:.1f}" for value in totals]
print("probability of the end with repetition_penalty=1.3")
print("alone: {}, with one place of padding: {}, with another token as padding: {}".format(*ends))
print("sum of compute_transition_scores of a response that is sure")
print("alone: {}, beside one of 6 tokens: {}, up to its end: {}, as a beam: {}".format(*totals))
sys.exit([ends, totals] != [["0.30", "0.15", "0.30"], ["0.0", "-24.3", "0.0", "0.0"]])
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/padding.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
