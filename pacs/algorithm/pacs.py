"""PACS (arXiv 2509.02522v2): class-balanced binary cross-entropy of the scores against the verifier's labels."""

from typing import ClassVar, Literal

import torch
from pydantic import Field, field_validator
from torch.nn.functional import binary_cross_entropy_with_logits

from pacs.algorithm.class_balance import Objective, Scope, class_weights, in_mixed_group, row_weights
from pacs.algorithm.groups import Groups
from pacs.algorithm.method import Method
from pacs.algorithm.reference import ReferenceConfig
from pacs.algorithm.rows import Rows
from pacs.algorithm.scores import SMALLEST_GROUP, Estimator, falls_back, group_scores


class Pacs(Method):
    """losses_i = w_i * BCE(sigmoid(psi_i), R_i), Eq. 8; psi_i (Eq. 6) compares r_i = beta * log-ratio (Eq. 7)."""

    #: Scale of the log-probability ratio in the reward proxy (Eq. 7); above 0.
    beta: float = Field(default=1.0, gt=0, description="the paper uses 1.0")
    #: How a response is compared with its group (Eq. 6): rloo, grpo, dr_grpo, or none for no comparison.
    estimator: Estimator = "rloo"
    #: What the weights make the update climb, per prompt: log_odds of the pass rate (class balance, the paper's),
    #: log_pass_rate, or the pass_rate itself (no weights).
    objective: Objective = "log_odds"
    #: Over which rows the weights' counts are: group, or batch (the whole train batch).
    weight_scope: Scope = "group"
    #: Divide the reward proxy of a response by its length in tokens.
    normalize_by_length: bool = False
    #: Add the first term of Eq. 5 as the paper writes it: the policy gradient, each response weighted by its own loss.
    policy_gradient_term: bool = False
    #: What groups of one class do: keep (weight 1, counted in N) or drop (out of both).
    single_class_groups: Literal["keep", "drop"] = "keep"

    #: score: psi of Eq. 6. mixed: 1 if its group has both classes. grpo_fallback: 1 if its group's scores are those of
    #: dr_grpo (estimator grpo only).
    COLUMNS: ClassVar[tuple[str, ...]] = ("score", "mixed", "grpo_fallback")

    @field_validator("weight_scope", mode="before")
    @classmethod
    def _not_none(cls, scope: object) -> object:
        if scope == "none":
            raise ValueError("method.weight_scope=none: weights are left out by method.objective=pass_rate")
        return scope

    @property
    def smallest_group(self) -> int:
        """What the estimator can compare, and has both classes where groups of one are dropped."""
        return max(SMALLEST_GROUP[self.estimator], 2 if self.single_class_groups == "drop" else 1)

    @property
    def soft_labels(self) -> bool:
        """Unless the classes are balanced over the whole batch, which a micro-batch does not know."""
        return self.objective != "log_odds" or self.weight_scope == "group"

    @property
    def needs_log_likelihoods(self) -> bool:
        """For Eq. 5's first term."""
        return self.policy_gradient_term

    def active(self, labels: torch.Tensor, groups: Groups) -> Groups:
        """All rows, less single-class groups if they are dropped."""
        return groups.keep(in_mixed_group(labels, groups)) if self.single_class_groups == "drop" else groups

    def coefficients(self, labels: torch.Tensor, active: Groups) -> torch.Tensor:
        """w_i of Eq. 8."""
        return row_weights(labels, active, self.objective, self.weight_scope)

    def targets(self, rows: Rows) -> torch.Tensor:
        """(B,) what sigmoid(psi) is to be: R, or of a label between 0 and 1 the right part of its row's weight."""
        if self.objective != "log_odds" or self.weight_scope != "group":
            return rows.labels
        groups = rows.groups
        right, wrong = (groups.of_rows(each) for each in class_weights(groups.sum(rows.labels), groups.sizes))
        return rows.labels * right / (rows.labels * right + (1 - rows.labels) * wrong)

    def rewards(self, rows: Rows) -> torch.Tensor:
        """(B,) r_i of Eq. 7; a response without a token has 0."""
        rewards = self.beta * rows.log_ratios
        return rewards / rows.lengths.clamp(min=1) if self.normalize_by_length else rewards

    def losses(self, rows: Rows) -> torch.Tensor:
        """Eq. 8, and with `policy_gradient_term` the gradient of Eq. 5's first term.

        That term is (1/N) sum_i stopgrad(w_i l_i) * log pi(o_i), the score-function estimator, in which the
        log-likelihood of a response is a sum whatever the proxy is. It adds nothing to the value. Where responses are
        compared, l_j depends on o_i, too: the exact term has sum_j w_j l_j in place of w_i l_i (recipes/theory).
        """
        scores = group_scores(self.rewards(rows), rows.groups, self.estimator)
        # Selected before the operation: without a comparison, a row of coefficient 0 may not be finite beside others.
        weighed = torch.where(rows.coefficients != 0, scores, 0)
        losses = rows.coefficients * binary_cross_entropy_with_logits(weighed, self.targets(rows), reduction="none")
        if rows.log_likelihoods is not None:
            losses = losses + losses.detach() * (rows.log_likelihoods - rows.log_likelihoods.detach())
        return losses

    def columns(self, rows: Rows) -> dict[str, torch.Tensor]:
        """The scores, who is in a mixed group, and whose fell back."""
        rewards = self.rewards(rows)
        fallback = falls_back(rewards, rows.groups) if self.estimator == "grpo" else torch.zeros_like(rewards)
        return {
            "score": group_scores(rewards, rows.groups, self.estimator),
            "mixed": in_mixed_group(rows.labels, rows.groups),
            "grpo_fallback": fallback,
        }


class PacsPaper(Pacs):
    """PACS as the paper describes it: the reference is reset from time to time, and Adam's moments with it.

    The paper does not say how often; 20 steps are its evaluation interval.
    """

    reference: ReferenceConfig = ReferenceConfig(reset_every=20, reset_optimizer=True)


class PacsAuthors(Pacs):
    """PACS as the authors' public code has it, which clips no gradient besides (configs/pacs_authors.yaml)."""
