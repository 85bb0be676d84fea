"""Values that are sound, and secrets in those that are not."""

import re

import pytest
import torch
from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.composing import compose_run
from pacs.integration.checks.run import ConfigError, check_run, warnings

ROLLOUT, ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"


@pytest.mark.parametrize(
    "overrides",
    [
        (
            f"{ACTOR}.optim.clip_grad=inf",
            f"{ROLLOUT}.top_k=-1",
            f"{ROLLOUT}.temperature=0.7",
            f"{ACTOR}.optim.lr_scheduler_type=cosine",
            f"{ACTOR}.optim.override_optimizer_config={{eps:1e-6}}",
            f"+{ACTOR}.fsdp_config.mixed_precision={{param_dtype:bf16,reduce_dtype:fp32,buffer_dtype:fp32}}",
            f"{ROLLOUT}.val_kwargs.temperature=0",
            "trainer.max_actor_ckpt_to_keep=null",
            "method.beta=2",
            "data.train_files=[a.parquet,b.parquet]",
            "+data.new=[1]",
            "method.reference.reset_every=null",
        ),
        (
            f"{ACTOR}.optim.optimizer=SGD",
            f"{ACTOR}.optim.lr=0",
            "trainer.experiment_name=7",
            "data.train_files=a.parquet",
            "~data.seed",
        ),
    ],
)
def test_what_is_sound_is_let_through(overrides: tuple[str, ...]) -> None:
    compose_run("pacs", ["recipe=arithmetic", *overrides])


def test_a_secret_that_cannot_be_read_is_not_repeated() -> None:
    with pytest.raises(UserError) as refused:
        compose_run("pacs", ["recipe=arithmetic", "trainer.wandb_api_key=hush'"])
    assert "trainer.wandb_api_key: its value" in str(refused.value)
    assert "hush" not in str(refused.value)


@pytest.fixture(scope="module")
def composed() -> dict[str, DictConfig]:
    static = [f"{ACTOR}.use_dynamic_bsz=false", f"{ACTOR}.ppo_micro_batch_size_per_gpu=8"]
    given = {"pacs": [], "ppo": [], "static": static}
    return {
        name: compose_run(name.replace("static", "pacs"), ["recipe=arithmetic", *words])[0]
        for name, words in given.items()
    }


#: Numbers that the checks themselves calculate with, and what they may not be.
CALCULATED = {
    f"pacs {ACTOR}.ulysses_sequence_parallel_size": (None, 0, -1),
    f"pacs {ACTOR}.fsdp_config.ulysses_sequence_parallel_size": (None, 0, -1),
    f"pacs {ROLLOUT}.data_parallel_size": (None, 0, -1, 2.5),
    f"pacs {ROLLOUT}.pipeline_model_parallel_size": (None, 0, -1),
    "pacs data.gen_batch_size": (0, -1, "abc"),
    "pacs data.val_batch_size": (0, -1),
    "pacs trainer.critic_warmup": (None, -1),
    f"pacs {ACTOR}.data_loader_seed": (None, -1, 2.5),
    f"pacs {ACTOR}.fsdp_config.pad_to_length_bucket": (None, 0),
    f"pacs {ACTOR}.ppo_max_token_len_per_gpu": (None, 2.5e4, "abc"),
    f"pacs {ROLLOUT}.log_prob_max_token_len_per_gpu": (2.5e4,),
    "pacs data.val_max_samples": (None, 0, 2.5),
    "pacs global_profiler.steps": (5, "5"),
    "pacs ray_kwargs.ray_init.num_cpus": (2, 0, 16.5),
    "pacs actor_rollout_ref.ref.ulysses_sequence_parallel_size": (None, 2),
    f"static {ACTOR}.ppo_micro_batch_size_per_gpu": (None, 0, -1, 2.5, "abc"),
    f"ppo {ACTOR}.entropy_coeff": (None,),
    "ppo critic.data_loader_seed": (None,),
    "ppo critic.use_dynamic_bsz": (None,),
    "ppo critic.ppo_mini_batch_size": (None, 0, 2.5),
    "ppo critic.ppo_epochs": (None, 0),
    "ppo critic.fsdp.ulysses_sequence_parallel_size": (None, 0, -1),
    "ppo critic.ppo_infer_max_token_len_per_gpu": (None, 0),
}


@pytest.mark.parametrize("which", CALCULATED)
def test_a_number_that_is_none_is_refused_by_its_name(which: str, composed: dict[str, DictConfig]) -> None:
    """And not by what a check makes of it: a division by zero, or the product of a size and nothing."""
    name, key = which.split()
    for value in CALCULATED[which]:
        config = composed[name].copy()
        OmegaConf.update(config, key, value)
        with pytest.raises(ConfigError, match=re.escape(f"{key}={'null' if value is None else value}")):
            check_run(config)


CUT = f"{ROLLOUT}.top_p=0.8"


@pytest.mark.parametrize("overrides", [["method.reference.reset_every=5"], ["method.reference.reset_every=null"]])
def test_a_reference_that_is_kept_is_only_warned_of_a_cut_sampling(overrides: list[str]) -> None:
    config, _ = compose_run("pacs", ["recipe=arithmetic", CUT, *overrides])
    assert any("no response is trained on that has a token that was cut off" in each for each in warnings(config))


#: Of ours that are compared with the policy that sampled, of ours with a token objective, of verl's, and with a critic;
#: the others are for --all.
FIRST_TRIED, OTHERS = ("pacs", "maxrl", "grpo", "ppo"), ("nft", "disco", "real", "pass_at_k", "dapo", "gspo")


@pytest.mark.parametrize("name", [*FIRST_TRIED, *(pytest.param(name, marks=pytest.mark.long) for name in OTHERS)])
def test_ratios_to_the_policy_that_sampled_need_the_whole_of_it(name: str) -> None:
    with pytest.raises(UserError, match=r"top_p=0.8: vLLM would sample from the likelier tokens alone"):
        compose_run(name, ["recipe=arithmetic", CUT])


def test_weights_by_vllms_own_log_probabilities_make_up_for_it() -> None:
    config, _ = compose_run("grpo", ["recipe=arithmetic", CUT, "algorithm.rollout_correction.rollout_is=token"])
    assert any("rollout_correction alone make up" in each for each in warnings(config))


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("reward.reward_model.enable=true", "reward.reward_model.enable=true is not tried here"),
        ("reward.custom_reward_function.path=null", "verl's own verifiers are not tried here"),
    ],
)
def test_what_nothing_tries_is_said(override: str, said: str) -> None:
    config, _ = compose_run("pacs", ["recipe=arithmetic", override])
    assert any(said in each for each in warnings(config))


def second_moment(beta2: float) -> float:
    """Of a bfloat16 weight after one large gradient and a thousand small ones."""
    weight = torch.zeros(1, dtype=torch.bfloat16, requires_grad=True)
    adam = torch.optim.AdamW([weight], lr=0.0, betas=(0.9, beta2))
    for gradient in [100.0, *[0.01] * 1000]:
        weight.grad = torch.tensor([gradient], dtype=torch.bfloat16)
        adam.step()
    return float(adam.state[weight]["exp_avg_sq"])


def test_a_second_moment_that_cannot_fall_is_warned_of() -> None:
    """By torch's own AdamW: at 0.999 it stays where the first gradient left it, at 0.99 it falls as 0.99^1000."""
    actor = "actor_rollout_ref.actor"
    for beta2, stays in ((0.999, True), (0.99, False)):
        assert (second_moment(beta2) > 9) == stays
        overrides = [f"{actor}.fsdp_config.model_dtype=bf16", f"{actor}.optim.betas=[0.9,{beta2}]"]
        config, _ = compose_run("pacs", ["recipe=arithmetic", *overrides])
        assert any("a decay of so little is rounded away" in each for each in warnings(config)) == stays
    assert not any("rounded away" in each for each in warnings(compose_run("ppo", ["recipe=arithmetic"])[0]))
    critic = ["recipe=arithmetic", "critic.fsdp.model_dtype=bf16"]
    assert any(each.startswith("critic.fsdp.model_dtype") for each in warnings(compose_run("ppo", critic)[0]))


@pytest.mark.parametrize(
    ("name", "warned"), [("AdamW8bit", True), ("AdamWFp8", True), ("AdamW4bit", True), ("_AdamW", False)]
)
def test_moments_that_share_a_scale_are_warned_of(name: str, warned: bool) -> None:
    """See findings/torchao_small_gradients_take_large_steps.sh; torchao itself is not asked."""
    config, _ = compose_run("pacs", ["recipe=arithmetic"])
    config.actor_rollout_ref.actor.optim.update({"optimizer_impl": "torchao.optim", "optimizer": name})
    assert any("share the scale of their moments" in each for each in warnings(config)) == warned
