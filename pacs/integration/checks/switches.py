"""Switches of verl's config that do not do here what they say, and settings that a run would not read.

verl 0.9.1 has them for its older trainer, for other engines or for asynchronous training. Its synchronous V1 trainer
over FSDP2 and vLLM, which every run here is, does not read them, or half of what they need is missing; each was looked
up in verl's source. docs/configuration.md has the table. Of the settings of verl's losses and advantages those are
refused that the chosen ones do not read, so that a change of them would do nothing.
"""

from collections.abc import Iterable, Iterator, Mapping

from omegaconf import DictConfig, OmegaConf

from pacs.base.settings import flatten
from pacs.integration.checks.judge import judge_settings_in
from pacs.integration.checks.wording import full_name, spelled, written
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import has_generative_critic

# fmt: off
_CLIP = ("actor.clip_ratio", "actor.clip_ratio_low", "actor.clip_ratio_high")
_DUAL, _SCALE, _DRO = "actor.clip_ratio_c", "actor.loss_scale_factor", "actor.policy_loss.dro_beta"
_COVARIANCES = tuple(f"actor.policy_loss.clip_cov_{which}" for which in ("ratio", "lb", "ub"))
_KL_COV = ("actor.policy_loss.kl_cov_ratio", "actor.policy_loss.ppo_kl_coef")
_BY_STD = "algorithm.norm_adv_by_std_in_grpo"

#: Setting -> the values that one who does not mean to use it leaves it at: verl's, and of a term's weight 0.
LEFT_AS_THEY_ARE: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(_CLIP, (0.2,)), _DUAL: (3.0,), "actor.tau_pos": (1.0,), "actor.tau_neg": (1.05,),
    **dict(zip(_COVARIANCES, ((0.0002,), (1.0,), (5.0,)), strict=True)),
    **dict(zip(_KL_COV, ((0.0002,), (0.1, 0)), strict=True)), _DRO: (None,),
    "actor.kl_loss_coef": (0.001, 0), "actor.kl_loss_type": ("low_var_kl",),
    "algorithm.kl_ctrl.kl_coef": (0.001, 0), "algorithm.kl_ctrl.type": ("fixed",),
    "algorithm.kl_ctrl.horizon": (10000,), "algorithm.kl_ctrl.target_kl": (0.1,), "algorithm.kl_penalty": ("kl",),
    "algorithm.gamma": (1.0,), "algorithm.lam": (1.0,), "run.critic.lam": (None,), _BY_STD: (True,), _SCALE: (None,),
}
#: verl's losses, and what each reads beside the way its tokens are added up; others than these are not judged.
OF_LOSSES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("vanilla", "dppo_tv", "dppo_kl"), (*_CLIP, _DUAL)), **dict.fromkeys(("gspo", "cispo"), _CLIP),
    "clip_cov": (*_CLIP, *_COVARIANCES), "kl_cov": _KL_COV, "sapo": ("actor.tau_pos", "actor.tau_neg"),
    "dro": (_DRO,), "gpg": (),
}
#: verl's estimators, and what each reads. verl passes `_BY_STD` on to two, so that grpo_vectorized always divides.
OF_ESTIMATORS: dict[str, tuple[str, ...]] = {
    "gae": ("algorithm.gamma", "algorithm.lam"), "reinforce_plus_plus": ("algorithm.gamma",),
    **dict.fromkeys(("grpo", "grpo_passk"), (_BY_STD,)),
    **dict.fromkeys(("grpo_vectorized", "rloo", "rloo_vectorized", "opo", "gpg", "reinforce_plus_plus_baseline"), ()),
}
#: The settings with one value of another alone.
READ_WITH: dict[tuple[str, object], tuple[str, ...]] = {
    ("critic.enable", True): ("run.critic.lam",),
    ("actor.use_kl_loss", True): ("actor.kl_loss_coef", "actor.kl_loss_type"),
    ("algorithm.use_kl_in_reward", True): (
        "algorithm.kl_ctrl.kl_coef", "algorithm.kl_ctrl.type", "algorithm.kl_penalty"
    ),
    ("algorithm.kl_ctrl.type", "adaptive"): ("algorithm.kl_ctrl.horizon", "algorithm.kl_ctrl.target_kl"),
    ("actor.loss_agg_mode", "seq-mean-token-sum-norm"): (_SCALE,),
}
# fmt: on
#: The one way in which sapo adds up its tokens.
OF_SAPO = "seq-mean-token-mean"


def changed(config: DictConfig, names: Iterable[str]) -> list[str]:
    """Those of the settings that are not left as they are."""
    ratio = OmegaConf.select(config, full_name(_CLIP[0]))
    values = {name: OmegaConf.select(config, full_name(name)) for name in names}
    follow = [name for name in _CLIP[1:] if values.get(name) == ratio]
    return [name for name, value in values.items() if value not in LEFT_AS_THEY_ARE[name] and name not in follow]


@spelled
def unread_problems(config: DictConfig) -> Iterator[str]:
    """What is set and not read by the loss and the advantages of one of verl's algorithms, a sentence each."""
    actor = config.actor_rollout_ref.actor
    loss, estimator = actor.policy_loss.loss_mode, config.algorithm.adv_estimator
    for kind, chosen, table in (("loss", loss, OF_LOSSES), ("estimator", estimator, OF_ESTIMATORS)):
        others = dict.fromkeys(
            name for names in table.values() for name in names if name not in table.get(chosen, names)
        )
        for name in changed(config, others):
            yield f"@{name}=: verl's {kind} {chosen} does not read it: leave it out, or {_set_back(name)}."
    for (switch, value), names in READ_WITH.items():
        for name in changed(config, names) if OmegaConf.select(config, full_name(switch)) != value else ():
            yield f"@{name}=: read with @{switch}={written(value)} alone: set that, or {_set_back(name)}."
    # The terms of KL and entropy are added up as it says, whatever the loss is.
    if loss == "sapo" and actor.loss_agg_mode != OF_SAPO and not (actor.use_kl_loss or actor.entropy_coeff):
        yield f"@actor.loss_agg_mode=: verl's loss sapo takes {OF_SAPO} whatever this says: set it to that."


def _set_back(name: str) -> str:
    return f"set this back to {written(LEFT_AS_THEY_ARE[name][0])}"


OLD_TRAINER = "only verl's older trainer reads it (trainer.use_v1=false), which is not run here"
NOT_READ = "nothing in verl 0.9.1 reads it with FSDP2 and vLLM"
NO_MTP = "verl trains heads that predict several tokens with Megatron alone"
UNREAD = (
    "actor.freeze_vision_tower", "data.return_raw_input_ids", "model.tiled_mlp.enabled",
    "critic.model.tiled_mlp.enabled", "rollout.multi_turn.use_inference_chat_template",
)  # fmt: skip
SKIP = f"{OLD_TRAINER}; skip.rollout_tq is the V1 trainer's"

#: Setting -> the values that it may have, and why no other.
Only = Mapping[str, tuple[tuple[object, ...], str]]
ONLY: Only = {
    "trainer.use_v1": ((True,), "every run here is one of verl's V1 trainer"),
    "trainer.esi_redundant_time": ((0,), OLD_TRAINER),
    "trainer.ray_wait_register_center_timeout": ((300,), OLD_TRAINER),
    "trainer.balance_batch": ((True,), "rows are always dealt out to the ranks by their lengths"),
    "actor_rollout_ref.hybrid_engine": ((True,), "@rollout.nnodes alone says whether vLLM has GPUs of its own"),
    **dict.fromkeys(("actor.use_prefix_grouper", "actor.calculate_sum_pi_squared"), ((False,), OLD_TRAINER)),
    **dict.fromkeys(("actor.fsdp_config.forward_only", "critic.fsdp.forward_only"), ((False,), "nothing would train")),
    "ref.fsdp_config.forward_only": ((True,), "verl would ask for an optimizer of the reference's, which has none"),
    "model.hf_config_path": ((None,), "vLLM and the checks here read the config in @model.path alone"),
    "critic.model.use_fused_kernels": ((False,), "verl would fuse a head over the vocabulary, which no critic has"),
    **dict.fromkeys(("model.mtp.enable", "critic.model.mtp.enable"), ((False,), NO_MTP)),
    "actor.fsdp_config.dtype": (("bfloat16",), "verl reads the dtype of fsdp_config.mixed_precision.param_dtype alone"),
    "actor.grad_clip": ((1.0, None), "verl clips at @actor.optim.clip_grad"),
    "critic.grad_clip": ((1.0, None), "verl clips at critic.optim.clip_grad"),
    "actor.ppo_micro_batch_size": ((None,), "it is verl's old name of ppo_micro_batch_size_per_gpu"),
    "rollout.over_sample_rate": ((0, None), "it is SGLang's"),
    "rollout.skip_tokenizer_init": ((True, None), "verl starts vLLM with its tokenizer"),
    "rollout.checkpoint_engine.backend": (("naive",), "it is chosen here: nccl to vLLM's own GPUs, else handed over"),
    "rollout.do_sample": ((True,), "verl samples at @rollout.temperature, whatever it says"),
    **dict.fromkeys(UNREAD, ((False,), NOT_READ)),
    "rollout.multi_turn.tokenization_sanity_check_mode": (("strict",), NOT_READ),
    "rollout.multi_turn.num_repeat_rollouts": ((None,), NOT_READ),
    "rollout.full_determinism": (
        (False,),
        "verl's V1 trainer gives all requests the same id with it, so that one engine gets them all; the variable "
        "VLLM_BATCH_INVARIANT=1 and @actor.fsdp_config.full_determinism make a run on GPUs repeatable",
    ),
    "rollout.multi_stage_wake_up": ((False,), "it is SGLang's"),
    "rollout.enable_rollout_routing_replay": ((False,), "routes are replayed by Megatron's and VeOmni's engines alone"),
    "rollout.disaggregation.enabled": ((False,), "weights and GPUs are divided among engines that prefill and decode"),
    "rollout.trace.backend": ((None,), "verl's V1 trainer traces no rollout"),
    "algorithm.use_pf_ppo": ((False, None), "verl's V1 trainer gives rows that were drawn again others' advantages"),
    "algorithm.rollout_correction.bypass_mode": (
        (False, None),
        "verl's V1 trainer takes vLLM's log-probabilities for the policy's, and leaves out the loss, the weights and "
        "the rejection that belong to it; rollout_is and rollout_rs correct as they say",
    ),
    "algorithm.rollout_correction.loss_type": (("ppo_clip",), "it is the loss of bypass_mode, which is not run here"),
    "trainer.default_hdfs_dir": ((None,), "verl writes checkpoints of FSDP to the run's folder alone"),
    "data.reward_fn_key": (("data_source",), "verl's reward loop reads the column data_source"),
    **dict.fromkeys(("skip.rollout.enable", "skip.async_rollout.enable"), ((False,), SKIP)),
    "distillation.enabled": (
        (False,),
        "plan, checks and watch know nothing of the teachers' GPUs and engines, and PACS has no distillation loss",
    ),
    "trainer.del_local_ckpt_after_load": ((False,), "it deletes what the run goes on from"),
}
#: The same of what the shipped configs need not have.
ONLY_IF_THERE: Only = {
    "trainer.v1.sync.parameter_sync_step": (
        (1,),
        "a step is one batch of rollouts and one new set of weights in vLLM; @actor.ppo_mini_batch_size makes updates",
    ),
    "trainer.v1.separate_async.parameter_sync_step": ((4,), "vLLM gets new weights once a step"),
    "trainer.v1.separate_async.hybrid_rollout.enable_switch": ((False,), "GPUs of the training are not lent to vLLM"),
    "rollout.repetition_penalty": ((1,), "verl samples with 1 whatever it says, and log-probabilities do not know it"),
    **{
        f"{part}.checkpoint.async_save": ((False,), "a save is to have ended when it says so")
        for part in ("actor", "critic")
    },
}
#: verl's older places of the reward's settings, which its V1 trainer does not read.
MOVED = {
    "custom_reward_function": "reward.custom_reward_function",
    "reward_model": "reward",
    "sandbox_fusion": "reward.sandbox_fusion",
}


def other_than(table: Only, config: DictConfig) -> Iterator[str]:
    """The settings that have another value than they may, a sentence each."""
    for name, (allowed, why) in table.items():
        value = OmegaConf.select(config, full_name(name))
        if value is not None and value not in allowed:
            yield f"@{name}=: {why}: leave it out, or set it to {written(allowed[0])}."


@spelled
def switch_problems(config: DictConfig) -> Iterator[str]:
    """What is set and would do nothing, or not what it says; a sentence each with the setting and the mend."""
    yield from other_than(ONLY, config)
    yield from other_than(ONLY_IF_THERE, config)
    for section, place in MOVED.items():
        there = flatten(plain(config.get(section)) or {}, f"{section}.")
        if found := sorted(key for key, value in there.items() if value not in (None, [])):
            yield f"{found[0]}: verl's V1 trainer does not read {section}: set it under {place}."
    sampling, trainer = config.actor_rollout_ref.rollout.val_kwargs, config.trainer
    if not sampling.do_sample and sampling.temperature != 0:
        yield (
            "@rollout.val_kwargs.do_sample=false, but verl's V1 trainer reads the temperature alone "
            "(@rollout.val_kwargs.temperature=): set that to 0 for greedy validation."
        )
    if trainer.get("val_only") and not trainer.get("val_before_train", True):
        validation = "verl stops after the validation before the training"
        yield f"trainer.val_only=true with @trainer.val_before_train=false would train: {validation}; leave that true."
    if trainer.resume_from_path is not None and trainer.resume_mode != "resume_path":
        yield "@trainer.resume_from_path=: read with trainer.resume_mode=resume_path alone: set that, or leave it out."
    first = trainer.critic_warmup or 0
    if first > 0 and not (config.critic.enable or has_generative_critic(config)):
        yield "@trainer.critic_warmup=: without a critic the policy would not be updated in these steps; set it to 0."
    if trainer.total_training_steps is not None and first > trainer.total_training_steps:
        yield (
            "@trainer.critic_warmup= is the first step that updates the policy, and @trainer.total_training_steps= the "
            "last of all: lower the one, or raise the other."
        )
    for part in ("actor", *(("critic",) if config.critic.enable else ())):
        optim = OmegaConf.select(config, full_name(f"{part}.optim"))
        for key, left in {"min_lr_ratio": (0, None), "num_cycles": (0.5,)}.items():
            if optim.lr_scheduler_type == "constant" and optim[key] not in left:
                yield f"@{part}.optim.{key}=: read with lr_scheduler_type=cosine alone: set that, or leave it out."
        if (optim.lr_warmup_steps or 0) > 0 and optim.lr_warmup_steps_ratio:
            ratio = f"@{part}.optim.lr_warmup_steps_ratio="
            yield f"{ratio} is not read beside lr_warmup_steps={optim.lr_warmup_steps}: leave out either."
    model = config.reward.reward_model
    for key in ("nnodes", "n_gpus_per_node") if model.enable and model.enable_resource_pool else ():
        if type(model[key]) is not int or model[key] < 1:
            apart = "enable_resource_pool=true gives it GPUs of its own"
            yield f"@reward.reward_model.{key}=: {apart}: use a whole number of at least 1."
    if config.reward.sandbox_fusion.url is not None and config.reward.custom_reward_function.path is not None:
        yield (
            "@reward.sandbox_fusion.url=: verl gives it to its own verifiers alone, and the run has a reward function: "
            "leave it out, or have that function call the sandbox."
        )


@spelled
def untried(config: DictConfig) -> Iterator[str]:
    """What a run has that no check here has tried, a sentence each."""
    said = "is not tried here: no check here tries it, and no test of ours trains with it"
    rollout, reward = config.actor_rollout_ref.rollout, config.reward
    if rollout.agent.default_agent_loop not in ("single_turn_agent", "tool_agent"):
        yield f"@rollout.agent.default_agent_loop= {said}."
    if reward.reward_model.enable and judge_settings_in(config) is None:
        yield f"@reward.reward_model.enable= {said}."
    if reward.reward_model.enable:
        yield "@reward.reward_model.enable=: `pacs plan` does not count its GPUs."
    if reward.reward_manager.source == "importlib":
        yield "@reward.reward_manager.name= is imported, but not called here."
    if reward.custom_reward_function.path is None:
        yield (
            "@reward.custom_reward_function.path=: verl's own verifiers are not tried here; they know the sources of "
            "verl's examples by data_source, and fail on others."
        )
