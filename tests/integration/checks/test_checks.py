"""What a run is given where verl would read another setting than the one that is given."""

from pacs.composing import compose_run

ROLLOUT, ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"


def test_the_clip_is_the_one_that_verl_s_losses_read() -> None:
    """verl reads clip_ratio only where the other two are null, which they are not in its own config."""
    actor = compose_run("grpo", ["recipe=qwen3_8b", f"{ACTOR}.clip_ratio=0.3"])[0].actor_rollout_ref.actor
    assert (actor.clip_ratio_low, actor.clip_ratio_high) == (0.3, 0.3)
