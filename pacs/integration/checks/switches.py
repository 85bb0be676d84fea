"""Switches of verl's config that do not do here what they say.

verl 0.9.1 has them for its older trainer, for other engines or for asynchronous training. Its synchronous V1 trainer
over FSDP2 and vLLM, which every run here is, does not read them, or half of what they need is missing; each was looked
up in verl's source. docs/verl.md has the table.
"""

from collections.abc import Iterator

from omegaconf import DictConfig, ListConfig, OmegaConf

OLD_TRAINER = "only verl's older trainer reads it (trainer.use_v1=false), which is not run here"
NOT_READ = "nothing in verl 0.9.1 reads it with FSDP2 and vLLM"
NO_MTP = "verl trains heads that predict several tokens with Megatron alone"

#: Key -> the values that it may have, and why no other.
ONLY: dict[str, tuple[tuple[object, ...], str]] = {
    "trainer.use_v1": ((True,), "every run here is one of verl's V1 trainer"),
    "trainer.balance_batch": ((True,), "rows are always dealt out to the ranks by their lengths"),
    "actor_rollout_ref.hybrid_engine": ((True,), "policy and vLLM share the GPUs in synchronous training"),
    "actor_rollout_ref.actor.use_prefix_grouper": ((False,), OLD_TRAINER),
    "actor_rollout_ref.actor.calculate_sum_pi_squared": ((False,), OLD_TRAINER),
    "actor_rollout_ref.actor.freeze_vision_tower": ((False,), NOT_READ),
    "actor_rollout_ref.model.tiled_mlp.enabled": ((False,), NOT_READ),
    "actor_rollout_ref.model.mtp.enable": ((False,), NO_MTP),
    "actor_rollout_ref.actor.fsdp_config.dtype": (
        ("bfloat16",),
        "verl reads the dtype of fsdp_config.mixed_precision.param_dtype alone",
    ),
    "actor_rollout_ref.actor.grad_clip": ((1.0, None), "verl clips at actor_rollout_ref.actor.optim.clip_grad"),
    "critic.grad_clip": ((1.0, None), "verl clips at critic.optim.clip_grad"),
    "actor_rollout_ref.actor.ppo_micro_batch_size": ((None,), "it is verl's old name of ppo_micro_batch_size_per_gpu"),
    "actor_rollout_ref.rollout.over_sample_rate": ((0, None), "it is SGLang's"),
    "actor_rollout_ref.rollout.skip_tokenizer_init": ((True, None), "verl starts vLLM with its tokenizer"),
    "actor_rollout_ref.rollout.checkpoint_engine.backend": (
        ("naive",),
        "policy and vLLM share the GPUs, and weights are handed over there",
    ),
    "actor_rollout_ref.rollout.do_sample": (
        (True,),
        "verl samples at actor_rollout_ref.rollout.temperature, whatever it says",
    ),
    "actor_rollout_ref.rollout.multi_stage_wake_up": ((False,), "it is SGLang's"),
    "actor_rollout_ref.rollout.enable_rollout_routing_replay": (
        (False,),
        "the routes that vLLM took are replayed by Megatron's and VeOmni's engines alone",
    ),
    "actor_rollout_ref.rollout.disaggregation.enabled": (
        (False,),
        "weights and GPUs are divided here among engines that prefill and decode",
    ),
    "actor_rollout_ref.rollout.trace.backend": ((None,), "verl's V1 trainer traces no rollout"),
    "algorithm.use_pf_ppo": (
        (False, None),
        "verl's V1 trainer gives the advantages of the rows that were drawn again to those that stood in their places",
    ),
    "critic.model.tiled_mlp.enabled": ((False,), NOT_READ),
    "critic.model.mtp.enable": ((False,), NO_MTP),
    "data.return_raw_input_ids": ((False,), NOT_READ),
    "data.reward_fn_key": (("data_source",), "verl's reward loop reads the column data_source"),
    "skip.rollout.enable": ((False,), f"{OLD_TRAINER}; skip.rollout_tq is the V1 trainer's"),
    "skip.async_rollout.enable": ((False,), f"{OLD_TRAINER}; skip.rollout_tq is the V1 trainer's"),
    "distillation.enabled": (
        (False,),
        "the teachers' GPUs, engines and deaths are unknown to the plan, the checks and the watch over the run, and "
        "PACS has no distillation loss",
    ),
}
#: verl's older places of the reward's settings, which its V1 trainer does not read.
MOVED = {
    "custom_reward_function": "reward.custom_reward_function",
    "reward_model": "reward",
    "sandbox_fusion": "reward.sandbox_fusion",
}


def switch_problems(config: DictConfig) -> Iterator[str]:
    """What is set and would do nothing, or not what it says; a sentence each with the setting and the mend."""
    for key, (allowed, why) in ONLY.items():
        value = OmegaConf.select(config, key)
        if value is not None and value not in allowed:
            yield f"{key}={_text(value)}: {why}: leave it out ({_text(allowed[0])})."
    yield from _moved_problems(config)
    yield from _correction_problems(config)
    yield from _validation_problems(config)
    if (penalty := config.actor_rollout_ref.rollout.get("repetition_penalty", 1)) != 1:
        yield (
            f"actor_rollout_ref.rollout.repetition_penalty={penalty}: verl samples with 1 whatever it says, and "
            "log-probabilities would not know of it: leave it out."
        )
    yield from _schedule_problems(config)
    reward = config.reward
    if reward.sandbox_fusion.url is not None and reward.custom_reward_function.path is not None:
        yield (
            f"reward.sandbox_fusion.url={reward.sandbox_fusion.url}: verl gives it to its own verifiers alone, and the "
            "run has a reward function: leave it out, or have that function call the sandbox."
        )


def _schedule_problems(config: DictConfig) -> Iterator[str]:
    """Settings of another schedule of the learning rate than the run's."""
    for part in ("actor_rollout_ref.actor", *(("critic",) if config.critic.enable else ())):
        optim = OmegaConf.select(config, f"{part}.optim")
        unread = {"min_lr_ratio": (0, None), "num_cycles": (0.5,)}
        if optim.lr_scheduler_type == "constant":
            for key, left in unread.items():
                if optim[key] not in left:
                    given = f"{part}.optim.{key}={optim[key]}"
                    yield f"{given}: read with lr_scheduler_type=cosine alone: set that, or leave it out."
        if (optim.lr_warmup_steps or 0) > 0 and optim.lr_warmup_steps_ratio:
            yield (
                f"{part}.optim.lr_warmup_steps_ratio={optim.lr_warmup_steps_ratio} is not read beside lr_warmup_steps="
                f"{optim.lr_warmup_steps}: leave out either."
            )


def _moved_problems(config: DictConfig) -> Iterator[str]:
    for section, place in MOVED.items():
        if found := sorted(_set_keys(config.get(section), section)):
            yield f"{found[0]}: verl's V1 trainer does not read {section}: set it under {place}."


def _correction_problems(config: DictConfig) -> Iterator[str]:
    """vLLM's log-probabilities in the place of the policy's own, without what corrects for the difference."""
    if (config.algorithm.get("rollout_correction") or {}).get("bypass_mode"):
        yield (
            "algorithm.rollout_correction.bypass_mode=true: verl's V1 trainer takes vLLM's log-probabilities for the "
            "policy's and leaves out the loss, the weights and the rejection that belong to it: set it to false "
            "(rollout_is and rollout_rs then correct as they say)."
        )


def _validation_problems(config: DictConfig) -> Iterator[str]:
    sampling, trainer = config.actor_rollout_ref.rollout.val_kwargs, config.trainer
    if not sampling.do_sample and sampling.temperature != 0:
        yield (
            f"actor_rollout_ref.rollout.val_kwargs.do_sample=false, but verl's V1 trainer reads the temperature alone "
            f"(actor_rollout_ref.rollout.val_kwargs.temperature={sampling.temperature}): set that to 0 for greedy "
            "validation."
        )
    if trainer.get("val_only") and not trainer.get("val_before_train", True):
        yield (
            "trainer.val_only=true with trainer.val_before_train=false would train: verl stops after the validation "
            "before the training; leave trainer.val_before_train=true."
        )
    if trainer.resume_from_path is not None and trainer.resume_mode != "resume_path":
        yield (
            f"trainer.resume_from_path={trainer.resume_from_path}: read with trainer.resume_mode=resume_path alone: "
            "set that, or leave it out."
        )
    if trainer.critic_warmup > 0 and not config.critic.enable:
        yield (
            f"trainer.critic_warmup={trainer.critic_warmup}: there is no critic (critic.enable=false), and the policy "
            "would not be updated in these steps; set it to 0."
        )


def untried(config: DictConfig) -> Iterator[str]:
    """What a run has that no check here has tried, a sentence each."""
    said = "no check here tries it, and no test of ours trains with it"
    rollout = config.actor_rollout_ref.rollout
    if rollout.multi_turn.enable or rollout.agent.default_agent_loop != "single_turn_agent":
        of_loop = f"agent.default_agent_loop={rollout.agent.default_agent_loop}"
        key = "multi_turn.enable=true" if rollout.multi_turn.enable else of_loop
        yield f"actor_rollout_ref.rollout.{key} is not tried here: {said}."
    if config.reward.reward_model.enable:
        yield f"reward.reward_model.enable=true is not tried here: {said}, nor does `pacs plan` count its GPUs."
    if config.reward.reward_manager.source == "importlib":
        yield f"reward.reward_manager.name={config.reward.reward_manager.name} is imported, but not called here."
    if config.reward.custom_reward_function.path is None:
        yield (
            "reward.custom_reward_function.path=null: verl's own verifiers are not tried here; they know the sources "
            "of verl's examples by data_source, and fail on others."
        )


def _set_keys(section: object, prefix: str) -> Iterator[str]:
    """The keys of a section that have a value."""
    if isinstance(section, DictConfig):
        for name, below in section.items():
            yield from _set_keys(below, f"{prefix}.{name!s}")
    elif section is not None and not (isinstance(section, ListConfig) and not section):
        yield prefix


def _text(value: object) -> str:
    """As one writes it on the command line."""
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)
