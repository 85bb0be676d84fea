"""What the reward function gave the responses of a step or a validation, checked and counted."""

import math
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, TypeVar

import torch

from pacs.base.terminal import print, visible
from pacs.integration.exchange import FINGERPRINT, MASKED, VINE_COLUMNS
from pacs.integration.trainer import step_rows
from pacs.integration.trainer.grades import Grades, joined
from pacs.integration.trainer.told import tokens_of_other_tries, told_columns, with_told
from pacs.metrics.duplicates import fingerprint
from pacs.metrics.outcomes import component_metrics, validation_metrics
from pacs.metrics.reduce import batch_metrics
from pacs.rewards.composite import PARTS
from pacs.rewards.judge import PREFIX
from pacs.rewards.reasoning import UNFINISHED
from pacs.rewards.verdict import check_graded, verdict_score
from pacs.verl_keys.config import responses_per_prompt, trains_completions, uneven_groups, values_steps

T = TypeVar("T")
#: Of a prompt, in an error.
PROMPT_CHARS = 300


class Grading:
    """Reads a trainer's grades and says what is wrong with them.

    Args:
        trainer: a trainer of verl's.
    """

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer
        self.warned_of_graded_scores = False
        self.validated_prompts: list[str] = []

    def grade(self, batch: Any) -> Grades:
        """The grades of a train batch.

        Raises:
            ValueError: A reward is not finite.
            VerifierFailure: The verifier failed on more responses than `run.faults.verifier_errors`.
        """
        grades = self.read(batch)
        check_graded(self.sampled(grades).infos, self.trainer.config.run.faults.verifier_errors)
        return grades

    def read(self, batch: Any) -> Grades:
        """The grades of any rows of the queue.

        Raises:
            ValueError: A reward is not finite.
        """
        config = self.trainer.config
        data = step_rows.columns(batch, "rm_scores", "response_mask", "extra_fields")
        rewards = step_rows.row_sums(data["rm_scores"])
        if not rewards.isfinite().all():
            asked, decode = step_rows.columns(batch, "data_source", "prompts"), self.trainer.tokenizer.decode
            prompts = [decode(ids, skip_special_tokens=True) for ids in asked["prompts"].unbind()]
            sources, step = asked.get("data_source").tolist(), self.trainer.global_steps
            raise not_finite(rewards.tolist(), sources, prompts, f"step {step}")
        extra_fields = data.get("extra_fields").tolist()
        infos = [with_told(extra) for extra in extra_fields]
        sampled = [not step_rows.is_padding(tag) for tag in batch.tags]
        last = responses_per_prompt(config) if uneven_groups(config) else math.inf
        return Grades(
            rewards=rewards,
            scores=torch.tensor(without_shaping(rewards.tolist(), infos)),
            group_ids=step_rows.dense_ids([step_rows.group_uid(key, config) for key in batch.keys]),
            sampled=torch.tensor(sampled),
            first=torch.tensor(sampled) & (torch.tensor([step_rows.session_of(key) for key in batch.keys]) < last),
            tokens=step_rows.row_sums(data["response_mask"]),
            truncated=torch.tensor([length >= config.data.max_response_length for length in _lengths(batch, config)]),
            fingerprints=torch.tensor(_fingerprints(batch, extra_fields, sampled)),
            masked=torch.tensor([float(extra.get(MASKED, 0)) for extra in extra_fields]),
            infos=list(compress(infos, sampled)),
            vine=_vine(extra_fields) if values_steps(config) and not trains_completions(config) else None,
        )

    def sampled(self, grades: Grades) -> Grades:
        """The grades of all responses of the step: of a train batch without its padding, and of filtered groups."""
        dropped = self.trainer.group_filter.dropped
        return grades.responses() if dropped is None else joined([grades.responses(), dropped])

    def metrics(self, grades: Grades, alone: torch.Tensor | None = None) -> dict[str, float]:
        """The metrics of all that was sampled.

        Args:
            grades: of the batch.
            alone: (B,) bool, the row is dropped for want of others in its group; None: no row is.
        """
        sampled = self.sampled(grades)
        left_out = torch.zeros_like(sampled.sampled)
        if alone is not None:
            left_out[: len(grades.infos)] = alone[grades.sampled]
        metrics = batch_metrics(
            group=sampled.group_ids,
            score=sampled.scores,
            tokens=sampled.written,
            truncated=sampled.truncated,
            alone=left_out,
            fingerprints=sampled.fingerprints,
            status=said_of_all(sampled.infos, "status", str),
            unfinished=said_of_all(sampled.infos, UNFINISHED, float),
            first=sampled.first if uneven_groups(self.trainer.config) else None,
            vine=sampled.vine,
            told=told_columns(sampled.infos, self.trainer.config),
        )
        self._warn_of_graded_scores(metrics)
        written = grades.written[grades.sampled].double().sum().item()
        completions = 0.0 if sampled.vine is None else sampled.vine[:, 1].sum().item()
        others = self.trainer.prompts.discarded_tokens + completions + tokens_of_other_tries(sampled.infos)
        metrics["pacs/response_tokens/generated_sum"] = written + others
        said = compress(sampled.infos, sampled.first.tolist())
        return metrics | component_metrics(said, besides=("score", UNFINISHED))

    def parts(self, batch: Any) -> dict[str, dict[str, float]]:
        """The verifier's score, as `correctness`, and the other parts of each response's reward, by its key.

        Empty where the reward has no parts (`run.reward.total`).
        """
        if not self.trainer.config.run.reward.total:
            return {}
        extra_fields = step_rows.columns(batch, "extra_fields").get("extra_fields").tolist()
        infos = [extra.get("reward_extra_info", {}) for extra in extra_fields]
        return {
            key: {"correctness": info.get("score", info.get("acc"))}
            | {name: value for name, value in info.items() if name in PARTS or name.startswith(PREFIX)}
            for key, info in zip(batch.keys, infos, strict=True)
        }

    def validation(self, sources: list[str], uids: list[str], scores: list[float], counts: Any) -> dict[str, float]:
        """Our metrics of a validation.

        Args:
            sources, uids, scores: the data source, the prompt's id and the verifier's score of each response.
            counts: how many responses each (source, prompt) should have.
        """
        metrics = validation_metrics(counts, list(zip(map(str, sources), map(str, uids), strict=True)), scores)
        self._warn_of_graded_scores(metrics)
        return metrics

    def check_validation(self, sources: list[str], uids: list[str], scores: list[float]) -> None:
        """Raise ValueError if a score of a validation is not finite; arguments as for `validation`."""
        if not all(map(math.isfinite, scores)):
            when = f"the validation at step {self.trainer.global_steps}"
            raise not_finite(scores, sources, self.validated_prompts or uids, when)

    def _warn_of_graded_scores(self, metrics: dict[str, float]) -> None:
        """Say once a start that the reward function gives scores other than 0 and 1, and what follows from that."""
        counts = [f"{key}={value:g}" for key, value in metrics.items() if key.endswith("/graded_count") and value > 0]
        if counts and not self.warned_of_graded_scores:
            self.warned_of_graded_scores = True
            print(
                f"pacs: step {self.trainer.global_steps}: the reward function gives scores other than 0 and 1 "
                f"({', '.join(counts)}). What is counted of right and wrong responses, of groups and as pass@k is left "
                "out of steps and sources with such scores: the mean score is critic/score/mean and "
                "val-core/*/mean@k. Set a threshold to the scores if right and wrong are meant.",
                flush=True,
            )


def _lengths(batch: Any, config: Any) -> list[int]:
    """Tokens of each row's whole response: of a trained completion also those that stand in its prompt."""
    lengths = [tag["response_len"] for tag in batch.tags]
    if not trains_completions(config):
        return lengths
    uids, prompts = [step_rows.prompt_uid(key) for key in batch.keys], [tag["prompt_len"] for tag in batch.tags]
    asked: dict[str, int] = {}
    for uid, prompt in zip(uids, prompts, strict=True):
        asked[uid] = min(asked.get(uid, prompt), prompt)
    return [length + prompt - asked[uid] for length, prompt, uid in zip(lengths, prompts, uids, strict=True)]


def _fingerprints(batch: Any, extra_fields: list[dict[str, Any]], sampled: list[bool]) -> list[int]:
    """Of the rows of a batch, 0 of padding: as the agent loops noted them, or another manager's by the responses."""
    noted = [extra.get(FINGERPRINT) if known else 0 for extra, known in zip(extra_fields, sampled, strict=True)]
    if len(of_all := [int(number) for number in noted if number is not None]) == len(noted):
        return of_all
    return [fingerprint(tokens.tolist()) for tokens in step_rows.columns(batch, "responses")["responses"].unbind()]


def _vine(extra_fields: list[dict[str, Any]]) -> torch.Tensor:
    """(B, 4) of `Grades.vine`, of padding those of the row that it is a copy of, which are never read."""
    said = [[float(extra[key]) for key in VINE_COLUMNS] for extra in extra_fields]
    return torch.tensor(said, dtype=torch.float64)


def outcome(values: torch.Tensor, name: str) -> dict[str, float]:
    """verl's metrics of a name, of the values of some responses."""
    statistics = {"mean": values.mean(), "max": values.max(), "min": values.min()}
    return {f"critic/{name}/{statistic}": float(value) for statistic, value in statistics.items()}


def without_shaping(rewards: list[float], infos: list[dict[str, Any]]) -> list[float]:
    """The `verdict_score` of each response."""
    return [verdict_score(info, reward) for reward, info in zip(rewards, infos, strict=True)]


def not_finite(scores: Sequence[float], data_sources: Sequence[str], prompts: Sequence[str], when: str) -> ValueError:
    """The error of scores of which one is not finite: it names the data source and the prompt of the first.

    Args:
        scores: of each response.
        data_sources, prompts: of each response.
        when: they were given, in words.
    """
    wrong = [row for row, score in enumerate(scores) if not math.isfinite(score)]
    first = wrong[0]
    return ValueError(
        f"{when}: {len(wrong)} of {len(scores)} scores are not finite. The first is {scores[first]}, of data source "
        f"{visible(data_sources[first])}, for the prompt {prompts[first][:PROMPT_CHARS]!r}. Mend the reward function "
        "(reward.custom_reward_function), so that every score is a finite number."
    )


def said_of_all(infos: list[dict[str, Any]], key: str, kind: Callable[[Any], T]) -> list[T] | None:
    """What was said under a key of each response, as a kind; None unless it was said of every one."""
    return [kind(info[key]) for info in infos] if all(key in info for info in infos) else None
