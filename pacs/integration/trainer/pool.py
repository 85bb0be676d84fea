"""Training prompts drawn by how often the policy is believed to solve them (`run.rollouts.pool`), in place of
verl's loader, which reads ahead in processes of its own and so could not draw by what the last step has shown."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from verl.utils.dataset.rl_dataset import collate_fn

from pacs.algorithm.pool import Pool
from pacs.algorithm.preference import Preference
from pacs.base.terminal import print
from pacs.data.rates import problem_key, rates_file, read_rates
from pacs.integration.trainer.grades import Grades
from pacs.integration.trainer.step_rows import prompt_uid
from pacs.runs.console import MARK
from pacs.runs.settings import PoolSettings
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import data_seed, prompt_column, prompts_per_fetch, responses_per_prompt, train_files

#: Of a loader's state.
STATE = "pacs_pool"


class PoolLoader:
    """What verl takes for its loader of training prompts; its state lies where that of verl's would, in `data.pt`.

    Args:
        config: of the run, with `run.rollouts.pool.weights`.
        dataset: verl's, of the training prompts.
    """

    def __init__(self, config: DictConfig, dataset: Any) -> None:
        settings = PoolSettings.from_mapping(plain(config.run.rollouts.pool))
        preference = Preference(**settings.preference(responses_per_prompt(config)))
        self._dataset, self._at_a_time = dataset, prompts_per_fetch(config)
        self._has_target = settings.weights == "target"
        self._pool = Pool(len(dataset), preference, settings.half_life, data_seed(config))
        #: Of the step: the id of each prompt -> the problem that it is.
        self._problems: dict[str, int] = {}
        if settings.rates:
            self._learn_rates(config)

    def _learn_rates(self, config: DictConfig) -> None:
        files = [rates_file(Path(file).expanduser()) for file in train_files(config)]
        rates = {rate.key: rate for file in files for rate in read_rates(file).problems}
        rows = self._dataset.dataframe
        columns = zip(rows[prompt_column(config)], rows["reward_model"], strict=True)
        for problem, (messages, reward) in enumerate(columns):
            rate = rates.get(problem_key(messages, reward["ground_truth"]))
            if rate is None:
                raise RuntimeError(
                    f"run.rollouts.pool.rates=true: row {problem} of the training data is not in "
                    f"{', '.join(map(str, files))}: rate the data again by `pacs data rate`, or set it to false"
                )
            self._pool.observe(problem, rate.correct, rate.samples)

    def begin(self, step: int) -> None:
        """A step begins."""
        self._problems = {}
        self._pool.begin(step)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return collate_fn([self._dataset[problem] for problem in self._pool.draw(self._at_a_time)])

    def name(self, uids: list[str]) -> None:
        """The ids of the prompts that were drawn last, in the order in which they were drawn."""
        self._problems |= zip(uids, self._pool.drawn[len(self._problems) :], strict=True)

    def observe(self, keys: list[str], grades: Grades) -> dict[str, float]:
        """Count what the first responses of a train batch have earned.

        Args:
            keys: verl's, of the rows.
            grades: of the rows.

        Returns:
            The metrics of the step's draw.
        """
        scores: defaultdict[str, list[float]] = defaultdict(list)
        for key, score, first in zip(keys, grades.scores.tolist(), grades.first.tolist(), strict=True):
            if first:
                scores[prompt_uid(key)].append(score)
        for uid, some in scores.items():
            self._count(uid, some)
        drawn = self._pool.statistics()
        metrics = {
            "pacs/pool/believed_mean": drawn["believed"],
            "pacs/pool/effective_count": drawn["effective"],
            "pacs/pool/outside_count": drawn["outside"],
        }
        return metrics | ({"pacs/pool/target_mean": drawn["target"]} if self._has_target else {})

    def _count(self, uid: str, scores: list[float]) -> None:
        right = sum(min(max(score, 0.0), 1.0) for score in scores)
        self._pool.observe(self._problems[uid], right, len(scores))

    def state_dict(self) -> dict[str, Any]:
        """What is believed after the step, and the generator of the draws."""
        return {STATE: self._pool.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on with it; anew, and saying so, where the checkpoint has none or its problems were others."""
        try:
            self._pool.restore(state[STATE])
        except (KeyError, ValueError) as error:
            why = "has none" if isinstance(error, KeyError) else f"has {error}"
            print(f"{MARK}run.rollouts.pool: the checkpoint {why}: the pool begins anew", flush=True)
