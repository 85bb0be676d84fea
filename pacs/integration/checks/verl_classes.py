"""Settings that verl's own classes and builders refuse: they are made here, where nothing else has been started."""

import inspect
import warnings
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import torch
from hydra.errors import InstantiationException
from hydra.utils import get_class
from omegaconf import DictConfig, OmegaConf
from verl.experimental.agent_loop.agent_loop import _agent_loop_registry
from verl.experimental.reward_loop.reward_manager.registry import REWARD_MANAGER
from verl.trainer.config.algorithm import RolloutCorrectionConfig
from verl.trainer.ppo.rollout_corr_helper import compute_rollout_correction_and_rejection_mask
from verl.utils.config import omega_conf_to_dataclass
from verl.utils.import_utils import resolve_config_path
from verl.workers.config.optimizer import FSDPOptimizerConfig, build_optimizer

from pacs.base.errors import did_you_mean, one_line
from pacs.integration.checks.features import named_loops
from pacs.integration.checks.wording import spelled

#: Sections that a run makes into objects of verl's; the model's would be loaded with it.
SECTIONS = ("actor_rollout_ref.rollout", "actor_rollout_ref.actor", "algorithm")


@spelled
def class_problems(config: DictConfig) -> Iterator[str]:
    """What verl would refuse once a worker makes its objects, a sentence each with the setting and the mend."""
    parts = ("actor_rollout_ref.actor", *(("critic",) if config.critic.enable else ()))
    for section in (*SECTIONS, *parts[1:], "actor_rollout_ref.model"):
        if problems := list(_unknown_keys(OmegaConf.select(config, section), section)):
            yield from problems
            return
    for section in SECTIONS:
        yield from _object_problems(config, section)
    for part in parts:
        yield from _optimizer_problems(OmegaConf.select(config, f"{part}.optim"), f"{part}.optim")
    yield from _name_problems(config)
    yield from _correction_problems(config)


def _unknown_keys(section: DictConfig, at: str) -> Iterator[str]:
    """Keys that the class of a section, or of one in it, has no field for."""
    if "_target_" in section:
        known = {field.name for field in fields(get_class(section._target_))} | {"_target_"}
        for name in section:
            key = str(name)
            if key not in known:
                lacks = f"verl's {section._target_.rpartition('.')[2]} has no such setting, and would not read it"
                yield f"{at}.{key}={section[key]}: {lacks}: leave it out.{did_you_mean(key, known)}"
    for name, below in section.items():
        if isinstance(below, DictConfig):
            yield from _unknown_keys(below, f"{at}.{name!s}")


def _object_problems(config: DictConfig, section: str) -> Iterator[str]:
    try:
        with warnings.catch_warnings(action="ignore"):
            omega_conf_to_dataclass(OmegaConf.select(config, section))
    except InstantiationException as error:
        cause, key = error.__cause__ or error, str(error).rpartition("full_key: ")[2].strip() or section
        name = str(OmegaConf.select(config, f"{key}._target_")).rpartition(".")[2]
        yield f"{key}: verl's {name} refuses its settings ({one_line(cause)}): change what it names."


def _optimizer_problems(section: DictConfig, at: str) -> Iterator[str]:
    """The optimizer is made for two tiny parameters, and takes a step."""
    parameters = [torch.nn.Parameter(torch.ones(size)) for size in ((2,), (2, 2))]
    try:
        settings = omega_conf_to_dataclass(section)
        assert isinstance(settings, FSDPOptimizerConfig)
        optimizer = build_optimizer(parameters, settings)
        torch.stack([parameter.sum() for parameter in parameters]).sum().backward()
        optimizer.step()
    except ImportError as error:
        why = error.__cause__ or error
        yield f"@{at}.optimizer_impl=: {why}: install it, or use torch.optim."
    except AttributeError:
        known = [name for name, value in vars(import_module(section.optimizer_impl)).items() if inspect.isclass(value)]
        hint = did_you_mean(str(section.optimizer), known)
        yield f"@{at}.optimizer=: {section.optimizer_impl} has none of this name: use AdamW.{hint}"
    except Exception as error:  # an optimizer's own, whatever it is
        keys = ("optimizer", "lr", "weight_decay", "betas", "override_optimizer_config")
        named = ", ".join(f"@{at}.{key}=" for key in keys)
        yield f"{named}: the optimizer refuses that ({one_line(error)}): change it, or leave it out."
    else:
        reads = "adam" in section.optimizer.lower() or "ademamix" in section.optimizer.lower()
        if not reads and tuple(section.betas) != FSDPOptimizerConfig.betas:
            mend = f"leave it out, or set what {section.optimizer} takes in {at}.override_optimizer_config"
            yield f"@{at}.betas=: verl gives them to optimizers of Adam's kind alone: {mend}."


def _name_problems(config: DictConfig) -> Iterator[str]:
    """Names that verl looks up in a worker."""
    manager, agent = config.reward.reward_manager, config.actor_rollout_ref.rollout.agent
    if manager.source == "register" and manager.name not in REWARD_MANAGER:
        known, hint = ", ".join(REWARD_MANAGER), did_you_mean(str(manager.name), REWARD_MANAGER)
        yield f"@reward.reward_manager.name=: verl knows no such manager; use one of {known}.{hint}"
    if manager.source not in ("register", "importlib"):
        yield "@reward.reward_manager.source=: use register, or importlib for one of your own."
    for key in ("agent.agent_loop_config_path", "multi_turn.tool_config_path", "multi_turn.function_tool_path"):
        try:
            resolve_config_path(OmegaConf.select(config.actor_rollout_ref.rollout, key) or ".")
        except FileNotFoundError:
            yield f"@rollout.{key}=: no such file here, nor beside verl: give its whole path."
    loops = set(_agent_loop_registry)
    if agent.agent_loop_config_path:
        try:
            of_file = named_loops(Path(resolve_config_path(agent.agent_loop_config_path)))
        except FileNotFoundError:  # said above
            return
        if of_file is None:
            form = "it is to be YAML, a list of agent loops, each with a name and a _target_ (its class)"
            yield f"@rollout.agent.agent_loop_config_path=: {form}."
            return
        loops |= of_file
    if agent.default_agent_loop not in loops:
        named = f"{', '.join(sorted(loops))}, or name the file of yours (agent_loop_config_path)"
        yield f"@rollout.agent.default_agent_loop=: verl knows no such loop; use one of {named}."


def _correction_problems(config: DictConfig) -> Iterator[str]:
    """verl reads the settings of its correction in a step's first pass over the responses."""
    correction, at = config.algorithm.get("rollout_correction") or {}, "algorithm.rollout_correction"
    known = {field.name: field.default for field in fields(RolloutCorrectionConfig)}
    for name in correction:
        if name not in known:
            hint = did_you_mean(str(name), known)
            yield f"@{at}.{name}=: verl has no such setting, and would not read it: leave it out.{hint}"
    for name in ("rollout_is", "rollout_rs"):
        threshold = f"{name}_threshold"
        if correction.get(name) is None:
            for read in (threshold, f"{name}_batch_normalize"):
                if correction.get(read, known.get(read)) != known.get(read):
                    yield f"@{at}.{read}=: read with {at}.{name} alone: set that, or leave this out."
        elif correction.get(threshold, known[threshold]) is None:
            yield f"@{at}.{threshold}=: verl would not correct anything by {at}.{name}: set it, as to 2.0."
        elif not config.actor_rollout_ref.rollout.calculate_log_probs:
            yield (
                f"@algorithm.rollout_correction.{name}= needs vLLM's own log-probabilities, or verl corrects nothing: "
                "set @rollout.calculate_log_probs=true."
            )
    if correction.get("rollout_is") is None and correction.get("rollout_rs") is None:
        return
    names = (
        "rollout_is", "rollout_is_threshold", "rollout_rs", "rollout_rs_threshold", "rollout_is_batch_normalize",
    )  # fmt: skip
    given = {name: correction[name] for name in names if name in correction}
    same, mask = torch.zeros(1, 2), torch.ones(1, 2)
    try:
        compute_rollout_correction_and_rejection_mask(same, same, mask, **given)
    except (ValueError, TypeError, AssertionError) as error:
        yield f"algorithm.rollout_correction: verl refuses its settings ({one_line(error)}): change what it names."
