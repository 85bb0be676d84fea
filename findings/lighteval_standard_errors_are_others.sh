#!/usr/bin/env bash
# lighteval 0.13.0: the standard error of a metric over the whole corpus (perplexity, bits per byte, BLEU, F1) is 32 times too
# small, and that of MMLU's average over its subtasks 7.5 times too large.
#
# Guessed: what stands behind the plus-minus sign is how far the number would move on another test set, as in lm-eval, from
# which the code of the bootstrap comes.
# Seen (2026-11-30, lighteval 0.13.0; the logger and the metrics of its tasks wikitext:103 and mmlu, on scores drawn here: 300
# texts, 200 questions to each of 57 subtasks): for a metric that is no mean, lighteval resamples the test set 1000 times,
# takes the standard deviation of the results, which is the standard error, and divides it by the square root of 1000. So two
# models that are alike look far apart. lm-eval's function of the same name does not divide. The standard error of an average
# over subtasks, and that of "all", is the mean of their errors, and not the root of the sum of the squares over their number:
# with k subtasks it is sqrt(k) times too large, and a real difference looks like noise. The error of a single task whose
# metric is a mean is right. Multiply the first by 31.6, and compute the second from the subtasks.
#
#   standard error as lighteval logs it | spread over 500 new test sets
#   bits_per_byte of 300 texts: 0.0004 | 0.0129
#   byte_perplexity of 300 texts: 0.0005 | 0.0156
#   exact match in a subtask of MMLU: 0.0311 | 0.0320
#   exact match in MMLU, 57 subtasks: 0.0323 | 0.0044
#
# Exits with a status other than 0 if any of this differs. The libraries that lighteval imports and does not use here are
# stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile latex2sympy2_extended==1.0.6 sympy==1.14.0 \
  numpy==2.3.5 pydantic==2.14.3 aenum==3.1.15 tqdm packaging
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps lighteval==0.13.0
cat >"$folder/errors.py" <<'PYTHON'
import sys
from importlib.machinery import ModuleSpec
from unittest.mock import MagicMock

import numpy as np


class StandIns:
    """Finds the libraries that lighteval imports and does not use here."""

    NAMES = (
        "accelerate datasets git httpx huggingface_hub inspect_ai multiprocess nltk openai pandas pytablewriter requests "
        "rouge_score sacrebleu scipy sklearn torch transformers xxhash yaml"
    ).split()

    def find_spec(self, name, path=None, target=None):
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in self.NAMES else None

    def create_module(self, spec):
        return MagicMock(name=spec.name, __spec__=spec, __path__=[])

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, StandIns())
from lighteval.logging.info_loggers import MetricsLogger
from lighteval.metrics.sample_preparator import PerplexityCorpusMetricInput
from lighteval.tasks.lighteval_task import LightevalTask
from lighteval.tasks.tasks import mmlu, wikitext

NUMBERS = np.random.default_rng(0)
TEXTS, QUESTIONS, TEST_SETS = 300, 200, 500
(TEXT,) = [config for config in wikitext.TASKS_TABLE if config.name == "wikitext:103:document_level"]
TASKS = {f"{config.name}|0": LightevalTask(config) for config in [TEXT, *mmlu.TASKS_TABLE]}
ROWS = {
    "bits_per_byte of 300 texts": (f"{TEXT.name}|0", "bits_per_byte"),
    "byte_perplexity of 300 texts": (f"{TEXT.name}|0", "byte_perplexity"),
    "exact match in a subtask of MMLU": ("mmlu:abstract_algebra|0", "em"),
    f"exact match in MMLU, {len(mmlu.TASKS_TABLE)} subtasks": ("mmlu:_average|0", "em"),
}


def evaluated(resamples):
    """What lighteval's logger makes of a new test set, each text of its own length and each answer right with 0.7."""
    logger = MetricsLogger()
    lengths = NUMBERS.integers(100, 5000, TEXTS)
    for length, bits in zip(lengths, NUMBERS.normal(0.8, 0.2, TEXTS), strict=True):
        item = PerplexityCorpusMetricInput(logprobs=-bits * length * np.log(2), weights=int(length))
        logger.log(f"{TEXT.name}|0", {"bits_per_byte": item, "byte_perplexity": item})
    for config in mmlu.TASKS_TABLE:
        for right in NUMBERS.random(QUESTIONS) < 0.7:
            logger.log(f"{config.name}|0", {"em": float(right)})
    logger.aggregate(TASKS, bootstrap_iters=resamples)
    return logger.metric_aggregated


logged = evaluated(resamples=1000)
others = [evaluated(resamples=0) for _ in range(TEST_SETS)]
lines = []
for what, (task, metric) in ROWS.items():
    spread = np.std([results[task][metric] for results in others], ddof=1)
    lines.append(f"{what}: {logged[task][f'{metric}_stderr']:.4f} | {spread:.4f}")
SEEN = """\
bits_per_byte of 300 texts: 0.0004 | 0.0129
byte_perplexity of 300 texts: 0.0005 | 0.0156
exact match in a subtask of MMLU: 0.0311 | 0.0320
exact match in MMLU, 57 subtasks: 0.0323 | 0.0044"""
found = "\n".join(lines)
print("standard error as lighteval logs it | spread over 500 new test sets")
print(found)
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/errors.py" 2>/dev/null
