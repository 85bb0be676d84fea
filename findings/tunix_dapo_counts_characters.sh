#!/usr/bin/env bash
# google-tunix 0.1.7: DAPO's penalty for long responses counts characters where its settings count tokens, and has no lower end:
# a right response of 5,000 tokens, of 20,480 allowed, has a smaller reward than a wrong short one.
#
# Guessed: DAPOLearner's overlong_buffer is DAPO's soft overlong punishment (arXiv 2503.14476): 0 up to max_response_length less
# overlong_buffer_length, 20480 and 4096 tokens as delivered, and from there down to -1.
# Seen (2026-11-30, google-tunix 0.1.7; Tunix's DAPOConfig with its settings as delivered, its reward manager, penalty and
# advantages, on texts of common words of four letters, which are a token each with their space): the penalty, which DAPOLearner
# adds to the reward functions by itself, takes the length of the text. So it sets in at 16,384 characters, some 3,300 of these
# tokens, and it goes on falling with the same slope: -20 at the longest response, against 1 for a right answer. Groups whose
# responses think for longer are trained towards short ones, right or wrong. Set overlong_buffer={"enable": False}, and give the
# learner a reward function that counts tokens and stops at -1.
#
#   tokens: reward of a right response in DAPO | in Tunix | its advantage beside three wrong ones of 500 tokens
#   3000: 1.00 | 1.00 | 1.50
#   5000: 1.00 | -1.10 | -1.50
#   10000: 1.00 | -7.21 | -1.50
#   16384: 1.00 | -15.00 | -1.50
#   20480: 0.00 | -20.00 | -1.50
#
# Exits with a status other than 0 if any of this differs. The libraries that Tunix imports and does not use here, JAX among
# them, are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile numpy==2.3.5 typing_extensions
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps google-tunix==0.1.7
cat >"$folder/lengths.py" <<'PYTHON'
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from unittest.mock import MagicMock


class StandIns:
    """Finds the libraries that Tunix imports and does not use here."""

    NAMES = (
        "PIL absl datasets etils flax fsspec grain huggingface_hub humanize jax jaxtyping jinja2 kagglehub metrax numba "
        "omegaconf optax orbax perfetto qwix safetensors sentencepiece tenacity tqdm transformers"
    ).split()

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.NAMES else None

    def create_module(self, spec):
        return MagicMock(name=spec.name, __spec__=spec, __path__=[])

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, StandIns())
package = ModuleType("tunix")  # without what its __init__ imports
package.__path__ = list(find_spec("tunix").submodule_search_locations)
sys.modules["tunix"] = package
from tunix.rl import algo_core, function_registry
from tunix.rl.grpo.dapo_learner import DAPOConfig, reward_shaping

CONFIG = DAPOConfig()
LONGEST, BUFFER = (CONFIG.overlong_buffer[key] for key in ("max_response_length", "overlong_buffer_length"))


def response(answer, tokens):
    return " then" * (tokens - 1) + f" {answer}"


def correct(prompts, completions, **_):
    return [float(text.endswith(" 18")) for text in completions]


manager = function_registry.get_reward_manager(CONFIG.reward_manager)([correct, reward_shaping], CONFIG)
lines = []
for tokens in (3000, 5000, 10000, LONGEST - BUFFER, LONGEST):
    group = [response(18, tokens)] + [response(17, 500)] * 3
    rewards = manager(prompts=["How many?"] * 4, completions=group, mode=None)["rewards"]
    advantages = algo_core.compute_advantages(rewards, num_generations=4)
    in_dapo = 1 + min(0, max(-1, (LONGEST - BUFFER - tokens) / BUFFER))
    lines.append(f"{tokens}: {in_dapo:.2f} | {rewards[0]:.2f} | {advantages[0]:.2f}")
SEEN = """\
3000: 1.00 | 1.00 | 1.50
5000: 1.00 | -1.10 | -1.50
10000: 1.00 | -7.21 | -1.50
16384: 1.00 | -15.00 | -1.50
20480: 0.00 | -20.00 | -1.50"""
found = "\n".join(lines)
print("tokens: reward in DAPO | in Tunix | advantage")
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/lengths.py" 2>/dev/null
