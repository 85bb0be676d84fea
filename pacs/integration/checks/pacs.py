"""What our methods' trainer needs of a config: sound settings, and a reference that can be copied."""

from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from pacs.algorithm import Method, Pacs
from pacs.algorithm.aggregated import Aggregated
from pacs.algorithm.carried import rank_stride
from pacs.algorithm.distillation import TEACHER
from pacs.algorithm.oar import SENSITIVITY
from pacs.algorithm.vineppo import STEP, STEP_VALUE
from pacs.integration.checks.batch import QUANTIZED_ROLLOUTS, batch_problems, cut_sampling
from pacs.integration.checks.switches import LEFT_AS_THEY_ARE, Only, changed, other_than
from pacs.integration.checks.teacher import teacher_problem
from pacs.integration.checks.wording import full_name, spelled
from pacs.integration.exchange import SLOPES
from pacs.integration.schema import method_in
from pacs.integration.strategy import wanted, why_not_grouped
from pacs.verl_keys import config as keys

#: Settings of FSDP that policy and reference must share: the reference is the policy's copy, shard by shard, and
#: where they agree every log-ratio must be 0.
SHARED_WITH_REFERENCE = (
    "fsdp_config.fsdp_size", "fsdp_config.model_dtype", "fsdp_config.dtype", "fsdp_config.mixed_precision",
    "fsdp_config.ulysses_sequence_parallel_size", "ulysses_sequence_parallel_size",
)  # fmt: skip
#: What names verl's advantages and losses, with the values of the shipped config: our methods have neither.
VERLS = {
    "algorithm.adv_estimator": "pacs",
    "actor.policy_loss.loss_mode": "vanilla",
    "actor.loss_agg_mode": "token-mean",
}
#: The values of a response's steps (`run.rollouts.vine`, `genac`).
VALUED = (STEP, STEP_VALUE)
#: What may be read of each token (`Method.reads`): of vLLM, of verl's pass of log pi_old, of completions, of a teacher.
STREAMS = ("rollout_log_probs", "old_log_probs", "entropy", *VALUED, TEACHER)
#: Streams of the laboratory alone, and what they are.
OF_THE_LABORATORY = {
    "hidden_states": "the hidden state of each token of the batch, several times over",
    SENSITIVITY: "a gradient at the embeddings of each response",
}
#: By which vLLM would sample from a policy of fewer bits than is trained, or the policy differ from its own copy.
QUANTIZED = (
    *QUANTIZED_ROLLOUTS, "rollout.quantization_config_file", "rollout.qat.enable", "actor.qat.enable",
    "actor.fsdp_config.qat.enable", "ref.fsdp_config.qat.enable",
)  # fmt: skip
_KL = "verl's KL terms are no part of this method (PACS's score is itself the ratio to the reference)"
_BITS = (
    "the responses would be another policy's than the trained one, which method.update.correction.kind=truncate makes "
    "up for, and nothing else"
)
#: Settings of verl that our methods would not heed -> the values that they may have, and why no other.
NOT_HEEDED: Only = {
    "actor.use_kl_loss": ((False,), _KL),
    "algorithm.use_kl_in_reward": ((False,), _KL),
    "actor.entropy_coeff": ((0,), "this method's loss has no entropy term (method.metrics.entropy_every logs it)"),
    "actor.shuffle": ((False,), "it would tear groups apart; data.shuffle shuffles, and groups are dealt out anew"),
    "reward.reward_kwargs.overlong_buffer_cfg.enable": (
        (False,),
        "verl's punishment of length leaves rewards below 0, which are no labels (run.reward.overlong.weight is ours: "
        "docs/rewards.md)",
    ),
    "algorithm.rollout_correction.rollout_is_batch_normalize": (
        (False,),
        "this method's weights are not divided by their mean (method.update.correction has what it does with them)",
    ),
    "critic.enable": ((False,), "this method has no critic"),
}


@spelled
def pacs_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config of our methods' trainer, a sentence each with the setting and the mend."""
    try:
        method = method_in(config)
    except ValueError as error:
        yield str(error)
        return
    least, n, reference = method.smallest_group, config.actor_rollout_ref.rollout.n, method.reference
    if n < least:
        otherwise = ""
        if isinstance(method, Pacs):
            keep = method.model_copy(update={"single_class_groups": "keep"}).smallest_group <= n
            otherwise = ", or set method.single_class_groups=keep" if keep else ", or set another method.estimator"
        yield (
            f"@rollout.n=: what is learned from the responses to a prompt takes at least {least} of them with these "
            f"settings; sample more (the paper: 8){otherwise}."
        )
        return
    if method.compares_with_sampler and reference.reset_every != 1:
        weight, who = method.token_weight, str(config.method.name)
        if weight.chosen is not None and weight.chosen.PENALIZES:
            who = f"method.token_weight.name={weight.name}"
        yield (
            f"@method.reference.reset_every=: {who} compares with the policy that sampled, which is the "
            "reference where it is reset in every step: leave it out, so that it is 1."
        )
    if reference.reset_at_saturation is not None and not isinstance(method, Pacs):
        yield (
            f"@method.reference.reset_at_saturation=: {config.method.name} has no scores that could be saturated, so "
            "that it would never reset: leave it out, or use method.reference.reset_at_log_ratio."
        )
    if (problem := teacher_problem(method)) is not None:
        yield problem
    yield from _token_problems(config, method)
    yield from _reference_problems(config)
    named = [name for name, value in VERLS.items() if OmegaConf.select(config, full_name(name)) != value]
    if unread := [*named, *changed(config, LEFT_AS_THEY_ARE)]:
        yield (
            f"{', '.join(f'@{name}=' for name in unread)}: this method reads nothing of verl's advantages and losses "
            "(its own settings are under method.): leave that out, or choose another method by --config-name."
        )
    yield from other_than(NOT_HEEDED, config)
    if not method.update.correction.active:
        yield from other_than(dict.fromkeys(QUANTIZED, ((None, False, "auto"), _BITS)), config)
    if (cut := cut_sampling(config)) is not None and _sampler_is_reference(method):
        longer = ", or a reference that is kept (method.reference.reset_every=5)" if isinstance(method, Pacs) else ""
        yield (
            f"{cut}: vLLM would sample from the likelier tokens alone, while log-probabilities are of all: the "
            f"reference of {config.method.name} would not be the policy that sampled. Leave it out (a temperature is "
            f"heeded on both sides){longer}."
        )
    batches = list(batch_problems(config))
    yield from batches or _strategy_problems(config)


@spelled
def pacs_warnings(config: DictConfig) -> Iterator[str]:
    """What is allowed in a sound config of our methods' trainer and does something else than its reader may think."""
    method = method_in(config)
    if (cut := cut_sampling(config)) is not None and not _sampler_is_reference(method):
        yield (
            f"{cut}: responses are sampled from the likelier tokens alone, while log-probabilities are of the whole "
            "policy: no response is trained on that has a token that was cut off."
        )
    if method.reference.reset_every == 1 and method.reference.reset_optimizer:
        updates = "every update" if _makes_one_update(config) else "the first update of each step"
        yield (
            "method.reference.reset_every=1 with method.reference.reset_optimizer=true forgets Adam's moments in every "
            f"step: {updates} then moves each weight by the learning rate along its gradient's sign, however small "
            "the gradient. method.reference.reset_optimizer=false keeps them, as the default does."
        )


def _makes_one_update(config: DictConfig) -> bool:
    """Whether a step has one mini-batch, and goes over it once."""
    return keys.prompts_per_step(config) == keys.prompts_per_update(config) and keys.epochs_per_step(config) == 1


def _sampler_is_reference(method: Method) -> bool:
    """Whether the method's ratios are meant to be to the policy that sampled: of PACS, with a reset in every step."""
    return method.compares_with_sampler or (isinstance(method, Pacs) and method.reference.reset_every == 1)


def _correction_setting(method: Method) -> str:
    """What asks for a correction, as it stands in a message."""
    return "@method.update.correction." + ("kind=" if method.update.correction.kind is not None else "sequence_cap=")


def _token_problems(config: DictConfig, method: Method) -> Iterator[str]:
    """What is needed of each token, and would not be there."""
    rollout, name, weight = config.actor_rollout_ref.rollout, config.method.name, method.token_weight.chosen
    of_weight = () if weight is None else weight.reads
    by_vllm = []
    if method.update.correction.active:
        by_vllm.append(_correction_setting(method))
        if method.reference.reset_every != 1:
            yield (
                f"{by_vllm[0]}: its weights are of the policy that was sent to vLLM, which is kept where it is the "
                "reference alone: set method.reference.reset_every=1, or leave the correction out."
            )
    if "rollout_log_probs" in of_weight:
        by_vllm.append("@method.token_weight.name=")
        if keys.guides(config):
            yield (
                "@method.token_weight.name= weighs a token by the probability that vLLM gave it, which of a retry is "
                "that behind its guidance (@run.rollouts.guided.after=): choose another weight, or leave out either."
            )
    for who in by_vllm:
        if not rollout.calculate_log_probs:
            yield f"{who} needs vLLM's own log-probabilities: set @rollout.calculate_log_probs=true."
        elif rollout.logprobs_mode != "processed_logprobs":
            mend = "set @rollout.logprobs_mode=processed_logprobs"
            yield f"{who}: vLLM's log-probabilities are to be those that it sampled with: {mend}."
    if weight is not None and weight.PENALIZES and _makes_one_update(config) and not keys.trains_completions(config):
        yield (
            "@method.token_weight.name= penalizes what has moved from the policy that sampled, and before a step's one "
            "update nothing has: lower @actor.ppo_mini_batch_size= (prompts of an update), or raise @actor.ppo_epochs=."
        )
    if SLOPES in of_weight and config.actor_rollout_ref.model.use_fused_kernels:
        mend = "set @model.use_fused_kernels=false, or method.token_weight.steer.form=public"
        yield f"@method.token_weight.steer.form= reads logits, which a fused head does not keep: {mend}."
    if set(VALUED) <= set(method.READS) and not (keys.values_steps(config) or keys.has_generative_critic(config)):
        yield (
            f"@method.name={name}: its advantages are of values of a response's steps, which nothing gives: set "
            "run.rollouts.vine.completions to how many completions value a step (the authors: 9)."
        )
    for stream, what in OF_THE_LABORATORY.items():
        if stream in of_weight:
            yield (
                f"@method.token_weight.name= needs {what}, which none of verl's passes gives: choose another weight "
                "(the laboratory has this one)."
            )
    shared = keys.sequence_parallel_size(config)
    if rank_stride(method) is not None and shared > 1:
        who = "@method.metrics.effective_rank_every="
        if "effective_rank" in of_weight:
            who = "@method.token_weight.name="
        yield (
            f"{who} takes the rank of a response's hidden states, of which each GPU would have a part "
            f"(@actor.ulysses_sequence_parallel_size={shared}): set that to 1, or leave it out."
        )
    for stream in method.READS:
        reads = f"method.name={name} reads {stream}"
        if stream not in STREAMS:
            yield f"{reads} of each token, which this trainer does not make; there are {', '.join(STREAMS)}."
        elif stream == "rollout_log_probs" and not rollout.calculate_log_probs:
            yield f"{reads}: set @rollout.calculate_log_probs=true."
    if isinstance(method, Aggregated) and method.aggregation.endswith("norm") and method.max_response_tokens is None:
        yield (
            "@method.aggregation= divides by the most tokens that a response may have: set "
            "method.max_response_tokens=${data.max_response_length}."
        )


def _reference_problems(config: DictConfig) -> Iterator[str]:
    actor, ref = config.actor_rollout_ref.actor, config.actor_rollout_ref.ref
    if ref.strategy != actor.strategy:
        yield "@ref.strategy= is not the actor's: leave it out, so that it follows the actor's."
    for key in SHARED_WITH_REFERENCE:
        theirs = OmegaConf.select(actor, key)
        if theirs != OmegaConf.select(ref, key):
            copy = "the reference is the policy's copy; leave it out, so that it follows the actor's"
            yield f"@ref.{key}= is not the actor's ({theirs}): {copy}."


def _strategy_problems(config: DictConfig) -> Iterator[str]:
    """Whole groups must fit where they are asked for."""
    n, longest = keys.most_responses(config), keys.longest_sequence_tokens(config)
    obstacle = why_not_grouped(config, n * longest) if wanted(config) == "grouped" else None
    if obstacle is not None and method_in(config).whole_mini_batch:
        yield f"method.update.strategy=grouped, but {obstacle}: use cached, or auto, which takes that by itself."
    elif obstacle is not None:
        yield (
            f"method.update.strategy=grouped, but {obstacle}: change that (a group has {n} responses of up to "
            f"{longest} tokens with their prompt), or use method.update.strategy=auto, which is as exact."
        )
