"""What decides a run, but for its start: the same settings and start give the same numbers."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from pacs.algorithm.oar import SENSITIVITY
from pacs.base.errors import UserError
from pacs.runs.settings import DarsSettings, GuidedSettings, PoolSettings, VineSettings
from recipes.laboratory.checks import CHECKS
from recipes.laboratory.methods import method_named

#: Whole numbers, and the least that each may be.
LEAST = {
    "steps": 1,
    "prompts": 1,
    "responses": 1,
    "updates_per_step": 1,
    "train_problems": 0,
    "lr_warmup_updates": 0,
    "staleness": 0,
    "evaluate_every": 0,
    "seed": 0,
}

#: What is read by the policy before a step's updates, which with staleness is not the one that sampled.
SLOPES = "mean_entropy_slope"
#: Of the policy's own hidden states or embeddings, too.
RANKS, STATES = "effective_rank", "hidden_states"
OF_STATES = (RANKS, STATES, SENSITIVITY)


@dataclass(frozen=True)
class Settings:
    """Settings of a run, checked when they are made.

    Raises:
        UserError: a setting that is of another type or out of its bounds, a method or an option that does not exist,
            prompts that the updates do not divide, fewer responses than the method compares.
    """

    method: str = "pacs"  # a name of recipes/laboratory/methods.py
    options: Mapping[str, Any] = field(default_factory=dict)  # of the method; those left out have its defaults
    steps: int = 40  # each samples new responses
    prompts: int = 32  # a step
    responses: int = 8  # G of each prompt: a group
    updates_per_step: int = 2  # mini-batches of whole groups that a step is cut into; divides prompts
    train_problems: int = 0  # the first so many of the start's are trained on, over and over; 0: all
    lr: float = 1e-4  # Adam's learning rate
    lr_warmup_updates: int = 0  # of a new Adam, over which its learning rate rises to lr; 0: it starts there
    lr_decay: bool = False  # let it fall to 0 over the run's steps, as a half cosine: verl's lr_scheduler_type=cosine
    clip_grad: float = math.inf  # the gradient's largest norm; a larger gradient is scaled down to it
    staleness: int = 0  # a step samples by the policy as it was that many steps before (at most the start)
    reference_is_sampler: bool = (
        False  # of stale samples: the policy that sampled, not the one before the step's updates
    )
    dars: Mapping[str, Any] = field(default_factory=dict)  # as run.rollouts.dars: schedule, most, scale; {}: none
    pool: Mapping[str, Any] = field(default_factory=dict)  # as run.rollouts.pool; {}: problems are drawn alike
    vine: Mapping[str, Any] = field(default_factory=dict)  # as run.rollouts.vine; {}: steps have no values
    guided: Mapping[str, Any] = field(default_factory=dict)  # as run.rollouts.guided, by what the verifier says
    reward: Mapping[str, Any] = field(default_factory=dict)  # as run.reward; {}: labels are trained on
    graded_by: str | None = None  # one of checks.GRADERS, to train on; labels stay those of the rows' own verifier
    train_answer: bool = False  # of reference_probability: also the sampled answer, which it has not seen
    adapters: Mapping[str, Any] = field(default_factory=dict)  # LoRA: rank, alpha; {}: all weights are trained
    mini_batches: str | None = None  # balanced: of like sums of rewards; scattered: groups taken apart; None: as drawn
    teacher: Mapping[str, Any] = field(default_factory=dict)  # of distillation: settings of the run that trains it
    evaluate_every: int = 0  # steps; 0: at the end alone
    seed: int = 0  # of each step's prompts and of the responses

    #: What is asked of the sections.
    CHECKS: ClassVar = CHECKS

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if type(value) is not int or value < least:
                raise UserError(f"{name}={value!r} must be a whole number of at least {least}")
        for name in ("lr", "clip_grad"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not value > 0:
                raise UserError(f"{name}={value!r} must be a number above 0")
        for name in ("lr_decay", "reference_is_sampler", "train_answer"):
            if type(getattr(self, name)) is not bool:
                raise UserError(f"{name}={getattr(self, name)!r} must be true or false")
        if self.lr == math.inf:
            raise UserError("lr=inf must be a finite number")
        if self.prompts % self.updates_per_step:
            raise UserError(
                f"updates_per_step={self.updates_per_step} does not divide prompts={self.prompts}: every update takes "
                "as many prompts; change one of the two"
            )
        if 0 < self.train_problems < self.prompts:
            raise UserError(
                f"train_problems={self.train_problems}: a step takes prompts={self.prompts} different ones; raise it, "
                "or lower prompts"
            )
        method = method_named(self.method, self.options)
        if self.reference_is_sampler and (
            self.staleness == 0 or method.reference.reset_every != 1 or method.compares_with_sampler
        ):
            raise UserError(
                "reference_is_sampler=true asks for staleness of at least 1 and for a method whose reference is "
                "otherwise the policy before the step's first update (reset_every=1): leave it out"
            )
        if self.staleness and SLOPES in method.reads:
            raise UserError(
                "method.token_weight.steer.form=exact with staleness: its sum over the vocabulary would be another "
                "policy's than the one that sampled: set form to public, or staleness to 0"
            )
        if self.staleness and not {*OF_STATES}.isdisjoint(method.reads):
            raise UserError(
                f"method.token_weight.name={method.token_weight.name} with staleness: it would read another policy's "
                "states than those of the one that sampled: set staleness to 0, or choose another weight"
            )
        for check in self.CHECKS:
            check(self, method)
        smallest = method.smallest_group
        if self.responses < smallest:
            raise UserError(
                f"responses={self.responses}: {self.method} with these options compares at least {smallest} responses "
                "to a prompt; raise it"
            )

    @property
    def second_stage(self) -> DarsSettings:
        """`dars`, with what it leaves out."""
        return DarsSettings.from_mapping(self.dars)

    @property
    def drawing(self) -> PoolSettings:
        """`pool`, with what it leaves out."""
        return PoolSettings.from_mapping(self.pool)

    @property
    def valuing(self) -> VineSettings:
        """`vine`, with what it leaves out."""
        return VineSettings.from_mapping(self.vine)

    @property
    def retrying(self) -> GuidedSettings:
        """`guided`, with what it leaves out."""
        return GuidedSettings.from_mapping(self.guided)
