"""What our methods' trainer needs of a config: sound settings, and a reference that can be copied."""

from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from pacs.algorithm import Method, Pacs
from pacs.algorithm.aggregated import Aggregated
from pacs.integration.checks.batch import batch_problems
from pacs.integration.checks.rollout import cut_sampling
from pacs.integration.checks.unused_settings import LEFT_AS_THEY_ARE, changed
from pacs.integration.schema import method_in
from pacs.integration.strategy import wanted, why_not_grouped
from pacs.verl_keys.config import (
    epochs_per_step,
    longest_sequence_tokens,
    most_responses,
    prompts_per_step,
    prompts_per_update,
)

#: Settings of FSDP that policy and reference must share: the reference is the policy's copy, shard by shard, and
#: where they agree every log-ratio must be 0.
SHARED_WITH_REFERENCE = ("fsdp_size", "model_dtype", "dtype", "mixed_precision", "ulysses_sequence_parallel_size")


#: What names verl's advantages and losses, with the values of the shipped config: our methods have neither.
VERLS = {
    "algorithm.adv_estimator": "pacs",
    "actor_rollout_ref.actor.policy_loss.loss_mode": "vanilla",
    "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
}
#: What a method may read of each token (`Method.READS`): by vLLM, and by verl's pass of log pi_old.
STREAMS = ("rollout_log_probs", "old_log_probs", "entropy")
#: By which vLLM would sample from a policy of fewer bits than is trained, or the policy differ from its own copy.
QUANTIZED = (
    "actor_rollout_ref.rollout.quantization",
    "actor_rollout_ref.rollout.quantization_config_file",
    "actor_rollout_ref.rollout.qat.enable",
    "actor_rollout_ref.rollout.engine_kwargs.vllm.quantization",
    "actor_rollout_ref.rollout.engine_kwargs.vllm.kv_cache_dtype",
    "actor_rollout_ref.actor.qat.enable",
    "actor_rollout_ref.actor.fsdp_config.qat.enable",
    "actor_rollout_ref.ref.fsdp_config.qat.enable",
)


def pacs_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config of our methods' trainer, a sentence each with the setting and the mend."""
    try:
        method = method_in(config)
    except ValueError as error:
        yield str(error)
        return
    least, n = method.smallest_group, config.actor_rollout_ref.rollout.n
    if n < least:
        otherwise = ""
        if isinstance(method, Pacs):
            keep = method.model_copy(update={"single_class_groups": "keep"}).smallest_group <= n
            otherwise = ", or set method.single_class_groups=keep" if keep else ", or set another method.estimator"
        yield (
            f"actor_rollout_ref.rollout.n={n}: what is learned from the responses to a prompt takes at least "
            f"{least} of them with these settings; sample more (the paper: 8){otherwise}."
        )
        return
    if method.compares_with_sampler and method.reference.reset_every != 1:
        given = "null" if method.reference.reset_every is None else method.reference.reset_every
        yield (
            f"method.reference.reset_every={given}: {config.method.name} compares with the policy that sampled, which "
            "is the reference where it is reset in every step: leave it out, so that it is 1."
        )
    if method.reference.reset_at_saturation is not None and not isinstance(method, Pacs):
        yield (
            f"method.reference.reset_at_saturation={method.reference.reset_at_saturation}: {config.method.name} has no "
            "scores that could be saturated, so that it would never reset: leave it out, or use "
            "method.reference.reset_at_log_ratio."
        )
    yield from _token_problems(config, method)
    yield from _reference_problems(config)
    yield from _ignored_settings(config)
    if (cut := cut_sampling(config)) is not None and _sampler_is_reference(method):
        longer = ", or a reference that is kept (method.reference.reset_every=5)" if isinstance(method, Pacs) else ""
        yield (
            f"{cut}: vLLM would sample from the likelier tokens alone, while log-probabilities are of all: the "
            f"reference of {config.method.name} would not be the policy that sampled. Leave it out (a temperature is "
            f"heeded on both sides){longer}."
        )
    batches = list(batch_problems(config))
    yield from batches
    if not batches:
        yield from _strategy_problems(config)


def pacs_warnings(config: DictConfig) -> Iterator[str]:
    """What is allowed in a sound config of our methods' trainer and does something else than its reader may think."""
    method = method_in(config)
    reference, cut = method.reference, cut_sampling(config)
    if cut is not None and not _sampler_is_reference(method):
        yield (
            f"{cut}: responses are sampled from the likelier tokens alone, while log-probabilities are of the whole "
            "policy: no response is trained on that has a token that was cut off."
        )
    if reference.reset_every == 1 and reference.reset_optimizer:
        alone = prompts_per_step(config) == prompts_per_update(config) and epochs_per_step(config) == 1
        updates = "every update" if alone else "the first update of each step"
        yield (
            "method.reference.reset_every=1 with method.reference.reset_optimizer=true forgets Adam's moments in every "
            f"step: {updates} then moves each weight by the learning rate along its gradient's sign, however small "
            "the gradient. method.reference.reset_optimizer=false keeps them, as the default does."
        )


def _sampler_is_reference(method: Method) -> bool:
    """Whether the method's ratios are meant to be to the policy that sampled: of PACS, with a reset in every step."""
    return method.compares_with_sampler or (isinstance(method, Pacs) and method.reference.reset_every == 1)


def _token_problems(config: DictConfig, method: Method) -> Iterator[str]:
    """What is needed of each token, and would not be there."""
    by_engine = config.actor_rollout_ref.rollout.calculate_log_probs
    kind = method.update.correction.kind
    if kind is not None and method.reference.reset_every != 1:
        yield (
            f"method.update.correction.kind={kind}: its weights are of the policy that was sent to vLLM, which is kept "
            "where it is the reference alone: set method.reference.reset_every=1, or leave the correction out."
        )
    if kind is not None and not by_engine:
        yield (
            f"method.update.correction.kind={kind} needs vLLM's own log-probabilities: set "
            "actor_rollout_ref.rollout.calculate_log_probs=true."
        )
    if kind is not None and by_engine and config.actor_rollout_ref.rollout.logprobs_mode != "processed_logprobs":
        yield (
            f"method.update.correction.kind={kind}: vLLM's log-probabilities are to be those that it sampled with: set "
            "actor_rollout_ref.rollout.logprobs_mode=processed_logprobs."
        )
    for name in method.READS:
        if name not in STREAMS:
            yield (
                f"method.name={config.method.name} reads {name} of each token, which this trainer does not make; there "
                f"are {', '.join(STREAMS)}."
            )
        elif name == "rollout_log_probs" and not by_engine:
            yield (
                f"method.name={config.method.name} reads rollout_log_probs: set "
                "actor_rollout_ref.rollout.calculate_log_probs=true."
            )
    if isinstance(method, Aggregated) and method.aggregation.endswith("norm") and method.max_response_tokens is None:
        yield (
            f"method.aggregation={method.aggregation} divides by the most tokens that a response may have: set "
            "method.max_response_tokens=${data.max_response_length}."
        )


def _reference_problems(config: DictConfig) -> Iterator[str]:
    actor, ref = config.actor_rollout_ref.actor, config.actor_rollout_ref.ref
    if ref.strategy != actor.strategy:
        yield (
            f"actor_rollout_ref.ref.strategy={ref.strategy} is not the actor's: leave it out, so that it follows the "
            "actor's."
        )
    for key in SHARED_WITH_REFERENCE:
        theirs, own = actor.fsdp_config.get(key), ref.fsdp_config.get(key)
        if theirs != own:
            yield (
                f"actor_rollout_ref.ref.fsdp_config.{key}={own} is not the actor's ({theirs}): the reference is the "
                "policy's copy; leave the reference's setting out, so that it follows the actor's."
            )
    model = config.actor_rollout_ref.model
    if model.lora_rank > 0 or model.lora.rank > 0 or model.lora_adapter_path is not None:
        why = (
            "no run of this trainer has been tried with LoRA, and `pacs export` takes no adapters"
            if OmegaConf.select(config, "method.reference.reset_every") == 1
            else "the reference would be the base model for ever, and could not be reset to the policy"
        )
        yield f"actor_rollout_ref.model.lora_rank: {why}: set lora_rank=0 and lora.rank=0."


def _ignored_settings(config: DictConfig) -> Iterator[str]:
    """Settings of verl that our methods would not heed."""
    found = {key: OmegaConf.select(config, key) for key in VERLS}
    named = [f"{key}={value}" for key, value in found.items() if value != VERLS[key]]
    changes = [f"{key}={value}" for key, value in changed(config, tuple(LEFT_AS_THEY_ARE)).items()]
    if unread := [*named, *changes]:
        yield (
            f"{', '.join(unread)}: this method reads nothing of verl's advantages and losses (its own settings are "
            "under method.): leave that out, or choose another method by --config-name."
        )
    actor, algorithm = config.actor_rollout_ref.actor, config.algorithm
    if actor.use_kl_loss or config.algorithm.use_kl_in_reward:
        yield (
            "actor_rollout_ref.actor.use_kl_loss or algorithm.use_kl_in_reward is true: verl's KL terms are "
            "no part of this method (PACS's score is itself the ratio to the reference); set both to false."
        )
    if actor.entropy_coeff != 0:
        yield (
            f"actor_rollout_ref.actor.entropy_coeff={actor.entropy_coeff}: this method's loss has no entropy "
            "term; set it to 0 (the entropy is logged anyway, method.metrics.entropy_every)."
        )
    if actor.shuffle:
        yield (
            "actor_rollout_ref.actor.shuffle=true would tear groups apart; set it to false (the data is shuffled by "
            "data.shuffle, and groups are dealt out to mini-batches anew each step)."
        )
    if OmegaConf.select(config, "reward.reward_kwargs.overlong_buffer_cfg.enable"):
        yield (
            "reward.reward_kwargs.overlong_buffer_cfg.enable=true: a punishment of length is no label of right or "
            "wrong, which this method trains on: set it to false."
        )
    correction = algorithm.get("rollout_correction") or {}
    if correction.get("rollout_is") or correction.get("rollout_rs"):
        yield (
            "algorithm.rollout_correction is set: this method takes none of verl's importance weights; set rollout_is "
            "and rollout_rs to null."
        )
    for key in QUANTIZED:
        if (value := OmegaConf.select(config, key)) not in (None, False, "auto"):
            yield (
                f"{key}={value}: the responses would be another policy's than the one that is trained, and this method "
                "has no importance weights that correct for the difference: leave it out."
            )
    if config.critic.enable:
        yield "critic.enable=true: this method has no critic; set it to false."


def _strategy_problems(config: DictConfig) -> Iterator[str]:
    """Whole groups must fit where they are asked for."""
    n = most_responses(config)
    if wanted(config) == "grouped":
        obstacle = why_not_grouped(config, n * longest_sequence_tokens(config))
        if method_in(config).whole_mini_batch:
            yield f"method.update.strategy=grouped, but {obstacle}: use cached, or auto, which takes that by itself."
        elif obstacle is not None:
            yield (
                f"method.update.strategy=grouped, but {obstacle}: change that (a group has {n} responses of up to "
                f"{longest_sequence_tokens(config)} tokens with their prompt), or use method.update.strategy=auto, "
                "which is as exact."
            )
