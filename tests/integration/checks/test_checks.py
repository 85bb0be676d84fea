"""Settings that verl, vLLM or torch would refuse minutes later, or not heed without a word: refused at once."""

import pytest

from pacs.base.errors import UserError
from pacs.composing import compose_run

ROLLOUT, ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"


@pytest.mark.parametrize(
    ("algorithm", "override", "mend"),
    [
        ("pacs", f"{ROLLOUT}.tensor_model_parallel_size=3", "engines of 3 GPUs cannot share 1 ranks"),
        ("pacs", f"{ROLLOUT}.tensor_model_parallel_size=0", "at least 1"),
        ("pacs", f"{ROLLOUT}.gpu_memory_utilization=60", "at most 1"),
        ("pacs", f"{ROLLOUT}.max_model_len=30", "make 40 tokens; leave it out"),
        ("pacs", f"{ROLLOUT}.val_kwargs.n=0", "at least 1"),
        ("ppo", "actor_rollout_ref.nccl_timeout=0", "at least 1"),
        ("pacs", "data.max_response_length=0", "at least 1"),
        ("pacs", "trainer.total_training_steps=-3", "at least 1, or null"),
        ("pacs", f"{ACTOR}.optim.lr=-1", "at least 0"),
        ("pacs", "trainer.save_freq=often", "use a number, as 10"),
        ("pacs", "trainer.logger=tensorbord", "there are wandb"),
        ("pacs", "pacs.run_dir=null", "name a path"),
        ("pacs", "data.train_files=[]", "name a path"),
        ("pacs", "algorithm.adv_estimator=grpo", "choose another algorithm by --config-name"),
        ("pacs", f"{ACTOR}.loss_agg_mode=seq-mean-token-sum", "PACS reads nothing of verl's"),
        ("pacs", f"{ACTOR}.clip_ratio=0.3", "PACS reads nothing of verl's"),
        ("grpo", "algorithm.adv_estimator=gprp", "or use one of gae, "),
        ("dapo", "algorithm.filter_groups.metric=scoer", "use score, or reward"),
        ("dapo", "reward.reward_kwargs.overlong_buffer_cfg.len=30", "at most reward.reward_kwargs.max_resp_len=24"),
    ],
    ids=lambda value: value if "=" in value else "",
)
def test_what_would_fail_late_is_refused(algorithm: str, override: str, mend: str) -> None:
    with pytest.raises(UserError) as refused:
        compose_run(algorithm, ["recipe=arithmetic", override])
    assert override.split("=")[0] in str(refused.value)
    assert mend in str(refused.value)


def test_ranks_that_shards_do_not_divide_are_refused() -> None:
    with pytest.raises(UserError, match="fsdp_size=3 does not divide the 8 ranks"):
        compose_run("grpo", ["recipe=qwen3_8b", f"{ACTOR}.fsdp_config.fsdp_size=3"])


def test_the_clip_is_the_one_that_verl_s_losses_read() -> None:
    """verl reads clip_ratio only where the other two are null, which they are not in its own config."""
    actor = compose_run("grpo", ["recipe=qwen3_8b", f"{ACTOR}.clip_ratio=0.3"])[0].actor_rollout_ref.actor
    assert (actor.clip_ratio_low, actor.clip_ratio_high) == (0.3, 0.3)
