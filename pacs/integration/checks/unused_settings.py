"""Settings of verl's losses and advantages that a run would not read, so that a change of them would do nothing."""

from collections.abc import Iterable, Iterator

from omegaconf import DictConfig, OmegaConf

from pacs.integration.checks.wording import full_name, spelled, written

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
    "algorithm.gamma": (1.0,), "algorithm.lam": (1.0,), _BY_STD: (True,), _SCALE: (None,),
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
