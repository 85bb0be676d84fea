import json

import pytest

from pacs.algorithm import ReferenceConfig, ReferenceSchedule


def resets(config: ReferenceConfig, steps: int = 12, saturated: tuple = (), log_ratio: tuple = ()) -> list[tuple]:
    schedule = ReferenceSchedule(config)
    for step in range(1, steps + 1):
        schedule.after_updates(
            step,
            saturated=saturated[step - 1] if saturated else 0.0,
            log_ratio=log_ratio[step - 1] if log_ratio else 0.0,
        )
    return [(event.step, event.trigger, event.value) for event in schedule.events]


def test_every_k_steps() -> None:
    assert resets(ReferenceConfig(reset_every=5)) == [(5, "reset_every", 5), (10, "reset_every", 10)]
    assert resets(ReferenceConfig(reset_every=None)) == []


def test_a_threshold_fires_at_and_above_its_value() -> None:
    saturation = ReferenceConfig(reset_every=None, reset_at_saturation=0.5)
    assert resets(saturation, 4, saturated=(0.1, 0.49, 0.5, 0.2)) == [(3, "reset_at_saturation", 0.5)]
    distance = ReferenceConfig(reset_every=None, reset_at_log_ratio=2.0)
    assert resets(distance, 4, log_ratio=(-5.0, 1.9, 2.5, 3.0)) == [
        (3, "reset_at_log_ratio", 2.5),
        (4, "reset_at_log_ratio", 3.0),
    ]


def test_triggers_work_side_by_side() -> None:
    config = ReferenceConfig(reset_every=3, reset_at_saturation=0.5)
    assert resets(config, 6, saturated=(0.0, 0.9, 0.9, 0.0, 0.0, 0.0)) == [
        (2, "reset_at_saturation", 0.9),
        (3, "reset_every", 3),
        (6, "reset_every", 6),
    ]


def test_the_reference_is_the_policy_until_the_next_update() -> None:
    schedule = ReferenceSchedule(ReferenceConfig(reset_every=2))
    seen = [schedule.is_policy]
    for step in range(1, 5):
        schedule.after_updates(step, saturated=0.0, log_ratio=0.0)
        seen.append(schedule.is_policy)
    assert seen == [True, False, True, False, True]


def test_a_model_is_needed_unless_every_step_resets() -> None:
    assert not ReferenceSchedule(ReferenceConfig(reset_every=1)).needs_model
    assert ReferenceSchedule(ReferenceConfig(reset_every=2)).needs_model
    assert ReferenceSchedule(ReferenceConfig(reset_every=None)).needs_model


def test_the_learning_rate_warms_up_after_a_reset_alone() -> None:
    schedule = ReferenceSchedule(ReferenceConfig(reset_every=5, warmup_steps=3))
    factors = []
    for step in range(1, 12):
        factors.append(schedule.learning_rate_factor(step))
        schedule.after_updates(step, saturated=0.0, log_ratio=0.0)
    ramp = [0.25, 0.5, 0.75, 1.0, 1.0]
    assert factors == pytest.approx([1.0] * 5 + ramp + ramp[:1])


def test_a_threshold_waits_for_the_warm_up() -> None:
    config = ReferenceConfig(reset_every=None, reset_at_saturation=0.1, warmup_steps=2)
    assert [step for step, *_ in resets(config, 9, saturated=(0.5,) * 9)] == [1, 4, 7]


def test_a_resumed_schedule_goes_on_as_if_it_had_not_stopped() -> None:
    config = ReferenceConfig(reset_every=3, warmup_steps=2)
    whole, first = ReferenceSchedule(config), ReferenceSchedule(config)
    for step in range(1, 5):
        whole.after_updates(step, saturated=0.0, log_ratio=0.0)
        first.after_updates(step, saturated=0.0, log_ratio=0.0)
    resumed = ReferenceSchedule(config)
    resumed.restore(json.loads(json.dumps(first.state())))
    for step in range(5, 9):
        assert resumed.is_policy == whole.is_policy
        assert resumed.learning_rate_factor(step) == whole.learning_rate_factor(step)
        whole.after_updates(step, saturated=0.0, log_ratio=0.0)
        resumed.after_updates(step, saturated=0.0, log_ratio=0.0)
    assert resumed.state() == whole.state()
