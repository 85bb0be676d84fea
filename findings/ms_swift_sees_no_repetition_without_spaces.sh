#!/usr/bin/env bash
# ms-swift 4.6.0: the reward "repetition" counts what stands between spaces: a Chinese sentence said a hundred times repeats
# nothing, and neither does a formula. The reward "cosine" comes back beyond cosine_max_len.
#
# Guessed: repetition penalizes n-grams of tokens that come again, as in the paper that it names (arXiv 2502.03373), in any
# language; and cosine goes from its value at length 0 to that at cosine_max_len, and stays there.
# Seen (2026-11-30, ms-swift 4.6.0; its reward functions with their settings as delivered, cosine_max_len=1000): the n-grams are
# of the words of completion.lower().split(). Chinese, Japanese and Thai have no spaces, so a loop in them is one word, and the
# reward is 0, as for a text that repeats nothing. cosine is a cosine of the length without a bound: a right response of 2,000
# tokens gets what one of 0 tokens gets, and a wrong one that penalty. That needs a cosine_max_len below max_completion_length,
# or several turns, whose lengths are added. So a run that is to be kept from loops has no reward against them, and logs a
# repetition of 0. Count n-grams of response_token_ids in a reward of your own, and cut the length off at cosine_max_len.
#
#   repetition: a sentence said 100 times in English, Chinese, Japanese, as a formula without spaces
#   -0.99, 0.00, 0.00, 0.00
#   cosine, right and wrong, at 0, 500, 1000, 1500 and 2000 tokens of at most 1000
#   right: 1.00, 0.75, 0.50, 0.75, 1.00
#   wrong: -0.50, -0.25, 0.00, -0.25, -0.50
#
# Exits with a status other than 0 if any of this differs. What ms-swift imports beside its reward functions is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps ms-swift==4.6.0
cat >"$folder/rewards.py" <<'PYTHON'
import sys
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace


def stand_in(name, **contents):
    module = sys.modules[name] = ModuleType(name)
    vars(module).update(contents)


root = find_spec("swift").submodule_search_locations[0]
stand_in("swift", __path__=[root])
stand_in("swift.rewards", __path__=[f"{root}/rewards"])
stand_in("swift.infer_engine", InferRequest=object)
from swift.rewards.orm import CosineReward, RepetitionPenalty

# As in rlhf_trainers/args_mixin.py, but for cosine_max_len.
SETTINGS = SimpleNamespace(
    repetition_n_grams=3,
    repetition_max_penalty=-1.0,
    cosine_min_len_value_wrong=-0.5,
    cosine_max_len_value_wrong=0.0,
    cosine_min_len_value_correct=1.0,
    cosine_max_len_value_correct=0.5,
    cosine_max_len=1000,
)
LOOPS = ("So let us check it once more. ", "所以我们再检查一遍。", "もう一度確かめましょう。", "x+1=x+1=")
LENGTHS = (0, 500, 1000, 1500, 2000)


def shown(rewards):
    return ", ".join(f"{reward + 0.0:.2f}" for reward in rewards)


lines = [shown(RepetitionPenalty(SETTINGS)([loop * 100 for loop in LOOPS]))]
tokens = [[1] * length for length in LENGTHS]
for verdict in ("right", "wrong"):
    graded = [float(verdict == "right")] * len(LENGTHS)
    cosine = CosineReward(SETTINGS, accuracy_orm=lambda completions, solution, graded=graded, **_: graded)
    lines.append(f"{verdict}: {shown(cosine([''] * 5, [''] * 5, response_token_ids=tokens))}")
SEEN = """\
-0.99, 0.00, 0.00, 0.00
right: 1.00, 0.75, 0.50, 0.75, 1.00
wrong: -0.50, -0.25, 0.00, -0.25, -0.50"""
found = "\n".join(lines)
print("repetition; cosine")
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/rewards.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
