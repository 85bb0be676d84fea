"""Every key a run logs: ours and verl's."""

from fnmatch import fnmatchcase

from pacs.metrics.entry import Metric, VerlKey
from pacs.metrics.tables import batch, dars, loss, update, verl_baselines, verl_time, verl_update

#: Title of a section -> our metrics, which `reduce.py` computes where they have a column, and the trainer else.
OURS: dict[str, tuple[Metric, ...]] = {
    "The loss": loss.LOSS,
    "The score as a critic": loss.CRITIC,
    "Scores by verdict": loss.SCORES,
    "The update": update.UPDATE,
    "The reference": update.REFERENCE,
    "The policy": update.POLICY,
    "Groups": batch.GROUPS_OF_BATCH,
    "A second stage of rollouts (DARS)": dars.DARS,
    "Responses": batch.RESPONSES_OF_BATCH,
    "The verifier": batch.VERIFIER,
    "Validation": batch.VALIDATION,
}

#: Title of a section -> the keys that verl 0.9.1 writes into the same file, and what each of them really is.
VERL_KEYS: dict[str, tuple[VerlKey, ...]] = {
    "verl: the outcome": verl_update.OUTCOME,
    "verl: the update": verl_update.UPDATE,
    "verl: lengths and turns": verl_update.LENGTHS,
    "verl: rollout and trainer": verl_update.GAP,
    "verl: time and throughput": verl_time.TIME,
    "verl: PPO and GRPO": verl_baselines.BASELINES,
    "verl: progress": verl_time.PROGRESS,
}

#: Title of a section -> its entries, in the order of the page.
SECTIONS: dict[str, tuple[Metric | VerlKey, ...]] = {**OURS, **VERL_KEYS}

ENTRIES = tuple(entry for entries in SECTIONS.values() for entry in entries)


def find(key: str) -> Metric | VerlKey | None:
    """The entry of a key: the one of that name, else the first whose glob matches, else None."""
    named = (entry for entry in ENTRIES if entry.name == key)
    matching = (entry for entry in ENTRIES if fnmatchcase(key, entry.name))
    return next(named, None) or next(matching, None)
