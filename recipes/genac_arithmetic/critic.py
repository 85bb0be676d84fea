"""The generative critic: a language model that redoes a partial solution and ends in a score."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import torch
from torch.nn.functional import cross_entropy

from pacs.algorithm import method_loss
from pacs.algorithm.genac import CriticTemplate, GenAcCritic, compared, critic_reward, filled_values, read_value
from recipes.arithmetic.tokenizer import ASSISTANT, END, USER
from recipes.genac_arithmetic.states import State
from recipes.genac_arithmetic.traces import MOST_TOKENS
from recipes.laboratory.reading import log_probs
from recipes.laboratory.sampling import Samples, complete

if TYPE_CHECKING:  # it takes seconds to import
    from transformers import PreTrainedTokenizerBase, Qwen3ForCausalLM

#: The paper's template in the few characters that a model of this size reads: rate, problem, partial solution.
TOLD = CriticTemplate("{success_rate}|{problem}|{partial_solution}")
NOT_TOLD = CriticTemplate("{problem}|{partial_solution}")
IGNORED = -100
#: Of a trace, in the mean. SFT's loss is a sum divided by so many a trace: a token counts alike in all batches.
TRACE_TOKENS = 30


@dataclass(frozen=True)
class Judged:
    """N states with a trace of each.

    `traces` are those of the different states, and `of` (N,) int64 says which is whose. `read` are the values, None
    where a trace has none; in `values` these are filled up.
    """

    states: list[State]
    traces: Samples
    of: torch.Tensor
    read: list[float | None]
    values: list[float]

    @property
    def tokens(self) -> int:
        """That were sampled."""
        return int(self.traces.response_mask.sum())

    @property
    def tokens_each(self) -> int:
        """That would have been sampled if each state had a trace of its own."""
        return int(self.traces.response_mask.sum(1)[self.of].sum())


def question(template: CriticTemplate, state: State, rate: float) -> str:
    """The text that a trace stands behind."""
    head = template.head(state.problem, rate, "")
    return f"{USER}{head}{state.partial}{template.tail}{END}{ASSISTANT}"


class GenerativeCritic:
    """Writes traces, and learns by imitation or by REINFORCE.

    Args:
        model: copied; at first the actor.
        tokenizer: of both.
        template: what is said of a state.
        lr: of its Adam.
    """

    def __init__(
        self, model: "Qwen3ForCausalLM", tokenizer: "PreTrainedTokenizerBase", template: CriticTemplate, lr: float
    ) -> None:
        self.model, self.template, self._tokenizer = copy.deepcopy(model), template, tokenizer
        self._optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr, weight_decay=0.0)
        self._method = GenAcCritic()

    def judge(self, states: Sequence[State], rate: float, generator: torch.Generator) -> Judged:
        """A trace at T=1 of each state, which states that are alike share.

        Responses of so small an actor to one problem mostly begin alike: there are some three times as many states as
        different ones.

        Args:
            states: N of them, those of a response one after the other.
            rate: of the actor's success.
            generator: of the random numbers.
        """
        different = {state.place: state for state in states}
        chosen = sorted(different.values(), key=lambda state: len(state.ids))  # alike in length: little is padding
        places = {state.place: place for place, state in enumerate(chosen)}
        asked = [question(self.template, state, rate) for state in chosen]
        prefixes = [torch.tensor(ids) for ids in self._tokenizer(asked)["input_ids"]]
        traces = complete(self.model, self._tokenizer, prefixes, samples=1, max_tokens=MOST_TOKENS, generator=generator)
        of = torch.tensor([places[state.place] for state in states])
        each = [read_value(text) for text in traces.texts]
        read = [each[place] for place in of.tolist()]
        values: list[float] = []
        for _, group in groupby(range(len(states)), lambda place: states[place].row):
            values += filled_values([read[place] for place in group], rate)
        return Judged(list(states), traces, of, read, values)

    def reinforce(self, judged: Judged, outcomes: Sequence[float], rows: torch.Tensor | None = None) -> float:
        """An update by REINFORCE with R = 1 - (r - v)^2 on traces that this critic has just sampled; their mean R.

        Args:
            judged: N states with their traces.
            outcomes: r of each.
            rows: of those to learn from; all without it.
        """
        rows = torch.arange(len(judged.states)) if rows is None else rows
        rewards = torch.tensor([critic_reward(outcomes[row], judged.read[row]) for row in rows.tolist()])
        part = judged.traces.of(judged.of[rows])
        known = log_probs(self.model, part)
        groups = torch.arange(len(rows))
        loss, _ = method_loss(known, known.detach(), part.response_mask, rewards, groups, self._method)
        self._descend(loss)
        return float(rewards.mean())

    def compare(
        self, states: Sequence[State], outcomes: Sequence[float], rate: float, traces: int, generator: torch.Generator
    ) -> float:
        """An update by REINFORCE on several traces of each state, each compared with the others of its state.

        The batch's mean, which `reinforce` compares with, differs from a state's mostly by the outcomes. Here a trace
        counts only if a trace of the same state and outcome earned something else. The expected gradient is the same.

        Args:
            states: N of them.
            outcomes: r of each.
            rate: of the actor's success.
            traces: of each state, at least 2.
            generator: of the random numbers.

        Returns:
            The share of states of which not all traces earned the same.
        """
        order = sorted(range(len(states)), key=lambda place: len(states[place].ids))
        asked = [question(self.template, states[place], rate) for place in order]
        prefixes = [torch.tensor(ids) for ids in self._tokenizer(asked)["input_ids"]]
        sampled = complete(
            self.model, self._tokenizer, prefixes, samples=traces, max_tokens=MOST_TOKENS, generator=generator
        )
        known = [outcomes[place] for place in order for _ in range(traces)]
        earned = [critic_reward(r, read_value(text)) for r, text in zip(known, sampled.texts, strict=True)]
        rewards = torch.tensor(earned).view(-1, traces)
        credit = torch.cat([compared(row) for row in rewards])
        rows = credit.nonzero()[:, 0]
        if len(rows):
            part = sampled.of(rows)
            sums = (log_probs(self.model, part) * part.response_mask).sum(1)
            self._descend(-(credit[rows] * sums).sum() / len(credit))
        return float((rewards.amax(1) > rewards.amin(1)).float().mean())

    def imitate(self, asked: Sequence[str], traces: Sequence[str]) -> float:
        """An update by cross-entropy on traces behind what is asked; a token's mean in nats."""
        prompts = self._tokenizer(list(asked))["input_ids"]
        answers = self._tokenizer([text + END for text in traces])["input_ids"]
        longest = max(len(p) + len(a) for p, a in zip(prompts, answers, strict=True))
        ids = torch.full((len(prompts), longest), self._tokenizer.pad_token_id)
        labels = torch.full((len(prompts), longest), IGNORED)
        for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
            ids[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
            labels[row, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
        logits = self.model(input_ids=ids).logits[:, :-1]
        known = labels[:, 1:].flatten()
        total = cross_entropy(logits.flatten(0, 1), known, reduction="sum")
        self._descend(total / (len(prompts) * TRACE_TOKENS))
        return float(total.detach()) / int((known != IGNORED).sum())

    def renew(self, lr: float) -> None:
        """A new Adam: what comes next is another stage."""
        self._optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr, weight_decay=0.0)

    def set_lr(self, lr: float) -> None:
        """Of the next update."""
        for group in self._optimizer.param_groups:
            group["lr"] = lr

    def _descend(self, loss: torch.Tensor) -> None:
        self._optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self._optimizer.step()
