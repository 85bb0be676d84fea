#!/usr/bin/env bash
# verl 0.9.1: best@n of validation is not pass@n: n responses of which one is right give 0.69 for n=4 and 0.62 for n=32. Each
# validation sets numpy's global seed to 42.
#
# Guessed: best@32 of 32 responses is 1 if one of them is right, that is pass@32, and best@2 of 4 its unbiased estimate; the
# metrics only read.
# Seen (2026-11-30, verl 0.9.1; the trainer's process_validation_metrics): n responses are drawn from the n with replacement,
# 1,000 times, and about a third is never drawn. So best@n is below the pass@n that others publish, by 0.31 to 0.38 on a
# problem solved once, and by nothing on one solved often: it rises where pass@n stands still. All problems share the same
# draws, so their error does not average out: best@2 of 32 is 0.08 for every problem whose first response alone is right,
# and should be 0.06. worst@n is not the worst of the n either. The draws begin with np.random.seed(42): whatever else draws
# from numpy's global generator in the trainer's process, like a sampler or a curriculum of yours, draws the same after every
# validation, whatever its seed. Calculate pass@n from the dumped scores (trainer.validation_data_dir), and give your sampler
# a generator of its own.
#
#   1 right of 4: best@2 0.45, best@4 0.69, pass@2 0.50, pass@4 1.00
#   1 right of 32: best@2 0.08, best@32 0.62, pass@2 0.06, pass@32 1.00
#   4 right of 32: best@2 0.26, best@32 0.99, pass@2 0.24, pass@32 1.00
#   31 right of 32: worst@32 0.38
#   numpy's next number after a validation, with seeds 1 and 2: 0.1851 0.1851
#
# Exits with a status other than 0 if any of this differs. What the file imports for other functions is a stand-in.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1 numpy==2.3.5
cat >"$folder/best.py" <<'PYTHON'
import importlib.util
import sys
import sysconfig
from math import comb
from unittest.mock import MagicMock

import numpy as np

OTHERS = "torch omegaconf transformers verl verl.utils verl.utils.fs verl.utils.import_utils verl.utils.model"
for other in (*OTHERS.split(), "verl.utils.torch_functional"):
    sys.modules[other] = MagicMock()
path = f"{sysconfig.get_path('purelib')}/verl/trainer/ppo/metric_utils.py"
spec = importlib.util.spec_from_file_location("metric_utils", path)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
process_validation_metrics = module.process_validation_metrics


def metrics(right, n):
    """verl's metrics of a problem with `right` right responses of n."""
    scores = [1.0] * right + [0.0] * (n - right)
    return process_validation_metrics(["math"] * n, ["problem"] * n, {"acc": scores})["math"]["acc"]


found = []
for right, n in ((1, 4), (1, 32), (4, 32)):
    verls = ", ".join(f"best@{k} {metrics(right, n)[f'best@{k}/mean']:.2f}" for k in (2, n))
    unbiased = ", ".join(f"pass@{k} {1 - comb(n - right, k) / comb(n, k):.2f}" for k in (2, n))
    found.append(f"{right} right of {n}: {verls}, {unbiased}")
found.append(f"31 right of 32: worst@32 {metrics(31, 32)['worst@32/mean']:.2f}")
draws = []
for seed in (1, 2):
    np.random.seed(seed)
    metrics(1, 2)
    draws.append(f"{np.random.rand():.4f}")
found.append("numpy's next number after a validation, with seeds 1 and 2: " + " ".join(draws))
SEEN = """\
1 right of 4: best@2 0.45, best@4 0.69, pass@2 0.50, pass@4 1.00
1 right of 32: best@2 0.08, best@32 0.62, pass@2 0.06, pass@32 1.00
4 right of 32: best@2 0.26, best@32 0.99, pass@2 0.24, pass@32 1.00
31 right of 32: worst@32 0.38
numpy's next number after a validation, with seeds 1 and 2: 0.1851 0.1851"""
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/best.py"
