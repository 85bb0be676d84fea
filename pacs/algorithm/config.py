"""The settings of the algorithm. Each field is a Hydra key under `pacs.`, and is checked when it is set."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeGuard

from pacs.algorithm.checks import check_choice, nearest_word
from pacs.algorithm.class_balance import WEIGHT_SCOPES
from pacs.algorithm.scores import ESTIMATORS

SINGLE_CLASS_GROUPS = ("keep", "drop")
STRATEGIES = ("auto", "grouped", "cached")


@dataclass(frozen=True)
class ReferenceConfig:
    """When the reference policy is replaced by the current one: the keys under `pacs.reference.`.

    Each trigger that is set is looked at after the last update of a step (the thresholds not in warm-up steps); the
    first that fires resets.

    Raises:
        ValueError: a value out of bounds or of another type.
    """

    #: Replace the reference after the last update of every so many steps; None (null) never does.
    reset_every: int | None = 20
    #: Replace it after a step in which at least this share of the rows was saturated, |sigma(psi) - R| < 0.01.
    reset_at_saturation: float | None = None
    #: Replace it after a step in which the mean log-ratio of a response reached this many nats.
    reset_at_log_ratio: float | None = None
    #: Re-initialise the optimizer's state whenever the reference is replaced.
    reset_optimizer: bool = True
    #: Steps after a reset with a reduced learning rate: the k-th of W has k/(W+1) of it.
    warmup_steps: int = 0

    def __post_init__(self) -> None:
        every = self.reset_every
        _check_period("pacs.reference.reset_every", every, "use 1 to reset after every step or null for never")
        _check_bool("pacs.reference.reset_optimizer", self.reset_optimizer)
        _check_positive("pacs.reference.reset_at_saturation", self.reset_at_saturation)
        if self.reset_at_saturation is not None and self.reset_at_saturation > 1:
            raise ValueError(
                f"pacs.reference.reset_at_saturation={self.reset_at_saturation} is a share of the rows: use a "
                "number above 0 and at most 1 (0.5: half of them), or null"
            )
        _check_positive("pacs.reference.reset_at_log_ratio", self.reset_at_log_ratio)
        warmup = self.warmup_steps
        if not _is_int(warmup) or warmup < 0:
            raise ValueError(f"pacs.reference.warmup_steps={warmup!r} must be a whole number of steps >= 0")
        if every is not None and warmup >= every:
            raise ValueError(
                f"pacs.reference.warmup_steps={warmup} with pacs.reference.reset_every={every}: the learning rate "
                "would never come back to its full value; use fewer warm-up steps, or reset less often"
            )


@dataclass(frozen=True)
class UpdateConfig:
    """How the gradient is taken: the keys under `pacs.update.`. Either way it is that of Eq. 8.

    Raises:
        ValueError: a value that is not known.
    """

    #: grouped: autograd through whole groups; cached: effective advantages first; auto: grouped where groups fit.
    strategy: str = "auto"

    def __post_init__(self) -> None:
        check_choice("pacs.update.strategy", self.strategy, STRATEGIES)


@dataclass(frozen=True)
class MetricsConfig:
    """Signals that cost something: the keys under `pacs.metrics.`.

    Raises:
        ValueError: a value out of bounds or of another type.
    """

    #: Calculate the entropy, in the update's own passes, every so many steps; None (null) never does.
    entropy_every: int | None = 1
    #: Run verl's old-log-probability pass, for its metrics alone, every so many steps; None (null) never does.
    old_log_prob_every: int | None = None

    def __post_init__(self) -> None:
        for name in ("entropy_every", "old_log_prob_every"):
            _check_period(f"pacs.metrics.{name}", getattr(self, name), "use null for never")


@dataclass(frozen=True)
class PacsConfig:
    """The loss and its reference: the keys under `pacs.`.

    Raises:
        ValueError: a value out of bounds, of another type, or not known.
    """

    #: Scale of the log-probability ratio in the reward proxy (Eq. 7); above 0.
    beta: float = 1.0
    #: How a response is compared with its group (Eq. 6): rloo, grpo, dr_grpo, or none for no comparison.
    estimator: str = "rloo"
    #: Over which rows the two classes are balanced: group, batch (the whole train batch), or none.
    weight_scope: str = "group"
    #: Divide the reward proxy of a response by its length in tokens.
    normalize_by_length: bool = False
    #: Add the first term of Eq. 5, the policy gradient weighted by the loss of each response.
    policy_gradient_term: bool = False
    #: What groups of one class do: keep (weight 1, counted in N) or drop (out of both).
    single_class_groups: str = "keep"
    #: When the reference is replaced.
    reference: ReferenceConfig = field(default_factory=ReferenceConfig)
    #: How the gradient is taken.
    update: UpdateConfig = field(default_factory=UpdateConfig)
    #: Which of the signals that cost something are calculated.
    metrics: MetricsConfig = field(default_factory=MetricsConfig)

    def __post_init__(self) -> None:
        number = isinstance(self.beta, int | float) and not isinstance(self.beta, bool)
        if not number or not math.isfinite(self.beta) or self.beta <= 0:
            raise ValueError(f"pacs.beta={self.beta!r} must be a finite number above 0; the paper uses 1.0")
        check_choice("pacs.estimator", self.estimator, ESTIMATORS)
        check_choice("pacs.weight_scope", self.weight_scope, WEIGHT_SCOPES)
        check_choice("pacs.single_class_groups", self.single_class_groups, SINGLE_CLASS_GROUPS)
        _check_bool("pacs.normalize_by_length", self.normalize_by_length)
        _check_bool("pacs.policy_gradient_term", self.policy_gradient_term)
        for name, section in SECTIONS.items():
            if not isinstance(getattr(self, name), section):
                raise ValueError(f"pacs.{name}={getattr(self, name)!r} must be a {section.__name__}")

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> "PacsConfig":
        """The config of a nested mapping, as it stands under `pacs` in a composed Hydra config.

        Raises:
            ValueError: a key that is not known, or a value that its field refuses.
        """
        values = _known_items("pacs", mapping, cls)
        for name in SECTIONS.keys() & values.keys():
            values[name] = SECTIONS[name](**_known_items(f"pacs.{name}", values[name], SECTIONS[name]))
        return cls(**values)

    def check_group_size(self, n: int) -> None:
        """Refuse `n` responses a prompt (verl's `actor_rollout_ref.rollout.n`) if none could be compared.

        Raises:
            ValueError: fewer than two, or two with grpo.
        """
        if n < 2:
            raise ValueError(
                f"actor_rollout_ref.rollout.n={n}: PACS compares the responses to one prompt; sample at "
                "least 2 (the paper: 8)"
            )
        if n == 2 and self.estimator == "grpo":
            raise ValueError(
                "actor_rollout_ref.rollout.n=2 with pacs.estimator=grpo: in a group of two its scores are "
                "±1/√2 whatever the rewards are, so that its gradient is zero; use pacs.estimator=rloo or "
                "dr_grpo, or actor_rollout_ref.rollout.n of at least 3"
            )


#: The nested sections of `pacs`.
SECTIONS = {"reference": ReferenceConfig, "update": UpdateConfig, "metrics": MetricsConfig}


def _check_bool(key: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{key}={value!r} must be true or false, not {type(value).__name__}")


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_period(key: str, value: object, advice: str) -> None:
    if value is not None and (not _is_int(value) or value < 1):
        raise ValueError(f"{key}={value!r} must be a whole number of steps >= 1, or null: {advice}")


def _check_positive(key: str, value: object) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if value is not None and not (number and value > 0):  # type: ignore[operator]
        raise ValueError(f"{key}={value!r} must be a number above 0, or null to leave this trigger out")


def _known_items(key: str, mapping: Mapping[str, Any], cls: type) -> dict[str, Any]:
    if not isinstance(mapping, Mapping):
        raise ValueError(f"{key}={mapping!r} must be a mapping of settings, not {type(mapping).__name__}")
    known = [known_field.name for known_field in fields(cls)]
    for name in mapping:
        if name not in known:
            nearest = nearest_word(name, _FULL_KEYS)
            hint = f" (did you mean {_FULL_KEYS[nearest]}?)" if nearest else ""
            raise ValueError(f"{key}.{name} is not a setting{hint}: {key} has {', '.join(known)}")
    return dict(mapping)


_FULL_KEYS = {known.name: f"pacs.{known.name}" for known in fields(PacsConfig)} | {
    known.name: f"pacs.{name}.{known.name}" for name, section in SECTIONS.items() for known in fields(section)
}
