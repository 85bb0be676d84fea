#!/usr/bin/env bash
# reasoning-gym 0.1.25: the problems of seed 43 are those of seed 42 but for one; ReseedingDataset, "infinite", repeats its first
# chunk with one new problem each time; and the seed of a CurriculumExperiment has no effect.
#
# Guessed: another seed gives other problems, as for a training and a test set; a ReseedingDataset goes on with new ones; and a
# CurriculumExperiment with a seed is the same in each run.
# Seen (2026-12-01, reasoning-gym 0.1.25; create_dataset with 200 problems, settings as delivered): problem i of seed s is that
# of the sum s + i, in nearly all tasks. So of 200 problems with seed 42, 199 are among those with seed 43 and 190 among those
# with seed 52, and a CompositeDataset is the same: a test set with the next seed is the training set, and runs with the seeds 1,
# 2 and 3 share their data. gsm_symbolic draws its templates first and overlaps little. ReseedingDataset adds 1 to the seed for
# each chunk, so 5,000 problems in chunks of 500 are 505 ones, where one dataset of 5,000 has 4,863. A curriculum's
# configuration has a seed of None in it, which goes before the experiment's: two experiments with seed 7 differ. Keep the seeds
# of datasets further apart than their size, and take one dataset with a large size instead of a ReseedingDataset.
#
#   of 200 problems with seed 42, those with seed 43, 52 and 242, too:
#   chain_sum: 199, 190, 2
#   countdown: 199, 190, 0
#   simple_equations: 199, 190, 0
#   knights_knaves: 199, 190, 0
#   number_sorting: 199, 190, 0
#   gsm_symbolic: 3, 5, 0
#   composite of chain_sum and gcd: 199, 190, 1
#   5,000 of chain_sum: 4863 different ones; from a ReseedingDataset: 505
#   two curriculum experiments with seed 7: other problems
#
# Exits with a status other than 0 if any of this differs.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-compile reasoning-gym==0.1.25
cat >"$folder/seeds.py" <<'PYTHON'
import sys
from itertools import islice

from reasoning_gym import create_dataset
from reasoning_gym.coaching.curriculum_config import CurriculumAttributeConfig, CurriculumExperimentConfig
from reasoning_gym.coaching.experiment import CurriculumExperiment
from reasoning_gym.composite import CompositeConfig, CompositeDataset, DatasetSpec
from reasoning_gym.dataset import ReseedingDataset

SIZE, MANY, CHUNK = 200, 5000, 500
TASKS = ["chain_sum", "countdown", "simple_equations", "knights_knaves", "number_sorting", "gsm_symbolic"]
MIXED = "composite of chain_sum and gcd"


def questions(problems):
    return {problem["question"] for problem in problems}


def made(name, seed):
    """The questions of this seed."""
    if name == MIXED:
        parts = [DatasetSpec("chain_sum", 1, {}), DatasetSpec("gcd", 1, {})]
        mixed = CompositeDataset(CompositeConfig(size=SIZE, seed=seed, datasets=parts))
        return questions(mixed[row] for row in range(SIZE))
    return questions(create_dataset(name, seed=seed, size=SIZE))


def curriculum():
    levels = CurriculumAttributeConfig(attribute_levels={"*": 0}, weight=1.0)
    settings = CurriculumExperimentConfig(curricula={"chain_sum": levels})
    experiment = CurriculumExperiment("one", settings, size=20, seed=7)
    return [experiment.get_dataset_entry(row)["question"] for row in range(20)]


found = []
for name in [*TASKS, MIXED]:
    first = made(name, 42)
    found.append(f"{name}: {', '.join(str(len(first & made(name, seed))) for seed in (43, 52, 42 + SIZE))}")
plain = questions(create_dataset("chain_sum", seed=42, size=MANY))
infinite = ReseedingDataset(create_dataset("chain_sum", seed=42, size=CHUNK), chunk_size=CHUNK)
again = questions(islice(iter(infinite), MANY))
found.append(f"{MANY:,} of chain_sum: {len(plain)} different ones; from a ReseedingDataset: {len(again)}")
found.append(f"two curriculum experiments with seed 7: {'the same' if curriculum() == curriculum() else 'other'} problems")
SEEN = """\
chain_sum: 199, 190, 2
countdown: 199, 190, 0
simple_equations: 199, 190, 0
knights_knaves: 199, 190, 0
number_sorting: 199, 190, 0
gsm_symbolic: 3, 5, 0
composite of chain_sum and gcd: 199, 190, 1
5,000 of chain_sum: 4863 different ones; from a ReseedingDataset: 505
two curriculum experiments with seed 7: other problems"""
print("of 200 problems with seed 42, those with seed 43, 52 and 242, too:")
print(*found, sep="\n")
sys.exit("\n".join(found) != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/seeds.py"
