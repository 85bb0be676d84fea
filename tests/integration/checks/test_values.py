"""Values that would be refused only after the start: named with what to use, before anything is started."""

import pytest

from pacs.base.errors import UserError
from pacs.composing import compose_run
from pacs.integration.checks.reward_function import defined_names

ROLLOUT, ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
#: Primary config, override, what is said of it.
WRONG = [
    ("pacs", f"{ROLLOUT}.name=sglang", "use vllm"),
    ("pacs", f"{ROLLOUT}.dtype=float8", "use one of auto, bfloat16"),
    ("pacs", f"{ROLLOUT}.temperature=-1", "use a number above 0"),
    ("pacs", f"{ROLLOUT}.temperature=0", "use a number above 0"),
    ("pacs", f"{ROLLOUT}.temperature=inf", "use a number above 0"),
    ("pacs", f"{ROLLOUT}.top_p=2", "use a share above 0 and at most 1"),
    ("pacs", f"{ROLLOUT}.top_p=0", "use a share above 0 and at most 1"),
    ("pacs", f"{ROLLOUT}.top_k=0", "use a whole number of at least 1, or -1"),
    ("pacs", f"{ROLLOUT}.top_k=1.5", "use a whole number of at least 1, or -1"),
    ("pacs", f"{ROLLOUT}.val_kwargs.temperature=-0.1", "use a number of at least 0 (0: greedy)"),
    ("pacs", f"{ROLLOUT}.val_kwargs.top_p=1.1", "use a share above 0 and at most 1"),
    ("pacs", f"{ROLLOUT}.val_kwargs.top_k=-2", "use a whole number of at least 1, or -1"),
    ("pacs", f"{ROLLOUT}.agent.num_workers=0", "use a whole number of at least 1"),
    ("pacs", f"{ACTOR}.optim.lr=nan", "use a number of at least 0 (the paper: 1e-6)"),
    ("pacs", f"{ACTOR}.optim.lr=inf", "use a number of at least 0 (the paper: 1e-6)"),
    ("ppo", "critic.optim.lr=nan", "use a number of at least 0"),
    ("ppo", "critic.optim.lr=-1", "use a number of at least 0"),
    ("pacs", "reward.num_workers=0", "use a whole number of at least 1"),
    ("pacs", "data.dataloader_num_workers=-1", "use a whole number of at least 0"),
    ("pacs", "pacs.sample_groups=-1", "use a whole number of at least 0"),
    ("pacs", "trainer.experiment_name=../up", "use a plain name"),
    ("pacs", "trainer.experiment_name=..", "use a plain name"),
    ("pacs", "trainer.project_name=a/b", "use a plain name"),
    ("grpo", "algorithm.gamma=nan", "use a finite number"),
    ("pacs", f"{ACTOR}.optim.weight_decay=inf", "use a finite number"),
    ("pacs", f"{ACTOR}.optim.clip_grad=nan", "use a finite number"),
    # Of another kind than what they take the place of.
    ("pacs", "data.shuffle=maybe", "use true or false"),
    ("pacs", "data.shuffle=1", "use true or false"),
    ("pacs", "pacs.rollouts.seeded=yes", "use true or false"),
    ("pacs", "trainer.nnodes=true", "use a value like 1, not true or false"),
    ("pacs", "data.max_prompt_length=long", "use a number, as 16"),
    ("pacs", "data.train_files=7", "name a path"),
    ("pacs", "data.val_files=[a.parquet,7]", "name a path"),
    ("pacs", "actor_rollout_ref.model.path=true", "not true or false"),
    ("pacs", "trainer=3", "it is a section: set a key in it"),
    ("pacs", "actor_rollout_ref.actor.optim=adam", "it is a section: set a key in it"),
    # As they are written.
    ("pacs", "data=3", "data=3: there are arithmetic, math."),
    ("pacs", "data.seed=[", "data.seed: its value [ cannot be read"),
    ("pacs", "trainer.experiment_name=it's", "trainer.experiment_name: its value it's cannot be read"),
    ("pacs", "data.seed", "data.seed: what is it to be? Write data.seed=VALUE."),
    ("pacs", "recipe=arithmetik", "recipe=arithmetik: there are arithmetic, "),
    ("pacs", "hardware=h2000", "hardware=h2000: there are "),
]


@pytest.mark.parametrize(("name", "override", "mend"), WRONG, ids=lambda value: value)
def test_it_is_named_with_what_to_use(name: str, override: str, mend: str) -> None:
    with pytest.raises(UserError) as refused:
        compose_run(name, ["recipe=arithmetic", override])
    assert mend in str(refused.value)
    assert override.partition("=")[0] in str(refused.value)


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


@pytest.mark.parametrize(
    "source",
    [
        "def compute_score(): ...",
        "async def compute_score(): ...",
        "try:\n    from mine import compute_score\nexcept ImportError:\n    pass",
        "if True:\n    compute_score = print",
        "compute_score: object = print",
        "from mine import other as compute_score",
        "from mine import *",
    ],
)
def test_a_reward_function_is_found_however_it_is_defined(source: str) -> None:
    assert defined_names(source) & {"compute_score", "*"}
    assert not defined_names(source.replace("compute_score", "score").replace("*", "score")) & {"compute_score", "*"}
