#!/usr/bin/env bash
# torchrl 0.14.1: TopKRewardSelector stores only what is above the median of a prompt's responses, so nothing where most are right;
# and once it has seen total_dialog_turns of them, each further one makes it store the best of the last ones again.
#
# Guessed: TopKRewardSelector(total_dialog_turns=5, topk_size=3) puts the 3 best of 5 responses to a prompt into the buffer, as
# its documentation says, and then waits for the next 5.
# Seen (2026-12-01, torchrl 0.14.1, tensordict 0.14.3, torch 2.13.0; one response to a prompt at a time, written to a buffer): the
# 3 best of the rewards 0 to 4 are two, 4 and 3: what is not above the median is dropped first. With rewards of 0 and 1 the
# median is 1 as soon as 3 of 5 responses are right, and then nothing is stored, although the rewards differ; one right of 5
# gives one row. The queue of a prompt is never emptied: from the 6th response on the best of the last 5 are written again with
# every response, so that a second pass over the prompts stores one right response up to five times. So rejection sampling
# learns only from prompts that the model mostly fails, and counts their few right responses several times; the length of the
# buffer shows neither. Select from whole groups before extend().
#
#   rewards of the responses: number of the response for each row that was stored
#   0 1 2 3 4: 4 3
#   1 0 0 0 0: 0
#   1 1 0 0 0: 0 1
#   1 1 1 0 0: none
#   1 1 1 1 0: none
#   1 0 0 0 0, 1 0 0 0 0: 0 5 5 5 5 5
#   0 1 2 3 4, 0 1 2 3 4: 4 3 4 3 4 3 4 3 4 8 9 8
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check torch==2.13.0 torchrl==0.14.1 tensordict==0.14.3 numpy
cat >"$folder/top.py" <<'PYTHON'
import sys

import torch
from tensordict import TensorDict, lazy_stack
from torchrl.data import LazyStackStorage, ReplayBuffer, SamplerWithoutReplacement
from torchrl.data.llm.topk import TopKRewardSelector

TURNS, BEST, TOKENS = 5, 3, 4


def stored(rewards):
    """The numbers of the responses in the buffer, with these rewards of the responses to one prompt."""
    buffer = ReplayBuffer(storage=LazyStackStorage(100), sampler=SamplerWithoutReplacement(), batch_size=1)
    selector = TopKRewardSelector(total_dialog_turns=TURNS, topk_size=BEST, prompt_key="text", verbose=False)
    buffer.append_transform(selector)
    for number, reward in enumerate(rewards):
        response = {
            "text": "a question",
            "number": torch.tensor(number),
            ("next", "done"): torch.full((1, 1), True),
            ("next", "reward"): torch.full((TOKENS, 1), float(reward)),
        }
        buffer.extend(lazy_stack([TensorDict(response)]))
    return " ".join(str(int(buffer[row]["number"])) for row in range(len(buffer))) or "none"


SEEN = {
    "0 1 2 3 4": "4 3",
    "1 0 0 0 0": "0",
    "1 1 0 0 0": "0 1",
    "1 1 1 0 0": "none",
    "1 1 1 1 0": "none",
    "1 0 0 0 0, 1 0 0 0 0": "0 5 5 5 5 5",
    "0 1 2 3 4, 0 1 2 3 4": "4 3 4 3 4 3 4 3 4 8 9 8",
}
found = {rewards: stored(rewards.replace(",", "").split()) for rewards in SEEN}
print("rewards of the responses: number of the response for each row that was stored")
for rewards, numbers in found.items():
    print(f"{rewards}: {numbers}")
sys.exit(found != SEEN)
PYTHON
OMP_NUM_THREADS=1 "$folder/venv/bin/python" "$folder/top.py" 2>/dev/null
