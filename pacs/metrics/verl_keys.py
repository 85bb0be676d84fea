"""The keys that verl 0.9.1 writes into the same file, and what each of them really is."""

from pacs.metrics.entry import VerlKey
from pacs.metrics.tables import verl_baselines, verl_time, verl_update

#: Title of a section -> its keys.
VERL_KEYS: dict[str, tuple[VerlKey, ...]] = {
    "verl: the outcome": verl_update.OUTCOME,
    "verl: the update": verl_update.UPDATE,
    "verl: lengths and turns": verl_update.LENGTHS,
    "verl: rollout against trainer": verl_update.GAP,
    "verl: time and throughput": verl_time.TIME,
    "verl: PPO and GRPO": verl_baselines.BASELINES,
    "verl: progress": verl_time.PROGRESS,
}
