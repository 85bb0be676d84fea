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
    if trainer.critic_warmup > 0 and not config.critic.enable:
        yield (
            f"trainer.critic_warmup={trainer.critic_warmup}: there is no critic (critic.enable=false), and the policy "
            "would not be updated in these steps; set it to 0."
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
