"""verl's keys of corrections (`algorithm.rollout_correction`) in a run of ours: other names of some of our own keys."""

from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError

VERLS, OURS = "algorithm.rollout_correction", "method.update.correction"
#: verl's keys that ours have a meaning for, and those of one who corrects nothing.
UNSET = {"rollout_is": None, "rollout_is_threshold": 2.0, "rollout_rs": None, "rollout_rs_threshold": None}
#: Ours, likewise.
OURS_UNSET = {"kind": None, "cap": 2.0, "lower": None, "sequence_cap": None, "sequence_lower": None}


def take_over(config: DictConfig) -> list[str]:
    """Write what verl's keys ask for as ours, in place, and set verl's back: all else of a run reads ours alone.

    Args:
        config: of one of our methods, composed.

    Returns:
        What stands for what, a sentence each; nothing where verl's keys ask for nothing.

    Raises:
        UserError: none of our keys means the same, or one of them is set to something else.
    """
    verls, ours = (OmegaConf.select(config, section) for section in (VERLS, OURS))
    if not (OmegaConf.is_dict(verls) and OmegaConf.is_dict(ours)):
        return []
    said = []
    for verls_names, meant in (
        (("rollout_is", "rollout_is_threshold"), _weights(verls)),
        (("rollout_rs", "rollout_rs_threshold"), _rejections(verls)),
    ):
        given = " ".join(f"{VERLS}.{name}={verls.get(name, UNSET[name])}" for name in verls_names)
        for name, value in meant.items():
            if ours.get(name) not in (value, OURS_UNSET[name]):
                shown = "null" if value is None else value
                raise UserError(f"{given} means {OURS}.{name}={shown}, but that is {ours[name]}: leave out one of them")
        if meant:
            words = [f"{OURS}.{name}={value}" for name, value in meant.items() if value is not None]
            said.append(f"{given} means {' '.join(words)}.")
            for section, values in ((OURS, meant), (VERLS, {name: UNSET[name] for name in verls_names})):
                for name, value in values.items():
                    OmegaConf.update(config, f"{section}.{name}", value, force_add=True)
    return said


def _weights(verls: Mapping[str, Any]) -> dict[str, Any]:
    """verl clamps a token's ratio to a number, and makes it 0 outside a band (IcePop)."""
    level = verls.get("rollout_is")
    if level is None:
        return {}
    if level != "token":
        nearest = f"use token, or {OURS}.kind=truncate"
        raise UserError(f"{VERLS}.rollout_is={level}: this method weighs tokens, each by its own ratio: {nearest}")
    lower, upper = _bounds(verls, "rollout_is_threshold", UNSET["rollout_is_threshold"])
    return {"kind": "truncate" if lower is None else "mask", "cap": upper, "lower": lower}


def _rejections(verls: Mapping[str, Any]) -> dict[str, Any]:
    """verl holds the mean of log mu/pi_old, the inverse of our ratio, between the logarithms of two bounds."""
    mode = verls.get("rollout_rs")
    if mode is None:
        return {}
    if mode != "seq_mean_k1":
        nearest = f"use seq_mean_k1, or {OURS}.sequence_cap, which leaves out responses by their mean log-ratio"
        if str(mode).startswith("token"):
            nearest = f"use {OURS}.kind=mask, which is {VERLS}.rollout_is=token with a band (0.5_5.0) for its threshold"
        raise UserError(f"{VERLS}.rollout_rs={mode} is none of this method's rejections: {nearest}")
    lower, upper = _bounds(verls, "rollout_rs_threshold", None)
    if lower is None:
        return {"sequence_cap": upper, "sequence_lower": None}
    return {"sequence_cap": 1 / lower, "sequence_lower": 1 / upper}


def _bounds(verls: Mapping[str, Any], name: str, default: float | None) -> tuple[float | None, float]:
    """Of verl's threshold: a number, or two as `lower_upper`."""
    given = verls.get(name, default)
    try:
        *lower, upper = map(float, str(given).split("_", 1))
        if any(bound <= 0 for bound in (*lower, upper)):
            raise ValueError
    except ValueError:
        shown = "null" if given is None else given
        mend = "use a ratio above 1, as 2.0, or two with _ between them, as 0.5_5.0"
        raise UserError(f"{VERLS}.{name}={shown}: {mend}") from None
    return (lower[0] if lower else None), upper
