"""All checks of a run, together.

`check_run` reads the composed config alone, `check_model` also the model's config.json. `check_surroundings` looks at
this machine and at the files that the config names; none needs a GPU, Ray or the network, except that a model given by
its Hugging Face id is looked up.
"""

import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout

from omegaconf import DictConfig, ListConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.base.redaction import redact
from pacs.base.suggestions import did_you_mean
from pacs.integration.checks.baseline import baseline_problems, baseline_warnings
from pacs.integration.checks.machine import surroundings_problems
from pacs.integration.checks.pacs import pacs_problems, pacs_warnings
from pacs.integration.checks.shared import coarse_moments, shared_problems
from pacs.integration.checks.switches import untried
from pacs.integration.schema import BASELINES

#: Whole numbers of at least 1.
SIZES = (
    "trainer.nnodes",
    "trainer.n_gpus_per_node",
    "data.train_batch_size",
    "data.max_prompt_length",
    "data.max_response_length",
    "actor_rollout_ref.nccl_timeout",
    "actor_rollout_ref.rollout.n",
    "actor_rollout_ref.rollout.val_kwargs.n",
    "actor_rollout_ref.rollout.tensor_model_parallel_size",
    "actor_rollout_ref.rollout.max_num_seqs",
    "actor_rollout_ref.rollout.max_num_batched_tokens",
    "actor_rollout_ref.rollout.checkpoint_engine.update_weights_bucket_megabytes",
    "run.rollouts.dars.most",
)


class ConfigError(UserError):
    """The run cannot start as configured; the message lists every problem found."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(redact("\n".join(f"- {problem}" for problem in problems)))


def check_paths(config: DictConfig) -> None:
    """Raise `ConfigError` where the run's folder, its model or its data is not named by a path."""
    keys = ("run.dir", "actor_rollout_ref.model.path", "data.train_files", "data.val_files")
    given = {key: OmegaConf.select(config, key) for key in keys}
    if empty := [key for key, value in given.items() if not value]:
        raise ConfigError([f"{key} is empty: leave it out, or name a path." for key in empty])
    lists = {key: value if isinstance(value, ListConfig) else [value] for key, value in given.items()}
    if other := [key for key, paths in lists.items() if not all(isinstance(path, str) for path in paths)]:
        raise ConfigError([f"{key}={given[key]}: name a path." for key in other])


def check_run(config: DictConfig) -> None:
    """Raise `ConfigError` with everything that is wrong with a composed config, whatever machine it is meant for."""
    problems = list(_size_problems(config)) or [*shared_problems(config), *_algorithm_problems(config)]
    # verl's checks come second: they take seconds to import, and on what ours complain of they may fail without a word
    # of what to change.
    problems = problems or list(_verl_problems(config))
    if problems:
        raise ConfigError(problems)


def warnings(config: DictConfig) -> list[str]:
    """What a config that `check_run` has passed does that its reader may not think of, a sentence each."""
    own = pacs_warnings if config.trainer.v1.trainer_mode == "pacs" else baseline_warnings
    return [*own(config), *untried(config), *coarse_moments(config)]


def check_model(config: DictConfig) -> None:
    """Raise `ConfigError` if the model's config.json says that its architecture and the run do not go together.

    It is silent where there is none: `check_surroundings` says so.
    """
    # The library of models takes seconds to import.
    from pacs.integration.checks.architecture import architecture_problems

    if problems := list(architecture_problems(config)):
        raise ConfigError(problems)


def check_surroundings(config: DictConfig, note: Callable[[str], object] = lambda _: None) -> None:
    """Raise `ConfigError` if this machine, or the data or the model it has, does not do for the run.

    Args:
        config: of the run.
        note: takes what is no reason to refuse it, a sentence each; a warning begins with "warning: ".
    """
    if problems := list(surroundings_problems(config, note)):
        raise ConfigError(problems)


def _size_problems(config: DictConfig) -> Iterator[str]:
    """What the other checks calculate with."""
    for key in SIZES:
        value = OmegaConf.select(config, key)
        if not isinstance(value, int) or value < 1:
            yield f"{key}={value} must be a whole number of at least 1."
    if config.trainer.device not in ("cpu", "cuda"):
        yield f"trainer.device={config.trainer.device}: use cpu or cuda (hardware=cpu, hardware=h200x8)."


def _algorithm_problems(config: DictConfig) -> Iterator[str]:
    mode = config.trainer.v1.trainer_mode
    if mode == "pacs":
        yield from pacs_problems(config)
    elif mode in BASELINES:
        yield from baseline_problems(config)
    else:
        yield (
            f"trainer.v1.trainer_mode={mode} is none of our trainers: leave it out and choose the algorithm by "
            f"--config-name (pacs, {', '.join(BASELINES)}).{did_you_mean(mode, ('pacs', *BASELINES))}"
        )


def _verl_problems(config: DictConfig) -> Iterator[str]:
    """Names that verl does not know, then its own validation, as far as it needs no dataclass of the running stack."""
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config
    from verl.utils.tracking import Tracking

    estimator = config.algorithm.adv_estimator
    if config.trainer.v1.trainer_mode in BASELINES and estimator not in ADV_ESTIMATOR_REGISTRY:
        yield (
            f"algorithm.adv_estimator={estimator}: verl knows no such estimator; leave it out, so that it is that of "
            f"--config-name, or use one of {', '.join(ADV_ESTIMATOR_REGISTRY)}."
        )
        return
    loggers = config.trainer.logger if isinstance(config.trainer.logger, ListConfig) else [config.trainer.logger]
    for name in loggers:
        if name not in Tracking.supported_backend:
            known = ", ".join(Tracking.supported_backend)
            yield f"trainer.logger={name}: verl knows no such logger; there are {known}."
    # Its own import takes seconds.
    from pacs.integration.checks.verl_classes import class_problems

    if problems := list(class_problems(config)):
        yield from problems
        return
    checked = OmegaConf.create(OmegaConf.to_container(config, resolve=True))
    del checked.critic.model  # or its dataclass would load the model, which need not be on this machine
    try:
        with redirect_stdout(io.StringIO()):  # that all is well, which our own checks have not said yet
            validate_config(
                config=checked,
                use_reference_policy=need_reference_policy(config) or config.trainer.v1.trainer_mode == "pacs",
                use_critic=need_critic(config),
            )
    except (ValueError, AssertionError, TypeError, KeyError) as error:
        yield f"verl refuses the config: {error}"
