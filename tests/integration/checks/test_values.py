"""Values that are sound, and secrets in those that are not."""

import pytest

from pacs.base.errors import UserError
from pacs.composing import compose_run

ROLLOUT, ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"


@pytest.mark.parametrize(
    "override",
    [
        f"{ACTOR}.optim.clip_grad=inf",
        f"{ROLLOUT}.top_k=20",
        f"{ROLLOUT}.val_kwargs.temperature=0",
        "actor_rollout_ref.actor.optim.lr=0",
        "trainer.max_actor_ckpt_to_keep=null",
        "trainer.experiment_name=7",
        "pacs.beta=2",
        "data.train_files=[a.parquet,b.parquet]",
        "data.train_files=a.parquet",
        "+data.new=[1]",
        "~data.seed",
        "pacs.reference.reset_every=null",
    ],
)
def test_what_is_sound_is_let_through(override: str) -> None:
    compose_run("pacs", ["recipe=arithmetic", override])


def test_a_secret_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(UserError) as refused:
        compose_run("pacs", ["recipe=arithmetic", "trainer.wandb_api_key=hush'"])
    assert "trainer.wandb_api_key: its value" in str(refused.value)
    assert "hush" not in str(refused.value)
