#!/usr/bin/env bash
# llamafactory 0.9.5: a row that is longer than cutoff_len keeps its answer and loses the end of its prompt: first the header of
# the answer, then the question. The model is trained to answer in the middle of the user's sentence.
#
# Guessed: a row that is too long loses the end of its answer, as one that is cut at cutoff_len does, or the start of its
# prompt; the header between prompt and answer stays.
# Seen (2026-11-30, llamafactory 0.9.5, transformers 5.10.4; its processors for supervised and preference data and its template
# qwen3_nothink, on rows made here, a character as a token): an answer that is shorter than half of cutoff_len is kept whole,
# and the prompt is cut to what is left, from its end. One token too many takes the line break from the header of the answer,
# eleven all of it, and a few more the question; what stands before it stays. So these rows teach the model to begin answers
# without the header, and to answer what was not asked. Where prompt and answer are both long, both lose their ends: the
# question goes, and the answer has no end token. In preference data the longer answer decides, so the short one loses its
# question, too. Only where the prompt is shorter than half of cutoff_len, and the answer is not, is the answer cut alone.
# Nothing is said about it, and the default of cutoff_len is 2048. Drop rows that are too long before training, by the number
# of tokens that the template makes.
#
#   tokens too many, and the row:
#   0: <|im_start|>user\nThe sky is grey. Is it raining?<|im_end|>\n<|im_start|>assistant\nYes.<|im_end|>\n
#   1: <|im_start|>user\nThe sky is grey. Is it raining?<|im_end|>\n<|im_start|>assistantYes.<|im_end|>\n
#   11: <|im_start|>user\nThe sky is grey. Is it raining?<|im_end|>\nYes.<|im_end|>\n
#   28: <|im_start|>user\nThe sky is grey.Yes.<|im_end|>\n
#   45, with a long answer: <|im_start|>user\nThe sky is grey. Is it raYes, since the drops on the window ar
#   45, chosen beside a long answer: <|im_start|>user\nThe sky is grey. Is it raYes.<|im_end|>\n
#
# Exits with a status other than 0 if any of this differs. What the processors import, but do not use on texts (peft, datasets,
# the plugin for images), are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check transformers==5.10.4
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps llamafactory==0.9.5
cat >"$folder/cut.py" <<'PYTHON'
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast


def stand_in(name, **names):
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(names)


class Plugin:
    """Texts have no images: messages and tokens stay what they are."""

    def process_messages(self, messages, *_):
        return messages

    def process_token_ids(self, ids, labels, *_):
        return ids, labels


root = find_spec("llamafactory").submodule_search_locations[0]
for part in ("", ".extras", ".data", ".data.processor"):  # without what their __init__ imports
    stand_in(f"llamafactory{part}", __path__=[root + part.replace(".", "/")])
stand_in("peft")
stand_in("peft.utils", SAFETENSORS_WEIGHTS_NAME="", WEIGHTS_NAME="")
stand_in("datasets", DatasetDict=dict, concatenate_datasets=None, interleave_datasets=None)
stand_in("llamafactory.data.mm_plugin", get_mm_plugin=lambda *_, **__: Plugin())

from llamafactory.data.processor.pairwise import PairwiseDatasetProcessor  # noqa: E402
from llamafactory.data.processor.supervised import SupervisedDatasetProcessor  # noqa: E402
from llamafactory.data.template import TEMPLATES  # noqa: E402

characters = Tokenizer(models.WordLevel({chr(code): code for code in range(128)}, unk_token="?"))
characters.pre_tokenizer, characters.decoder = pre_tokenizers.Split("", "isolated"), decoders.Fuse()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=characters, eos_token="<|im_end|>", additional_special_tokens=["<|im_start|>"]
)
QUESTION = "The sky is grey. Is it raining?"
LONG = "Yes, since the drops on the window are new and they run down."


def row(processor, column, limit, *answers):
    settings = SimpleNamespace(cutoff_len=limit, mask_history=False, train_on_prompt=False)
    rows = {name: [None] for name in ("_system", "_tools", "_images", "_videos", "_audios")}
    rows["_prompt"] = [[{"role": "user", "content": QUESTION}]]
    rows["_response"] = [[{"role": "assistant", "content": answer} for answer in answers]]
    made = processor(TEMPLATES["qwen3_nothink"], tokenizer, None, settings).preprocess_dataset(rows)
    return made[column][0]


def cut(tokens, *answers, processor=SupervisedDatasetProcessor, column="input_ids"):
    whole = max(len(row(SupervisedDatasetProcessor, "input_ids", 10_000, answer)) for answer in answers)
    return tokenizer.decode(row(processor, column, whole - tokens, *answers)).replace("\n", "\\n")


START = "<|im_start|>user\\nThe sky is grey."
SEEN = {
    "0": f"{START} Is it raining?<|im_end|>\\n<|im_start|>assistant\\nYes.<|im_end|>\\n",
    "1": f"{START} Is it raining?<|im_end|>\\n<|im_start|>assistantYes.<|im_end|>\\n",
    "11": f"{START} Is it raining?<|im_end|>\\nYes.<|im_end|>\\n",
    "28": f"{START}Yes.<|im_end|>\\n",
    "45, with a long answer": f"{START} Is it raYes, since the drops on the window ar",
    "45, chosen beside a long answer": f"{START} Is it raYes.<|im_end|>\\n",
}
found = {str(tokens): cut(tokens, "Yes.") for tokens in (0, 1, 11, 28)}
found["45, with a long answer"] = cut(45, LONG)
found["45, chosen beside a long answer"] = cut(
    45, "Yes.", LONG, processor=PairwiseDatasetProcessor, column="chosen_input_ids"
)
print("tokens too many, and the row:")
for name, text in found.items():
    print(f"{name}: {text}")
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/cut.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
