#!/usr/bin/env bash
# google-tunix 0.1.7: PPO cuts rewards to whole numbers: scores of 0.9 and -0.9 train as 0, and 1.5 for a right answer in a good
# form as 1.
#
# Guessed: PPOLearner puts the score of a response at its last token, as it is, and takes the KL from it.
# Seen (2026-11-30, google-tunix 0.1.7, JAX 0.10.2; Tunix's PPOLearner with its settings as delivered, from a rollout on, its
# reward manager and its GAE; policy, reference and critic are stand-ins that give 0 everywhere): the array of rewards is made
# like that of the tokens, so it holds integers, and JAX cuts the scores off as it adds them. It says so once, in a
# FutureWarning about the types of a scatter that does not name rewards. rewards/score is logged as it was, and rewards/reward
# beside it as it is trained on. Scores between -1 and 1, as of a reward model or a graded reward, leave nothing but the KL to
# learn from. GRPO's learner does not do this. Grade in whole numbers, or multiply the scores by 1,000, and set beta and
# clip_range_value to match.
#
#   scores: 0.90, 0.40, -0.90, 1.50
#   trained on: 0.00, 0.00, 0.00, 1.00
#   returns of the last token: 0.00, 0.00, 0.00, 1.00
#   logged: rewards/score/mean 0.475, rewards/reward/mean 0.250
#
# Exits with a status other than 0 if any of this differs. The libraries that Tunix imports and does not use here are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile numpy==2.3.5 jax==0.10.2 typing_extensions
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps google-tunix==0.1.7
cat >"$folder/rewards.py" <<'PYTHON'
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock

import numpy as np


class StandIns:
    """Finds the libraries that Tunix imports and does not use here."""

    NAMES = (
        "PIL absl datasets etils flax fsspec grain huggingface_hub humanize jaxtyping jinja2 kagglehub metrax numba "
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
from tunix.rl.ppo import ppo_learner

ppo_learner.TrainExample = SimpleNamespace
SCORES = [0.9, 0.4, -0.9, 1.5]
PAD, LONGEST = 0, 4
TOKENS = [np.arange(1, 1 + length) for length in (4, 3, 2, 4)]
LAST = [len(tokens) - 1 for tokens in TOKENS]


class Cluster:
    """Gives four responses, and 0 for log-probabilities and values; keeps what is logged."""

    rollout = SimpleNamespace(pad_id=lambda: PAD, eos_id=lambda: 9)
    cluster_config = SimpleNamespace(rollout_config=SimpleNamespace(max_tokens_to_generate=LONGEST))

    def __init__(self):
        self.logged = {}

    def generate(self, **_):
        return SimpleNamespace(tokens=TOKENS, left_padded_prompt_tokens=np.ones((4, 2), int), text=["", "", "", ""])

    def zeros(self, **_):
        return np.zeros((4, LONGEST), np.float32)

    get_ref_per_token_logps = get_old_per_token_logps = zeros

    def get_values(self, **_):
        return np.zeros((4, 2 + LONGEST), np.float32)

    def buffer_metrics(self, metrics, mode):
        self.logged |= {name: value for name, (value, _) in metrics.items()}


config, cluster = ppo_learner.PPOConfig(), Cluster()
manager = function_registry.get_reward_manager(config.reward_manager)([lambda prompts, completions, **_: SCORES], config)
learner = SimpleNamespace(
    rl_cluster=cluster,
    algo_config=config,
    reward_manager=manager,
    metric_fns=[],
    _use_reward_model=False,
    _rollout_micro_batch_size=4,
    _compute_logps_micro_batch_size=4,
)
learner._compute_rewards = ppo_learner.PPOLearner._compute_rewards.__get__(learner)
given = []
estimator = algo_core.registry.get("advantage_estimator", config.advantage_estimator)
ppo_learner.registry.get = lambda *_: lambda **kept: given.append(kept["rewards"]) or estimator(**kept)
example = ppo_learner.PPOLearner._generate_and_compute_advantage(learner, {"prompts": [""] * 4})


def shown(values):
    return ", ".join(f"{float(value):.2f}" for value in values)


lines = [
    f"scores: {shown(SCORES)}",
    f"trained on: {shown(np.asarray(given[0]).sum(-1))}",
    f"returns of the last token: {shown(np.asarray(example.returns)[range(4), LAST])}",
    "logged: " + ", ".join(f"rewards/{name}/mean {cluster.logged[f'rewards/{name}/mean']:.3f}" for name in ("score", "reward")),
]
SEEN = """\
scores: 0.90, 0.40, -0.90, 1.50
trained on: 0.00, 0.00, 0.00, 1.00
returns of the last token: 0.00, 0.00, 0.00, 1.00
logged: rewards/score/mean 0.475, rewards/reward/mean 0.250"""
found = "\n".join(lines)
print(found)
sys.exit(found != SEEN)
PYTHON
JAX_PLATFORMS=cpu "$folder/venv/bin/python" "$folder/rewards.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
