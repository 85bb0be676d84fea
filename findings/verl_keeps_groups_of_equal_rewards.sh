#!/usr/bin/env bash
# verl 0.9.1: DAPO's filter of groups keeps some whose rewards are all the same.
#
# Guessed: with algorithm.filter_groups.enable=true, a group whose responses all got the same reward is dropped and replaced,
# since it has no advantage: the filter is there for that.
# Seen (2026-11-29, verl 0.9.1, numpy 2.3.5): verl tests whether np.std of the rewards is 0.0. For three rewards of 0.1 it is
# 1.4e-17, since the mean of three equal numbers is rounded. The group then counts as mixed: it stays in the step with
# advantages that are rounding errors, and no other is sampled for it. For rewards of 0, 0.5 and 1 the test is right at every
# size up to 16; with graded or shaped rewards it fails at many sizes.
#
#   rewards of 0: left out at every size
#   rewards of 1: left out at every size
#   rewards of 0.5: left out at every size
#   rewards of 0.1: kept in groups of 3, 6, 7, 12, 13, 14, 15
#   rewards of 0.7: kept in groups of 3, 6, 7, 11, 12, 15
#   rewards of 0.9: kept in groups of 7, 9, 13, 14, 15
#
# Exits with a status other than 0 if any of this differs. It runs verl's own file; the queue of rows, the config and the
# skipping of rollouts that this imports are empty stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps verl==0.9.1 numpy==2.3.5
cat >"$folder/equal.py" <<'PYTHON'
import importlib.util
import sys
import sysconfig
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from unittest.mock import MagicMock

for name, what in {
    "transfer_queue": ["KVBatchMeta"],
    "omegaconf": ["DictConfig"],
    "verl": [],
    "verl.utils": [],
    "verl.utils.skip": ["SkipManager"],
}.items():
    sys.modules[name] = ModuleType(name)
    for each in what:
        setattr(sys.modules[name], each, MagicMock())
file = Path(sysconfig.get_paths()["purelib"], "verl/trainer/ppo/v1/replay_buffer.py")
spec = importlib.util.spec_from_file_location("replay_buffer", file)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def left_out(reward, size):
    """Whether a group of so many equal rewards is."""
    rows = {f"0_{session}_0": {"reward_extra_info": {"score": reward}} for session in range(size)}
    module.tq.kv_batch_get = lambda keys, partition_id, select_fields: {"extra_fields": [rows[key] for key in keys]}
    buffer = object.__new__(module.ReplayBuffer)
    buffer.filter_groups_metric = "score"
    buffer.finished_keys = {"train": {"0"}}
    buffer.partitions = {"train": rows}
    buffer._dapo_classification_cache = defaultdict(dict)
    return buffer._dapo_filtered_keys("train")[0] == {"0"}


SEEN = {
    0.0: [],
    1.0: [],
    0.5: [],
    0.1: [3, 6, 7, 12, 13, 14, 15],
    0.7: [3, 6, 7, 11, 12, 15],
    0.9: [7, 9, 13, 14, 15],
}
found = {reward: [size for size in range(2, 17) if not left_out(reward, size)] for reward in SEEN}
for reward, kept in found.items():
    what = f"kept in groups of {', '.join(map(str, kept))}" if kept else "left out at every size"
    print(f"rewards of {reward:g}: {what}")
sys.exit(found != SEEN)
PYTHON
"$folder/venv/bin/python" "$folder/equal.py"
