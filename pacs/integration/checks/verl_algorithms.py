"""What verl's own algorithms need of a config, where verl itself would go wrong late or without a word."""

from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

from pacs.algorithm import METHODS
from pacs.base.errors import did_you_mean
from pacs.integration.checks.batch import QUANTIZED_ROLLOUTS, batch_problems, cut_sampling
from pacs.integration.checks.switches import OF_ESTIMATORS, OF_LOSSES, Only, other_than, unread_problems
from pacs.integration.checks.wording import spelled
from pacs.integration.schema import BASELINES
from pacs.verl_keys.config import data_parallel_size, longest_sequence_tokens

VERLS_CLIP_RATIO = 0.2
#: verl's settings of reward managers.
LENGTH = "reward.reward_kwargs"
#: Estimators of the primary configs that do not have GRPO's.
ESTIMATORS = {"ppo": "gae", "vcppo": "gae", "rloo": "rloo", "opo": "opo"}
#: verl's estimators that compare the responses to one prompt.
OF_GROUPS = (
    "grpo", "rloo", "opo", "grpo_passk", "grpo_vectorized", "rloo_vectorized", "reinforce_plus_plus_baseline",
)  # fmt: skip
#: Those of verl's that its V1 trainer cannot give what they read.
WITHOUT_INPUT = {
    "remax": "the reward of a greedy response (reward_baselines)",
    "optimal_token_baseline": "sum_pi_squared",
    "tir_optimal_token_baseline": "sum_pi_squared",
    "gdpo": "a score in parts (gdpo_reward_keys)",
}
#: verl's estimators that pass a reward on from token to token, and so lose that of a token outside the mask.
ALONG_TOKENS = ("gae", "reinforce_plus_plus")
#: verl's losses by the covariance of advantage and log-probability within a micro-batch. Of one response, whose tokens
#: have one advantage, all are 0 but for rounding (findings/verl_losses_change_with_the_micro_batches.sh).
OF_COVARIANCES = {
    "clip_cov": "it leaves out no token, and is PPO's plain loss,",
    "kl_cov": "it holds back a token of each response by chance",
}
#: Without a correction; QAT is verl's own way to train the policy that vLLM samples from.
UNCORRECTED: Only = dict.fromkeys(
    QUANTIZED_ROLLOUTS,
    (
        (None, False, "auto"),
        "the responses would be another policy's than the trained one, which "
        "algorithm.rollout_correction.rollout_is=token makes up for, and nothing else",
    ),
)
#: verl's losses that are not trained with here, and why.
REFUSED = {
    "geo_mean": "verl takes a plain mean over each micro-batch, so that the gradient depends on how rows are packed "
    "(twice too large where 16 rows were split into 4 and 12): use --config-name gspo, whose ratio is a response's",
    "bypass_mode": "verl's V1 trainer hands it none of the run's settings, and calculates vanilla by other defaults: "
    "leave it out, so that it is that of --config-name",
}


@spelled
def baseline_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config of `BaselineTrainer`, a sentence each with the setting and the mend."""
    if foreign := sorted(str(key) for key in config.get("method") or {}):
        readers = [name for name, method in METHODS.items() if foreign[0] in method.model_fields]
        whose = f"a setting of {', '.join(readers)}" if readers else "no setting"
        use = f", or use --config-name {readers[0]}" if readers else ""
        yield f"method.{foreign[0]} is {whose}, and @trainer.v1.trainer_mode= does not read it: leave it out{use}."
    if config.actor_rollout_ref.actor.policy_loss is None:
        yield "@actor.policy_loss=null: it is a section: leave it out, or set a key in it."
        return
    estimator = config.algorithm.adv_estimator
    if estimator in WITHOUT_INPUT:
        unknown = "which verl's V1 trainer does not calculate"
        yield f"@algorithm.adv_estimator= needs {WITHOUT_INPUT[estimator]}, {unknown}: leave it out."
    if estimator in OF_GROUPS and config.actor_rollout_ref.rollout.n < 2:
        yield f"@rollout.n=: {estimator} compares the responses to one prompt; sample at least 2 (the paper: 8)."
    rejections = str((config.algorithm.get("rollout_correction") or {}).get("rollout_rs") or "").split(",")
    if estimator in ALONG_TOKENS and any(mode.strip().startswith("token") for mode in rejections):
        yield (
            f"@algorithm.rollout_correction.rollout_rs= with {estimator}: where a response's last token is rejected, "
            "its reward is lost, and a right response is trained as a wrong one: use seq_mean_k1, or rollout_is=token "
            "with a band (0.5_5.0) for its threshold."
        )
    yield from _loss_problems(config)
    yield from unread_problems(config)
    yield from _length_problems(config)
    if (cut := cut_sampling(config)) is not None and not _corrects_sampling(config):
        yield (
            f"{cut}: vLLM would sample from the likelier tokens alone, while verl's ratios are to the policy with all: "
            "they would be no importance ratios. Leave it out (a temperature is heeded on both sides), or set "
            "algorithm.rollout_correction.rollout_is=token, whose weights are by vLLM's own log-probabilities."
        )
    if not _corrects_sampling(config):
        yield from other_than(UNCORRECTED, config)
    if estimator == "gae" and not config.critic.enable:
        yield "algorithm.adv_estimator=gae needs values: set critic.enable=true."
    if config.critic.enable and estimator in OF_ESTIMATORS and estimator != "gae":
        yield f"critic.enable=true: {estimator} reads no values, and a critic would train for nothing: set it to false."
    problems = list(batch_problems(config))
    yield from problems
    if config.critic.enable and not problems:
        yield from _critic_problems(config)


@spelled
def baseline_warnings(config: DictConfig) -> Iterator[str]:
    """Where a run goes by the name of one algorithm and has the loss or the advantages of another."""
    name = config.trainer.v1.trainer_mode
    if (cut := cut_sampling(config)) is not None:
        yield f"{cut}: the weights of algorithm.rollout_correction alone make up for what is never sampled."
    loss, estimator = config.actor_rollout_ref.actor.policy_loss.loss_mode, config.algorithm.adv_estimator
    says = f"is {name}'s, and the run's tables and model card say {name}: leave it out"
    if loss != (name if name in OF_LOSSES else "vanilla"):
        other = f", or use --config-name {loss}, which has its settings" if loss in BASELINES else ""
        yield f"@actor.policy_loss.loss_mode=: what is not set besides {says}{other}."
    if estimator != ESTIMATORS.get(name, "grpo"):
        yield f"@algorithm.adv_estimator=: all else {says}, so that it is that of --config-name."


def _length_problems(config: DictConfig) -> Iterator[str]:
    """DAPO's punishment of length is given over the last tokens of the longest response."""
    key, most, manager = f"{LENGTH}.overlong_buffer_cfg", f"{LENGTH}.max_resp_len", config.reward.reward_manager
    if not OmegaConf.select(config, f"{key}.enable"):
        return
    off = f"or set {key}.enable=false"
    needed = {name: OmegaConf.select(config, name) for name in (f"{key}.len", f"{key}.penalty_factor", most)}
    if manager.source == "register" and manager.name != "dapo":
        yield f"@{key}.enable=: @reward.reward_manager.name= does not read it: set that to dapo, {off}."
    elif lacking := [name for name, value in needed.items() if type(value) not in (int, float)]:
        yield f"@{lacking[0]}=: verl's punishment of length needs a number: set one, {off}."
    elif not 0 < needed[f"{key}.len"] <= needed[most]:
        yield f"@{key}.len= must be above 0 and at most @{most}=: leave it out, {off}."
    elif OmegaConf.select(config, f"{key}.log") is None:
        yield f"@{key}.log=: verl asks for it beside the others: set it to false, {off}."


def _corrects_sampling(config: DictConfig) -> bool:
    rollout, correction = config.actor_rollout_ref.rollout, config.algorithm.get("rollout_correction") or {}
    vllms = rollout.calculate_log_probs and rollout.logprobs_mode == "processed_logprobs"
    return bool(vllms and correction.get("rollout_is"))


def _loss_problems(config: DictConfig) -> Iterator[str]:
    """verl looks its loss up in a worker's first update, after a step of rollouts."""
    from verl.trainer.ppo.core_algos import POLICY_LOSS_REGISTRY

    actor, loss = config.actor_rollout_ref.actor, config.actor_rollout_ref.actor.policy_loss
    mode, named = loss.loss_mode, "@actor.policy_loss.loss_mode="
    if mode not in POLICY_LOSS_REGISTRY:
        hint = did_you_mean(str(mode), POLICY_LOSS_REGISTRY)
        yield f"{named}: verl knows no such loss; leave it out, so that it is that of --config-name.{hint}"
    if mode in REFUSED:
        yield f"{named}: {REFUSED[mode]}."
    if mode == "clip_cov" and not loss.clip_cov_lb < loss.clip_cov_ub:
        above = f"clip_cov_ub={loss.clip_cov_ub}, so that no token would be chosen"
        yield f"@actor.policy_loss.clip_cov_lb= is not below {above}: leave both out, or set a lower one."
    if (lone := _alone(config)) and mode in OF_COVARIANCES and config.algorithm.adv_estimator not in ALONG_TOKENS:
        yield f"{named}: {OF_COVARIANCES[mode]} where a micro-batch has one response: {lone}."
    if mode == "dro" and not (isinstance(loss.dro_beta, int | float) and loss.dro_beta > 0):
        weight = "its weight of the squared log-ratio"
        yield f"@actor.policy_loss.dro_beta=: verl's loss dro needs {weight}: set a number above 0."
    if actor.clip_ratio not in (VERLS_CLIP_RATIO, actor.clip_ratio_low, actor.clip_ratio_high):
        yield (
            f"@actor.clip_ratio= is not read beside clip_ratio_low={actor.clip_ratio_low} and clip_ratio_high="
            f"{actor.clip_ratio_high}: set those in its place."
        )
    if actor.loss_agg_mode == "seq-mean-token-sum-norm" and actor.loss_scale_factor is None:
        yield (
            "@actor.loss_scale_factor=null with loss_agg_mode=seq-mean-token-sum-norm: verl would divide each "
            "micro-batch by the longest response in it; set a constant, e.g. ${data.max_response_length}."
        )


def _alone(config: DictConfig) -> str:
    """What to change where each micro-batch has one response; nothing where it may have more."""
    actor, n = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout.n
    if actor.ppo_mini_batch_size * n <= data_parallel_size(config):
        return "raise @actor.ppo_mini_batch_size=, so that a rank has several"
    if not actor.use_dynamic_bsz and actor.ppo_micro_batch_size_per_gpu == 1:
        return "set @actor.use_dynamic_bsz=true, or raise @actor.ppo_micro_batch_size_per_gpu="
    return ""


def _critic_problems(config: DictConfig) -> Iterator[str]:
    critic, n, parts = config.critic, config.actor_rollout_ref.rollout.n, data_parallel_size(config)
    follows = "leave it out, so that it follows the policy's"
    budget_of = "ppo_infer_max_token_len_per_gpu"  # may not be there
    counts = ["ppo_mini_batch_size", "ppo_epochs", "fsdp.ulysses_sequence_parallel_size"]
    values = {name: OmegaConf.select(critic, name) for name in counts + [budget_of] * (budget_of in critic)}
    if wrong := [name for name, value in values.items() if type(value) is not int or value < 1]:
        yield f"@critic.{wrong[0]}= must be a whole number of at least 1: {follows}."
        return
    if critic.ppo_mini_batch_size * n % parts:
        dealt = f"prompts of rollout.n={n} responses cannot be dealt out to {parts} data-parallel ranks"
        yield f"@critic.ppo_mini_batch_size= {dealt}: {follows}."
    # The one of the three budgets in verl's config that its critic reads; 32,768 if it is not set.
    budget = critic.get(budget_of, 32768)
    shared, longest = int(critic.fsdp.ulysses_sequence_parallel_size), longest_sequence_tokens(config)
    if budget * shared < longest:
        yield (
            f"critic.ppo_infer_max_token_len_per_gpu={budget} (times the {shared} ranks that share a sequence) is "
            f"below the longest row, {longest} tokens: raise it to at least {-(-longest // shared)}, or {follows}."
        )
    if not critic.use_dynamic_bsz:
        of = "critic" if config.actor_rollout_ref.actor.use_dynamic_bsz else "actor"
        yield f"@{of}.use_dynamic_bsz=: verl's critic forms micro-batches by tokens alone; set it to true."
