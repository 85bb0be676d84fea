#!/usr/bin/env bash
# openpipe-art 0.5.18: a step's advantages are scaled to a mean size of 1, with scale_rewards=False, too: rewards that differ by
# 0.001 train as hard as those that differ by 100, and where all rewards are equal, a rounding error does.
#
# Guessed: scale_rewards=False leaves the advantages the rewards less their group's mean, as Dr. GRPO has it; a step in which
# all responses of each group got the same reward is skipped.
# Seen (2026-11-30, openpipe-art 0.5.18, torch 2.13.0; ART's tokenize_trajectory_groups and packing on conversations made
# here): when a step is packed, its advantages are divided by their mean size, weighted, over all of its tokens. So
# scale_rewards only decides between the groups of a step, and a step of one group does not change at all. The mean of three
# times 0.1 is not 0.1, and what is left, 1e-17, is not 0, so the responses stay. Beside a group that differs they only add to
# the count, and its advantages grow; if no group differs, each gets an advantage of -1, and at 0.7 of 1: full steps that push
# all responses down, or up. Steps like that come at the start, when all fail alike, and at the end. Give rewards in steps of
# a power of two, or drop groups of equal rewards yourself. scale_learning_rate_by_reward_std_dev, not run here, is there to
# bring the size of the differences back.
#
#   advantages with scale_rewards=False:
#   rewards 1, 0, 0, 0: 2.00 -0.67 -0.67 -0.67
#   rewards 0.001, 0, 0, 0: 2.00 -0.67 -0.67 -0.67
#   rewards 100, 0, 0, 0: 2.00 -0.67 -0.67 -0.67
#   rewards 0.1, 0.1, 0.1: -1.00 -1.00 -1.00
#   rewards 0.7, 0.7, 0.7: 1.00 1.00 1.00
#   rewards 0.5, 0.5, 0.5: skipped
#   rewards 0.1, 0.1, 0.1 | 1, 0, 0, 0: -0.00 -0.00 -0.00 3.50 -1.17 -1.17 -1.17
#
# Exits with a status other than 0 if any of this differs. The tokenizer, transformers and PIL, and what ART's package imports
# beside this, are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile torch==2.13.0 numpy openai
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps openpipe-art==0.5.18
cat >"$folder/size.py" <<'PYTHON'
import sys
from importlib.util import find_spec
from types import ModuleType


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)


root = find_spec("art").submodule_search_locations[0]
for part in ("", ".preprocessing"):
    stand_in(f"art{part}", __path__=[root + part.replace(".", "/")])
stand_in("PIL", Image=None)
stand_in("transformers")
stand_in("transformers.image_processing_utils", BaseImageProcessor=object)
stand_in("transformers.tokenization_utils_base", BatchEncoding=tuple, PreTrainedTokenizerBase=object)

from art.preprocessing.pack import packed_tensors_from_tokenized_results
from art.preprocessing.tokenize import tokenize_trajectory_groups
from art.trajectories import Trajectory, TrajectoryGroup


class Words:
    """A tokenizer whose words are "user", "assistant" and numbers."""

    vocab_size, chat_template = 100, "role content"
    words = ["user", "assistant"]

    def encode(self, text, **_):
        return [self.words.index(word) if word in self.words else int(word) for word in text.split()]

    def decode(self, token):
        return str(token)

    def apply_chat_template(self, messages, tokenize=True, **_):
        text = " ".join(f"{message['role']} {message['content']}" for message in messages)
        return self.encode(text) if tokenize else text


def advantages(groups):
    """The advantage of each response of a step, as ART packs it."""
    made, response = [], 10
    for rewards in groups:
        rows = []
        for reward in rewards:
            messages = [{"role": "user", "content": "9"}, {"role": "assistant", "content": str(response)}]
            rows.append(Trajectory(messages_and_choices=messages, reward=reward))
            response += 1
        made.append(TrajectoryGroup(rows))
    results = list(
        tokenize_trajectory_groups(Words(), made, allow_training_without_logprobs=True, scale_rewards=False)
    )
    if not results:
        return "skipped"
    packed = packed_tensors_from_tokenized_results(results, seq_len=64, pad_token_id=0)
    chosen = packed["assistant_mask"]
    by_token = dict(zip(packed["tokens"][chosen].tolist(), packed["advantages"][chosen].tolist(), strict=True))
    return " ".join(f"{by_token[token]:.2f}" for token in sorted(by_token))


STEPS = [
    [[1, 0, 0, 0]], [[0.001, 0, 0, 0]], [[100, 0, 0, 0]], [[0.1] * 3], [[0.7] * 3], [[0.5] * 3], [[0.1] * 3, [1, 0, 0, 0]],
]
found = []
for step in STEPS:
    found.append(f"rewards {' | '.join(', '.join(map(str, rewards)) for rewards in step)}: {advantages(step)}")
SEEN = """\
rewards 1, 0, 0, 0: 2.00 -0.67 -0.67 -0.67
rewards 0.001, 0, 0, 0: 2.00 -0.67 -0.67 -0.67
rewards 100, 0, 0, 0: 2.00 -0.67 -0.67 -0.67
rewards 0.1, 0.1, 0.1: -1.00 -1.00 -1.00
rewards 0.7, 0.7, 0.7: 1.00 1.00 1.00
rewards 0.5, 0.5, 0.5: skipped
rewards 0.1, 0.1, 0.1 | 1, 0, 0, 0: -0.00 -0.00 -0.00 3.50 -1.17 -1.17 -1.17"""
print("advantages with scale_rewards=False:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/size.py"
