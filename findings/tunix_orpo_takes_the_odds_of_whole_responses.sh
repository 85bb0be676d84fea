#!/usr/bin/env bash
# google-tunix 0.1.7: ORPO's odds ratio is of the probability of the whole response and not of a token: the preference term has
# no gradient where the chosen response is shorter, and 40 times that of the supervised term where it is longer.
#
# Guessed: algorithm="orpo" is ORPO (arXiv 2403.07691): log P of a response is the mean of its tokens' log-probabilities, so
# responses of different lengths can be compared, and with lambda_orpo=0.1 the preference term is the smaller one.
# Seen (2026-11-30, google-tunix 0.1.7, JAX 0.10.2; Tunix's dpo_loss_fn on log-probabilities given here, lambda_orpo as
# delivered): the supervised term is divided by the length, but the odds are of the sums. exp(-50) is nothing, so the odds are
# the probabilities, and their logarithm is a difference of sums, in which length counts most. Where it is positive by some
# units, the preference term has no gradient. Where it is negative, its gradient is lambda_orpo for each token, and no share of
# the length: at 400 tokens, 40 times the supervised term. So it pushes long chosen responses up and leaves short ones alone,
# whichever of the two the model prefers. The comment beside it says that TRL takes sums; TRL 1.16.0 takes means. Use a loss of
# your own, with both sums divided by their lengths.
#
#   gradient of the preference term over that of the supervised term, in ORPO | in Tunix; log-probability of a token, tokens
#   chosen -0.5, 100; rejected -0.6, 100: 0.11 | 0.00
#   chosen -0.6, 100; rejected -0.5, 100: 0.12 | 10.00
#   chosen -0.5, 400; rejected -0.6, 100: 0.11 | 40.00
#   chosen -0.6, 100; rejected -0.5, 400: 0.12 | 0.00
#
# Exits with a status other than 0 if any of this differs. The libraries that Tunix imports and does not use here are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile numpy==2.3.5 jax==0.10.2 typing_extensions
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps google-tunix==0.1.7
cat >"$folder/odds.py" <<'PYTHON'
import sys
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from unittest.mock import MagicMock

import jax
import jax.numpy as jnp


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
nnx = MagicMock(jit=lambda function=None, **_: function or (lambda decorated: decorated), __path__=[])
sys.modules |= {"flax": MagicMock(nnx=nnx, __path__=[]), "flax.nnx": nnx}
package = ModuleType("tunix")  # without what its __init__ imports
package.__path__ = list(find_spec("tunix").submodule_search_locations)
sys.modules["tunix"] = package
from tunix.sft.dpo import dpo_trainer

LAMBDA, WIDTH = 0.1, 400


def tunix(log_probs, mask, term):
    """One term of Tunix's loss, of the log-probabilities that its model would give."""
    dpo_trainer.common.get_per_token_logps = lambda *_, **__: log_probs
    example = SimpleNamespace(
        input_ids=None, positions=None, attention_mask=None, logits_to_keep=WIDTH, completion_mask=mask, images=None
    )
    _, logged = dpo_trainer.dpo_loss_fn(None, example, algorithm="orpo", lambda_orpo=LAMBDA)
    return LAMBDA * logged["or_loss"] if term == "preference" else logged["sft_loss"]


def orpo(log_probs, mask, term):
    """The same of the paper: P is exp of the mean over the tokens, and the odds are P / (1 - P)."""
    chosen, rejected = (log_probs * mask).sum(-1) / mask.sum(-1)
    if term != "preference":
        return -chosen
    odds = (chosen - jnp.log1p(-jnp.exp(chosen))) - (rejected - jnp.log1p(-jnp.exp(rejected)))
    return -LAMBDA * jax.nn.log_sigmoid(odds)


def share(loss, log_probs, mask):
    """The gradient of the preference term over that of the supervised term, at the first token of the chosen response."""
    preference, supervised = (jax.grad(loss)(log_probs, mask, term)[0, 0] for term in ("preference", "supervised"))
    return preference / supervised


lines = []
for chosen, rejected in (
    ((-0.5, 100), (-0.6, 100)),
    ((-0.6, 100), (-0.5, 100)),
    ((-0.5, 400), (-0.6, 100)),
    ((-0.6, 100), (-0.5, 400)),
):
    log_probs = jnp.stack([jnp.full(WIDTH, chosen[0]), jnp.full(WIDTH, rejected[0])])
    mask = (jnp.arange(WIDTH) < jnp.array([[chosen[1]], [rejected[1]]])).astype(jnp.float32)
    shares = (f"{round(float(share(loss, log_probs, mask)), 2) + 0.0:.2f}" for loss in (orpo, tunix))
    lines.append(f"chosen {chosen[0]}, {chosen[1]}; rejected {rejected[0]}, {rejected[1]}: {' | '.join(shares)}")
SEEN = """\
chosen -0.5, 100; rejected -0.6, 100: 0.11 | 0.00
chosen -0.6, 100; rejected -0.5, 100: 0.12 | 10.00
chosen -0.5, 400; rejected -0.6, 100: 0.11 | 40.00
chosen -0.6, 100; rejected -0.5, 400: 0.12 | 0.00"""
found = "\n".join(lines)
print("preference over supervised: ORPO | Tunix")
print(found)
sys.exit(found != SEEN)
PYTHON
JAX_PLATFORMS=cpu "$folder/venv/bin/python" "$folder/odds.py" 2>"$folder/errors" || {
  code=$?
  tail -3 "$folder/errors"
  exit "$code"
}
