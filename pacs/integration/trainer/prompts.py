"""The order of a run's prompts; with a filter of groups (`group_filter.py`) those that a step has used."""

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from verl.utils import tensordict_utils as tu

from pacs.integration.exchange import REPEAT
from pacs.integration.patches.seeded_rollouts import drawn_before
from pacs.integration.trainer.grades import Grades
from pacs.integration.trainer.pool import PoolLoader
from pacs.integration.trainer.step_rows import prompt_uid
from pacs.verl_keys.config import filters_groups, has_partial_rollouts, prompts_per_step

#: verl's file of a checkpoint that holds the state of the data loader.
LOADER_STATE = "data.pt"


@dataclass(frozen=True)
class _Drawn:
    """A prompt, and where the loader was after it.

    Attributes:
        prompt: verl's fields of it, a batch of one.
        position: the loader's state.
    """

    prompt: Any
    position: Any


class PromptOrder:
    """Numbers a step's prompts as they are drawn, so that rows can be arranged alike in every run.

    Args:
        config: verl's.

    Attributes:
        pool: from which prompts are drawn by their pass rates, or None.
        drawn: prompts of this step so far.
        discarded_tokens: of the responses that were sampled in this step and thrown away, filtered groups as a rule.
    """

    def __init__(self, config: DictConfig) -> None:
        self.filters, self.per_step = filters_groups(config), prompts_per_step(config)
        self.drawn = self.discarded_tokens = 0
        self.pool: PoolLoader | None = None
        # How often a prompt was drawn, for its seeds: the data may have it twice, and with partial rollouts a draw may
        # go on across the end of the data.
        seeded = bool(OmegaConf.select(config, "run.rollouts.seeded"))
        self._times: Counter[str] | None = Counter() if seeded or has_partial_rollouts(config) else None
        # With a filter alone, which does not know beforehand how many prompts a step takes.
        self._of_step: list[_Drawn] = []
        self._put_back: deque[_Drawn] = deque()
        self._position: Any = None

    @property
    def resampled(self) -> int:
        """Prompts drawn in this step in place of groups that were filtered."""
        return max(0, self.drawn - self.per_step)

    def begin_step(self, step: int) -> None:
        """Count anew."""
        self.drawn = self.discarded_tokens = 0
        if self._times is not None:
            self._times.clear()
        if self.pool is not None:
            self.pool.begin(step)

    def fetch(self, next_of_loader: Callable[[], Any], loader: Any) -> Any:
        """The next prompt: one that an earlier step drew and did not use, or the loader's.

        Args:
            next_of_loader: fetches it, as a batch of one where groups are filtered.
            loader: verl's, which can say where it is.
        """
        if not self.filters:
            return next_of_loader()
        drawn = self._put_back.popleft() if self._put_back else _Drawn(next_of_loader(), loader.state_dict())
        self._of_step.append(drawn)
        return drawn.prompt.copy()  # verl writes the step and the id into it

    def number(self, step: int, batch: Any) -> Any:
        """Give the prompts of verl's batch ids `{step}-{number}` in the order in which they were drawn."""
        first = self.drawn
        self.drawn += len(batch)
        uids = [f"{step}-{first + i}" for i in range(len(batch))]
        tu.assign_non_tensor_stack(batch, "uid", uids)
        if self._times is not None:
            tu.assign_non_tensor_stack(batch, REPEAT, drawn_before(batch["raw_prompt"], self._times))
        if self.pool is not None:
            self.pool.name(uids)
        return batch

    def learn_rates(self, batch: Any, grades: Grades) -> dict[str, float]:
        """Let the pool know what a train batch's prompts have earned; the metrics of its draw, none without a pool."""
        return {} if self.pool is None else self.pool.observe(batch.keys, grades)

    def use(self, number: int) -> None:
        """Of the step's prompts take the first ones, so many; the next step begins with the others."""
        self._position = self._of_step[number - 1].position
        self._put_back.extendleft(reversed(self._of_step[number:]))
        self._of_step = []

    def save_position(self, checkpoint: Path) -> None:
        """Write where the next step begins in the data, if a filter has drawn prompts from beyond that."""
        if self._position is not None:
            torch.save(self._position, checkpoint / LOADER_STATE)

    def count_discarded(self, buffer: Any) -> None:
        """Follow what verl's replay buffer throws away: it says how many groups, and not how long they are."""
        clear_groups = buffer._clear_groups

        def clear_and_count(partition_id: str, uids: set[str]) -> None:
            if partition_id == "train":
                rows = buffer.partitions[partition_id].items()
                self.discarded_tokens += sum(tag["response_len"] for key, tag in rows if prompt_uid(key) in uids)
            clear_groups(partition_id, uids)

        buffer._clear_groups = clear_and_count
