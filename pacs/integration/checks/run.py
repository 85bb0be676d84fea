"""All checks of a run, together: may it start?

`check_run` reads the composed config alone, `check_model` also the model's config.json. `check_surroundings` looks at
this machine and at the files that the config names; none needs a GPU, Ray or the network, except that a model given by
its Hugging Face id is looked up.
"""

import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import redirect_stdout
from copy import deepcopy
from functools import partial
from itertools import chain
from pathlib import Path

from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError, did_you_mean
from pacs.base.redaction import redact, redacted
from pacs.base.run_folder import RunFolder
from pacs.integration.checks.adapters import adapter_problems
from pacs.integration.checks.batch import balance_problems, rollout_problems
from pacs.integration.checks.bounds import coarse_moments, size_problems, value_problems
from pacs.integration.checks.composite import composite_problems
from pacs.integration.checks.critic_section import of_critic
from pacs.integration.checks.dars import dars_problems
from pacs.integration.checks.features import feature_problems
from pacs.integration.checks.genac import genac_problems
from pacs.integration.checks.group_filter import filter_problems
from pacs.integration.checks.guided import guided_problems, guided_warnings
from pacs.integration.checks.judge import asked_judge_problems
from pacs.integration.checks.machine import listed, surroundings_problems
from pacs.integration.checks.pacs import pacs_problems, pacs_warnings
from pacs.integration.checks.partial import partial_problems, partial_warnings
from pacs.integration.checks.pool import pool_problems
from pacs.integration.checks.prompts import prompt_setting_problems
from pacs.integration.checks.rlpr import rlpr_problems
from pacs.integration.checks.sections import empty_sections
from pacs.integration.checks.separate import separate_problems, separate_warnings
from pacs.integration.checks.slots import slot_problems
from pacs.integration.checks.switches import switch_problems, untried
from pacs.integration.checks.turns import format_problems, turns_problems, turns_warnings
from pacs.integration.checks.verl_algorithms import baseline_problems, baseline_warnings
from pacs.integration.checks.vine import vine_problems
from pacs.integration.checks.wording import full_name, resolved, spelled
from pacs.integration.schema import BASELINES
from pacs.rewards.reasoning import check_named
from pacs.rewards.registry import PATH, check_settings
from pacs.runs.settings import RunSettings
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import has_critic, ranks

#: What verl hands to a logger out of the config that it sends there.
OF_LOGGERS = ("trainer.wandb_proxy", "trainer.rl_insight")


def shared_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with a config whatever it trains, a sentence each with the setting and the mend."""
    reward = config.reward.custom_reward_function
    typed: list[Callable[[], object]] = [
        partial(RunSettings.from_mapping, plain(config.run)),
        lambda: check_named(plain(config.run.reasoning)["delimiters"]),
    ]
    if reward.path == PATH:
        typed.append(partial(check_settings, reward.get("reward_kwargs") or {}))
    for read in typed:
        try:
            read()
        except ValueError as error:
            yield str(error)
    checks = (
        value_problems, _life_problems, rollout_problems, dars_problems, pool_problems, filter_problems, vine_problems,
        balance_problems, composite_problems, switch_problems, turns_problems, guided_problems, partial_problems,
        separate_problems, rlpr_problems, adapter_problems, genac_problems, asked_judge_problems,
        prompt_setting_problems, slot_problems,
    )  # fmt: skip
    for check in checks:
        yield from check(config)
    yield from filter(None, [logger_problem(config)])


@spelled
def _life_problems(config: DictConfig) -> Iterator[str]:
    """What a run needs so that it can be stopped, killed and gone on with, from whole checkpoints in its folder."""
    trainer = config.trainer
    yield from feature_problems(config, "run.rollouts.seeded")
    yield from _shard_problems(config)
    if Path(trainer.default_local_dir).expanduser().absolute() != RunFolder(config.run.dir).checkpoints:
        yield (
            "@trainer.default_local_dir=: leave it out; a run's checkpoints are in its folder (run.dir), where "
            "`pacs runs` and `pacs export` find them."
        )
    if trainer.get("remove_previous_ckpt_in_save") or trainer.max_critic_ckpt_to_keep != trainer.max_actor_ckpt_to_keep:
        yield "Checkpoints are kept as a whole: set trainer.max_actor_ckpt_to_keep alone (null keeps all)."
    for key in (f"{part}.checkpoint.{which}_contents" for part in ("actor", "critic") for which in ("save", "load")):
        if lacking := {"model", "optimizer", "extra"} - set(OmegaConf.select(config, full_name(key)) or ()):
            yield f"@{key} lacks {sorted(lacking)}: a run goes on only from all of them."


def _shard_problems(config: DictConfig) -> Iterator[str]:
    """The ranks that share a model must make up all ranks; reference and critic follow the policy, if not told else."""
    gpus, named = ranks(config), set()
    for section in ("actor.fsdp_config", "ref.fsdp_config", *(["critic.fsdp"] if has_critic(config) else [])):
        size = OmegaConf.select(config, full_name(f"{section}.fsdp_size"))
        if size not in named and (type(size) is not int or size == 0 or (0 < size < gpus and gpus % size)):
            yield (
                f"@{section}.fsdp_size= does not divide the {gpus} ranks (trainer.n_gpus_per_node * trainer.nnodes): "
                "use -1 for all of them, or a number that does."
            )
            named.add(size)


def logger_problem(config: DictConfig) -> str | None:
    """Why a logger would get a setting that does not work; None if none would."""
    for key in OF_LOGGERS:
        value = OmegaConf.select(config, key)
        given = plain(value) if OmegaConf.is_config(value) else value
        if redacted(given, key) != given:
            return (
                f"{key} has a password or another secret, which verl would send to the loggers with the whole config: "
                "give it in the environment (HTTPS_PROXY, or the logger's own variable)."
            )
    return None


class ConfigError(UserError):
    """The run cannot start as configured; the message lists every problem found."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        listed = [problems] if isinstance(problems, str) else problems
        super().__init__(redact("\n".join(f"- {problem}" for problem in listed)))


def refuse(problems: Iterable[str]) -> None:
    """Raise `ConfigError` if there are problems."""
    if found := list(problems):
        raise ConfigError(found)


def check_paths(config: DictConfig) -> None:
    """Raise `ConfigError` where the run's folder, a model, its data or a checkpoint is not named by a path."""
    data = ("data.train_files", "data.val_files")
    keys = ("run.dir", "trainer.default_local_dir", "actor_rollout_ref.model.path", *data)
    given = {key: OmegaConf.select(config, key) for key in keys}
    refuse(f"{key} is empty: leave it out, or name a path." for key, value in given.items() if not value)
    refuse(
        f"{key}={value}: name a path."
        for key, value in given.items()
        if not all(isinstance(path, str) for path in listed(value))
    )
    given |= {key: OmegaConf.select(config, key) for key in ("critic.model.path", "trainer.resume_from_path")}
    refuse(
        f"{key}={path}: there is no home folder of such a user here: name the path in full."
        for key, value in given.items()
        for path in listed(value)
        if isinstance(path, str) and os.path.expanduser(path).startswith("~")  # noqa: PTH111 (pathlib's raises)
    )


def check_run(config: DictConfig) -> None:
    """Raise `ConfigError` with everything that is wrong with a composed config, whatever machine it is meant for."""
    refuse(empty_sections(config))
    refuse(size_problems(config))
    config = resolved(config)
    refuse([*shared_problems(config), *_algorithm_problems(config)])
    # verl's checks come last: they take seconds to import, and on what ours complain of they may fail without a word
    # of what to change.
    refuse(_verl_problems(config))


def warnings(config: DictConfig) -> list[str]:
    """What a config that `check_run` has passed does that its reader may not think of, a sentence each."""
    of_algorithm = pacs_warnings if config.trainer.v1.trainer_mode == "pacs" else baseline_warnings
    of_rollouts = (turns_warnings, guided_warnings, partial_warnings, separate_warnings)
    said = [warning for each in (of_algorithm, *of_rollouts) for warning in each(config)]
    return [*said, *untried(config), *coarse_moments(config)]


def check_model(config: DictConfig) -> None:
    """Raise `ConfigError` if the model's config.json says that its architecture and the run do not go together.

    It is silent where there is none: `check_surroundings` says so.
    """
    # The library of models takes seconds to import.
    from pacs.integration.checks.architecture import architecture_problems

    refuse(architecture_problems(config))


def check_surroundings(config: DictConfig, note: Callable[[str], object] = lambda _: None) -> None:
    """Raise `ConfigError` if this machine, or the data or the model it has, does not do for the run.

    Args:
        config: of the run.
        note: takes what is no reason to refuse it, a sentence each; a warning begins with "warning: ".
    """
    refuse(surroundings_problems(config, note))


@spelled
def _algorithm_problems(config: DictConfig) -> Iterator[str]:
    mode = config.trainer.v1.trainer_mode
    if mode == "pacs":
        yield from pacs_problems(config)
    elif mode in BASELINES:
        yield from baseline_problems(config)
    else:
        known = ("pacs", *BASELINES)
        yield (
            "@trainer.v1.trainer_mode= is none of our trainers: leave it out and choose the algorithm by --config-name "
            f"({', '.join(known)}).{did_you_mean(mode, known)}"
        )


@spelled
def _verl_problems(config: DictConfig) -> Iterator[str]:
    """Names that verl does not know, then its own validation, as far as it needs no dataclass of the running stack."""
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config
    from verl.utils.tracking import Tracking

    is_ours = config.trainer.v1.trainer_mode == "pacs"
    if not is_ours and config.algorithm.adv_estimator not in ADV_ESTIMATOR_REGISTRY:
        yield (
            "@algorithm.adv_estimator=: verl knows no such estimator; leave it out, so that it is that of "
            f"--config-name, or use one of {', '.join(ADV_ESTIMATOR_REGISTRY)}."
        )
        return
    known = Tracking.supported_backend
    for name in listed(config.trainer.logger):
        if name not in known:
            yield f"trainer.logger={name}: verl knows no such logger; there are {', '.join(known)}."
    from pacs.integration.checks.verl_classes import class_problems  # its own import takes seconds

    critics = (of_critic(check, config) for check in (size_problems, _life_problems, class_problems))
    if problems := [*class_problems(config), *chain.from_iterable(critics), *format_problems(config)]:
        yield from problems
        return
    checked = deepcopy(config)
    del checked.critic.model  # or its dataclass would load the model, which need not be on this machine
    checked.actor_rollout_ref.model.lora_rank = 0  # or vLLM would be imported, which need not be there either
    try:
        with redirect_stdout(io.StringIO()):  # that all is well, which our own checks have not said yet
            validate_config(checked, need_reference_policy(config) or is_ours, need_critic(config))
    except (ValueError, AssertionError, TypeError, KeyError, InstantiationException) as error:
        yield f"verl refuses the config: {error.__cause__ or error}"
