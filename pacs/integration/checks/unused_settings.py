"""Settings of verl's losses and advantages that a run would not read, so that a change of them would do nothing."""

import json
from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

_ACTOR, _ALGORITHM = "actor_rollout_ref.actor", "algorithm"
_CLIP = tuple(f"{_ACTOR}.clip_ratio{which}" for which in ("", "_low", "_high"))
_DUAL = f"{_ACTOR}.clip_ratio_c"
_COVARIANCES = tuple(f"{_ACTOR}.policy_loss.clip_cov_{which}" for which in ("ratio", "lb", "ub"))
_BY_STD = f"{_ALGORITHM}.norm_adv_by_std_in_grpo"
_AGGREGATION, _SCALE = f"{_ACTOR}.loss_agg_mode", f"{_ACTOR}.loss_scale_factor"

#: Setting -> the values that one who does not mean to use it leaves it at: verl's, and of a term's weight 0.
LEFT_AS_THEY_ARE: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(_CLIP, (0.2,)),
    _DUAL: (3.0,),
    f"{_ACTOR}.tau_pos": (1.0,),
    f"{_ACTOR}.tau_neg": (1.05,),
    **dict(zip(_COVARIANCES, ((0.0002,), (1.0,), (5.0,)), strict=True)),
    f"{_ACTOR}.policy_loss.kl_cov_ratio": (0.0002,),
    f"{_ACTOR}.policy_loss.ppo_kl_coef": (0.1, 0),
    f"{_ACTOR}.policy_loss.dro_beta": (None,),
    f"{_ACTOR}.kl_loss_coef": (0.001, 0),
    f"{_ACTOR}.kl_loss_type": ("low_var_kl",),
    f"{_ALGORITHM}.kl_ctrl.kl_coef": (0.001, 0),
    f"{_ALGORITHM}.kl_ctrl.type": ("fixed",),
    f"{_ALGORITHM}.kl_ctrl.horizon": (10000,),
    f"{_ALGORITHM}.kl_ctrl.target_kl": (0.1,),
    f"{_ALGORITHM}.kl_penalty": ("kl",),
    f"{_ALGORITHM}.gamma": (1.0,),
    f"{_ALGORITHM}.lam": (1.0,),
    _BY_STD: (True,),
    _SCALE: (None,),
}
#: verl's losses, and what each reads beside the way its tokens are added up; others than these are not judged.
OF_LOSSES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("vanilla", "dppo_tv", "dppo_kl"), (*_CLIP, _DUAL)),
    **dict.fromkeys(("gspo", "cispo"), _CLIP),
    "clip_cov": (*_CLIP, *_COVARIANCES),
    "kl_cov": (f"{_ACTOR}.policy_loss.kl_cov_ratio", f"{_ACTOR}.policy_loss.ppo_kl_coef"),
    "sapo": (f"{_ACTOR}.tau_pos", f"{_ACTOR}.tau_neg"),
    "dro": (f"{_ACTOR}.policy_loss.dro_beta",),
    "gpg": (),
}
#: verl's estimators, and what each reads.
OF_ESTIMATORS: dict[str, tuple[str, ...]] = {
    "gae": (f"{_ALGORITHM}.gamma", f"{_ALGORITHM}.lam"),
    "reinforce_plus_plus": (f"{_ALGORITHM}.gamma",),
    **dict.fromkeys(("grpo", "grpo_passk"), (_BY_STD,)),
    # verl passes the setting on to the two above alone, so that grpo_vectorized always divides.
    **dict.fromkeys(("grpo_vectorized", "rloo", "rloo_vectorized", "opo", "gpg", "reinforce_plus_plus_baseline"), ()),
}
#: What switches a KL term on, and what that term reads.
OF_SWITCHES = {
    f"{_ACTOR}.use_kl_loss": (f"{_ACTOR}.kl_loss_coef", f"{_ACTOR}.kl_loss_type"),
    f"{_ALGORITHM}.use_kl_in_reward": tuple(
        f"{_ALGORITHM}.{key}" for key in ("kl_ctrl.kl_coef", "kl_ctrl.type", "kl_penalty")
    ),
}
#: What the adaptive controller of the KL term's coefficient reads.
OF_ADAPTIVE = tuple(f"{_ALGORITHM}.kl_ctrl.{key}" for key in ("horizon", "target_kl"))
#: The one way in which sapo adds up its tokens.
OF_SAPO = "seq-mean-token-mean"
#: The way that `loss_scale_factor` is of.
OF_SCALE = "seq-mean-token-sum-norm"


def changed(config: DictConfig, keys: tuple[str, ...]) -> dict[str, str]:
    """Those of the settings that are not left as they are: what they are, as one writes it."""
    found = {key: OmegaConf.select(config, key) for key in keys}
    ratio = found.get(_CLIP[0])
    return {
        key: _written(value)
        for key, value in found.items()
        if value not in LEFT_AS_THEY_ARE[key] and not (key in _CLIP[1:] and value == ratio)  # they follow clip_ratio
    }


def unread_problems(config: DictConfig) -> Iterator[str]:
    """What is set and not read by the loss and the advantages of one of verl's algorithms, a sentence each."""
    loss, estimator = config.actor_rollout_ref.actor.policy_loss.loss_mode, config.algorithm.adv_estimator
    for kind, name, table in (("loss", loss, OF_LOSSES), ("estimator", estimator, OF_ESTIMATORS)):
        others = dict.fromkeys(key for keys in table.values() for key in keys if key not in table.get(name, keys))
        for key, value in changed(config, tuple(others)).items():
            yield f"{key}={value}: verl's {kind} {name} does not read it: leave it out, or {_set_back(key)}."
    for switch, keys in OF_SWITCHES.items():
        if not OmegaConf.select(config, switch):
            for key, value in changed(config, keys).items():
                yield f"{key}={value}: read with {switch}=true alone: set that, or {_set_back(key)}."
    controller = OmegaConf.select(config, f"{_ALGORITHM}.kl_ctrl.type")
    if controller != "adaptive":
        for key, value in changed(config, OF_ADAPTIVE).items():
            yield f"{key}={value}: read with {_ALGORITHM}.kl_ctrl.type=adaptive alone: {_set_back(key)}."
    way, actor = OmegaConf.select(config, _AGGREGATION), config.actor_rollout_ref.actor
    # The terms of KL and entropy are added up as it says, whatever the loss is.
    if loss == "sapo" and way != OF_SAPO and not (actor.use_kl_loss or actor.entropy_coeff):
        yield f"{_AGGREGATION}={way}: verl's loss sapo takes {OF_SAPO} whatever this says: set it to that."
    elif way != OF_SCALE:
        for key, value in changed(config, (_SCALE,)).items():
            yield f"{key}={value}: read with {_AGGREGATION}={OF_SCALE} alone: set that, or {_set_back(key)}."


def _set_back(key: str) -> str:
    return f"set this back to {_written(LEFT_AS_THEY_ARE[key][0])}"


def _written(value: object) -> str:
    """As one writes it on the command line."""
    return value if isinstance(value, str) else json.dumps(value, default=str)
