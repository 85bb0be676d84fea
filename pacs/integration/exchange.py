"""What the trainer, the workers and the loss hand each other beside verl's own fields of a batch.

    trainer  --RowFields, StepSettings-->  worker  --MiniBatch, REFERENCE, SCORED-->  loss  --TABLES-->  trainer

Each class packs itself under names that begin with "pacs_", and unpacks itself from verl's batch.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Literal, Self

import torch

from pacs.algorithm import Constants

PREFIX = "pacs_"
#: log pi_ref of each response token (jagged), written by the worker before the updates; verl's name.
REFERENCE = "ref_log_prob"
#: log pi of each response token as vLLM gave it (jagged); verl's name.
ROLLOUT = "rollout_log_probs"
# Of each token, in the output of verl's pass of log pi_old; jagged over prompt and response, as its log-probabilities.
#: `prefix_ranks` of the response's hidden states.
RANKS = "effective_rank"
#: sum_k pi_k^2 (ln pi_k + H) over the vocabulary.
SLOPES = "mean_entropy_slope"
#: (B, C), `row_columns`: what is known of each row before the gradient pass of `cached`, written by the worker.
SCORED = f"{PREFIX}scored"
#: The key among a worker's metrics under which the rows' tables are returned: of each micro-batch the names of its
#: columns, and their values as one (columns, B) tensor.
TABLES = f"{PREFIX}tables"
#: (B,) bool, the row is the same as one before it in its micro-batch, whose pass through the model it shares.
MERGED = f"{PREFIX}merged"
# Of a response, among the agent loop's extra fields.
#: A number that is the same for the same tokens.
FINGERPRINT = f"{PREFIX}fingerprint"
#: `pacs.metrics.turns.Turns` as a dict, where there are several turns.
TURNS = f"{PREFIX}turns"
#: Where it was tried again: how many `retries` there were, whether one was right and is trained in its place
#: (`rescued`), and the `tokens` of the other tries.
GUIDED = f"{PREFIX}guided"
#: Tokens that the policy wrote and that have no gradient.
MASKED = f"{PREFIX}masked"
#: Where it ends in the reference answer and not in its own: the places of that answer's first token, and behind its
#: last.
REFERENCE_SPAN = f"{PREFIX}reference_span"
#: How many steps it has (VinePPO), tokens of the completions that were sampled for their values, tokens of the prompts
#: that these were sampled for, and those of them that the engine had in its cache.
VINE_COLUMNS = tuple(f"{PREFIX}vine_{name}" for name in ("steps", "tokens", "prefixes", "cached"))
#: `critic_rollouts.Traces` as a dict, in a run with a critic that writes text.
CRITIC_TRACES = f"{PREFIX}critic_traces"
# Of a prompt, among its fields.
#: How often it was drawn before in its step or validation, in a run with seeded or partial rollouts.
REPEAT = f"{PREFIX}repeat"
#: The pass rate that a critic that writes text is told in this step.
SUCCESS_RATE = f"{PREFIX}success_rate"


class Packed:
    """A dataclass whose fields travel in verl's batch, each under its name with a prefix; None does not travel."""

    def pack(self) -> dict[str, Any]:
        """The fields by their names in a batch."""
        named = {PREFIX + field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, value in named.items() if value is not None}

    @classmethod
    def unpack(cls, data: Any) -> Self:
        """From a batch that holds them.

        Raises:
            KeyError: a field that has no default is not there.
        """
        there = [
            field.name
            for field in fields(cls)  # type: ignore[arg-type]
            if field.default is MISSING or PREFIX + field.name in data.keys()  # noqa: SIM118 (a TensorDict's `in`)
        ]
        return cls(**{name: data[PREFIX + name] for name in there})


@dataclass(frozen=True)
class RowFields(Packed):
    """Of B rows, written by the trainer for the whole train batch.

    Attributes:
        row: (B,) int64, the row's place in the train batch.
        labels: (B,) float, the verifier's.
        group_ids: (B,) int64.
        group_sizes: (B,) int64, rows of the row's group in the row mask, on all ranks.
        row_mask: (B,) bool, the row is a response (not padding) and has enough others to be compared with.
        active: (B,) bool, the row counts in N.
        shares: (B,) float64, what the row adds to N.
        coefficients: (B,) float, `Method.coefficients`.
        credit: (B,) float or jagged (B, T), `Method.credit`; None of a method that gives none.
        weights: (B,) float64, factors of the rows' losses; None: 1.
        token_weights: jagged (B, T) float, what each token's gradient is multiplied by; None without a token weight.
        penalties: jagged (B, T) float, c of `drift_penalty`; None without one.
        guided: (B,) bool, the response was sampled with guidance that its prompt does not have; None: none was.
    """

    row: torch.Tensor
    labels: torch.Tensor
    group_ids: torch.Tensor
    group_sizes: torch.Tensor
    row_mask: torch.Tensor
    active: torch.Tensor
    shares: torch.Tensor
    coefficients: torch.Tensor
    credit: torch.Tensor | None = None
    weights: torch.Tensor | None = None
    token_weights: torch.Tensor | None = None
    penalties: torch.Tensor | None = None
    guided: torch.Tensor | None = None

    def constants(self) -> Constants:
        """Those of the algorithm; what is a token's is padded to (B, T)."""
        given = {field.name: getattr(self, field.name) for field in fields(Constants)}
        jagged = {name: values for name, values in given.items() if values is not None and values.is_nested}
        return Constants(**given | {name: values.to_padded_tensor(0) for name, values in jagged.items()})


@dataclass(frozen=True)
class ReferenceSpans(Packed):
    """Of B rows, written by the trainer where reference answers are trained in place of sampled ones.

    Attributes:
        reference_first: (B,) int64, the place in the response of the reference answer's first token.
        reference_end: (B,) int64, the place behind its last; the same where the response ends in none.
    """

    reference_first: torch.Tensor
    reference_end: torch.Tensor

    def mask(self, tokens: int) -> torch.Tensor:
        """(B, T) bool, the tokens of the reference answers in responses that are padded to T tokens."""
        places = torch.arange(tokens, device=self.reference_first.device)
        return (places >= self.reference_first[:, None]) & (places < self.reference_end[:, None])


@dataclass(frozen=True)
class Branches(Packed):
    """Of B rows in which several texts go on from a trunk (`worker/shared_prefix.py`), written by the trainer.

    Attributes:
        branch: jagged (B, S) int64 over prompt and response, the number of a token's branch, from 1; 0: the trunk.
        sees: jagged (B, S) int64, how many of the row's first tokens, all of the trunk, a token sees beside its branch.
    """

    branch: torch.Tensor
    sees: torch.Tensor


@dataclass(frozen=True)
class StepSettings(Packed):
    """Of a step, the same for all rows, written by the trainer.

    Attributes:
        strategy: how the gradient is taken.
        reference_is_policy: the reference is the policy as it is when the step begins.
        learning_rate_factor: of `ReferenceSchedule`.
        answer_weight: factor of the gradient of the reference answers' probabilities; 0: the rows have none.
    """

    strategy: Literal["grouped", "cached"]
    reference_is_policy: bool
    learning_rate_factor: float = 1.0
    answer_weight: float = 0.0


@dataclass(frozen=True)
class MiniBatch(Packed):
    """Of a mini-batch, written by the worker.

    Attributes:
        denominator: N over all ranks.
        rows: responses in the row mask, over all ranks.
        update: which of the step's updates it is for, from 0.
        self_reference: whether its reference is the policy as it is now.
    """

    denominator: float
    rows: float
    update: int
    self_reference: bool


def tables_of(returned: Mapping[str, Any]) -> list[dict[str, torch.Tensor]]:
    """The tables of a worker's metrics: of each micro-batch, column -> (B,)."""
    return [dict(zip(names, values, strict=True)) for names, values in returned[TABLES]]
