"""What a step is trained on where that is not its labels: rewards of several parts, another verifier, RLPR's."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import pad

from pacs.rewards.composite import Composite, Response, RewardSettings
from pacs.rewards.reference_answer import NAME as REFERENCE_PROBABILITY
from pacs.rewards.reference_answer import OPENS, Spliced, bare, mean_probability, splice
from recipes.laboratory.beginning import Beginning
from recipes.laboratory.reading import log_probs
from recipes.laboratory.sampling import Samples, encode
from recipes.laboratory.settings import Settings
from recipes.starts.read import Problems
from recipes.starts.read import grade as by_verifier

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedModel


class Rewards:
    """Of a run; with `reference_probability` its policy is read as it is now, for the probabilities to subtract.

    Args:
        beginning: whose policy has not been trained yet.
        settings: of the run.
    """

    def __init__(self, beginning: Beginning, settings: Settings) -> None:
        self._begun, self._graded_by, self._train_answer = beginning, settings.graded_by, settings.train_answer
        self._composite = (
            Composite(RewardSettings.from_mapping(settings.reward), beginning.max_response_tokens)
            if settings.reward
            else None
        )
        self._before: dict[tuple[str, str], float] = {}
        if self._graded_by == REFERENCE_PROBABILITY:
            train, tokenizer = beginning.train, beginning.tokenizer
            spliced = [bare(tokenizer, "", OPENS, answer) for answer in train.answers]
            found = self._probabilities(train.messages, spliced)
            for messages, answer, probability in zip(train.messages, train.answers, found, strict=True):
                self._before[messages[-1]["content"], answer] = probability

    def of(self, samples: Samples, labels: torch.Tensor, problems: Problems) -> tuple[torch.Tensor, Samples]:
        """(B,) float32 rewards of B responses with their labels, and the responses with what of them is trained.

        Args:
            samples: sampled by the policy as it is now.
            labels: (B,) of the task's own verifier.
            problems: that of each response.
        """
        scores, trained = labels, samples
        if self._graded_by == REFERENCE_PROBABILITY:
            scores, trained = self._by_probability(samples, problems)
        elif self._graded_by is not None:
            scores = by_verifier(samples.texts, problems.answers, [self._graded_by] * len(samples))
        if self._composite is None:
            return scores, trained
        totals = []
        for row, (score, mask) in enumerate(zip(scores.tolist(), samples.response_mask, strict=True)):
            tokens = samples.ids[row, -len(mask) :][mask].tolist()
            about = Response(score, samples.texts[row], 0, tokens, problems.verifiers[row])
            totals.append(self._composite.total(score, self._composite.parts(about)))
        return torch.tensor(totals), trained

    def _by_probability(self, samples: Samples, problems: Problems) -> tuple[torch.Tensor, Samples]:
        """RLPR's scores (`pacs.rewards.reference_probability`), and the responses up to their sampled answers."""
        longest, width = self._begun.max_response_tokens, samples.response_mask.shape[1]
        found: list[Spliced | None] = []
        for row, answer in enumerate(problems.answers):
            response = samples.ids[row, -width:][samples.response_mask[row]].tolist()
            spliced = splice(self._begun.tokenizer, response, 0, OPENS, answer)
            found.append(None if spliced is None or len(spliced.tokens) >= longest else spliced)
        rows = [row for row, spliced in enumerate(found) if spliced is not None]
        after = self._probabilities([problems.messages[row] for row in rows], [s for s in found if s is not None])
        scores, ends = torch.zeros(len(samples)), torch.full((len(samples),), width)
        for row, probability in zip(rows, after, strict=True):
            spliced, key = found[row], (problems.messages[row][-1]["content"], problems.answers[row])
            assert spliced is not None
            scores[row] = max(0.0, probability - self._before[key])
            ends[row] = spliced.sampled
        if self._train_answer:
            return scores, samples
        mask = samples.response_mask & (torch.arange(width) < ends[:, None])
        kept = replace(
            samples,
            response_mask=mask,
            attention_mask=torch.cat([samples.attention_mask[:, :-width], mask.long()], dim=1),
            log_probs=torch.where(mask, samples.log_probs, 0),
            entropies=torch.where(mask, samples.entropies, 0),
        )
        return scores, kept.of(torch.arange(len(samples)))

    @torch.no_grad()
    def _probabilities(self, messages: list[list[dict[str, str]]], spliced: Sequence[Spliced]) -> list[float]:
        """The mean probability of each text's last tokens, the right answer's, behind a prompt."""
        if not messages:
            return []
        policy: PreTrainedModel = self._begun.policy
        ids, mask = encode(self._begun.tokenizer, messages)
        width = max(len(each.tokens) for each in spliced)
        tokens = torch.stack([pad(torch.tensor(each.tokens), (0, width - len(each.tokens))) for each in spliced])
        shown = torch.arange(width) < torch.tensor([len(each.tokens) for each in spliced])[:, None]
        nothing = torch.zeros(tokens.shape)
        read = Samples(
            torch.cat([ids, tokens], dim=1), torch.cat([mask, shown.long()], dim=1), shown, [], nothing, nothing
        )
        known = log_probs(policy, read).tolist()
        return [mean_probability(row[each.first : len(each.tokens)]) for row, each in zip(known, spliced, strict=True)]
