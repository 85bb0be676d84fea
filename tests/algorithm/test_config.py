import pickle
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from pacs.algorithm import PacsConfig, ReferenceConfig


def test_defaults_are_the_documented_ones() -> None:
    assert PacsConfig() == PacsConfig(
        beta=1.0,
        estimator="rloo",
        weight_scope="group",
        normalize_by_length=False,
        policy_gradient_term=False,
        single_class_groups="keep",
        reference=ReferenceConfig(reset_every=20, reset_optimizer=True),
    )


def test_from_mapping_reads_nested_settings() -> None:
    """Settings that are not given keep their defaults, and the mapping is left as it was."""
    mapping = {"beta": 2, "estimator": "none", "reference": {"reset_every": None}}
    config = PacsConfig.from_mapping(mapping)
    assert config == PacsConfig(beta=2.0, estimator="none", reference=ReferenceConfig(reset_every=None))
    assert mapping == {"beta": 2, "estimator": "none", "reference": {"reset_every": None}}
    assert PacsConfig.from_mapping({}) == PacsConfig()


def test_is_frozen_and_travels_between_processes() -> None:
    config = PacsConfig(reference=ReferenceConfig(reset_every=1))
    assert pickle.loads(pickle.dumps(config)) == config
    with pytest.raises(FrozenInstanceError):
        config.beta = 2.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beta": 0}, "pacs.beta=0 must be a finite number above 0"),
        ({"beta": -1.0}, "pacs.beta=-1.0 must be"),
        ({"beta": float("inf")}, "pacs.beta=inf must be"),
        ({"beta": float("nan")}, "pacs.beta=nan must be"),
        ({"beta": "1e-1"}, "pacs.beta='1e-1' must be"),
        ({"beta": True}, "pacs.beta=True must be"),
        (
            {"estimator": "rlo"},
            r"pacs.estimator=rlo is not known \(did you mean rloo\?\): choose one of rloo, grpo, dr_grpo, ",
        ),
        ({"estimator": "foo"}, "pacs.estimator=foo is not known: choose one of rloo, grpo, dr_grpo, none"),
        ({"estimator": "Dr-GRPO"}, r"pacs.estimator=Dr-GRPO is not known \(did you mean dr_grpo\?\)"),
        ({"estimator": None}, r"pacs.estimator=None is not known \(did you mean none\?\)"),
        (
            {"weight_scope": "grp"},
            r"pacs.weight_scope=grp .*did you mean group\?\): choose one of group, batch, none",
        ),
        (
            {"single_class_groups": "dropped"},
            r"pacs.single_class_groups=dropped .*drop\?\): choose one of keep, drop",
        ),
        ({"normalize_by_length": "true"}, "pacs.normalize_by_length='true' must be true or false, not str"),
        ({"policy_gradient_term": 1}, "pacs.policy_gradient_term=1 must be true or false, not int"),
        (
            {"reference": {"reset_every": 0}},
            "reset_every=0 must be .* null: use 1 to reset after every step or null for never",
        ),
        (
            {"reference": {"reset_every": -5}},
            "pacs.reference.reset_every=-5 must be a whole number of steps >= 1",
        ),
        ({"reference": {"reset_every": 2.0}}, "pacs.reference.reset_every=2.0 must be a whole number"),
        ({"reference": {"reset_every": "20"}}, "pacs.reference.reset_every='20' must be a whole number"),
        ({"reference": {"reset_every": True}}, "pacs.reference.reset_every=True must be a whole number"),
        (
            {"reference": {"reset_optimizer": "no"}},
            "pacs.reference.reset_optimizer='no' must be true or false",
        ),
        ({"reference": 20}, "pacs.reference=20 must be a mapping of settings, not int"),
        ({"reference": None}, "pacs.reference=None must be a mapping of settings, not NoneType"),
        (
            {"estimater": "rloo"},
            r"pacs.estimater is not a setting \(did you mean pacs.estimator\?\): pacs has beta, ",
        ),
        (
            {"reset_every": 5},
            r"pacs.reset_every is not a setting \(did you mean pacs.reference.reset_every\?\)",
        ),
        ({"zzz": 5}, "pacs.zzz is not a setting: pacs has beta, estimator, .*reference, update, metrics$"),
        (
            {"reference": {"reset_evry": 5}},
            r"pacs.reference.reset_evry is not a setting \(did you mean pacs.reference.reset_every\?\): "
            "pacs.reference has reset_every, .*reset_optimizer, warmup_steps$",
        ),
        ({"reference": {"warmup_steps": -1}}, "pacs.reference.warmup_steps=-1 must be a whole number of steps >= 0"),
        (
            {"reference": {"warmup_steps": 5, "reset_every": 5}},
            "pacs.reference.warmup_steps=5 with .*reset_every=5: .*never come back .*fewer warm-up steps",
        ),
        ({"reference": {"reset_at_saturation": 0}}, "pacs.reference.reset_at_saturation=0 must be a number above 0"),
        ({"reference": {"reset_at_saturation": 50}}, "reset_at_saturation=50 is a share .*at most 1"),
        ({"reference": {"reset_at_log_ratio": "2"}}, "pacs.reference.reset_at_log_ratio='2' must be a number above 0"),
        ({"update": {"strategy": "cache"}}, r"pacs.update.strategy=cache is not known \(did you mean cached\?\)"),
        ({"strategy": "cached"}, r"pacs.strategy is not a setting \(did you mean pacs.update.strategy\?\)"),
        ({"metrics": {"entropy_every": 0}}, "pacs.metrics.entropy_every=0 must be .* or null: use null for never"),
    ],
)
def test_wrong_settings_are_refused_by_name(settings: dict[str, Any], message: str) -> None:
    """Each message names the full key, and what to write instead."""
    with pytest.raises(ValueError, match=message):
        PacsConfig.from_mapping(settings)


def test_the_constructor_checks_as_well() -> None:
    with pytest.raises(ValueError, match=r"pacs\.estimator=foo"):
        PacsConfig(estimator="foo")
    with pytest.raises(ValueError, match="must be a ReferenceConfig"):
        PacsConfig(reference={"reset_every": 5})  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [None, "rloo", ["beta"]])
def test_what_is_no_mapping_is_refused(settings: Any) -> None:
    with pytest.raises(ValueError, match="must be a mapping of settings"):
        PacsConfig.from_mapping(settings)


@pytest.mark.parametrize("n", [1, 0])
@pytest.mark.parametrize("estimator", ["rloo", "grpo", "dr_grpo", "none"])
def test_groups_of_one_are_refused(estimator: str, n: int) -> None:
    with pytest.raises(ValueError, match=rf"rollout\.n={n}: .*sample at least 2"):
        PacsConfig(estimator=estimator).check_group_size(n)


def test_groups_of_two_are_refused_with_grpo_alone() -> None:
    with pytest.raises(ValueError, match=r"rollout\.n=2 with pacs\.estimator=grpo.*gradient is zero; use .*=rloo"):
        PacsConfig(estimator="grpo").check_group_size(2)
    PacsConfig(estimator="grpo").check_group_size(3)
    for estimator in ("rloo", "dr_grpo", "none"):
        PacsConfig(estimator=estimator).check_group_size(2)
