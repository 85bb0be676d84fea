"""pacs train [--config-name NAME] [--dry-run] [-v] [--cfg job [--resolve]] [key=value ...]

Train a policy. The run is composed by Hydra from configs/ and from verl's own defaults, checked, and started on Ray.

what to run
  --config-name NAME    the algorithm: {algorithms} (default: pacs)
  recipe=NAME           an experiment: model, data, hardware and settings together
  model=, data=, hardware=, logging=
                        one of these parts alone
  key=value             any key of verl, or of ours below `method.`, `run.` and `genac.`; +key=value adds one

check without running
  --dry-run             compose and check the run, check rows of its data, try its reward function, and print what it
                        needs (memory, time, data); starts nothing; exit status 2 if the run would be refused here
  --cfg job             print the composed config (--resolve: with its references filled in)

output
  -v, --verbose         print all output of the run's processes; without it, stages of the start, a line for each step,
                        checkpoints, resets and warnings. The run's output.log always has all of it

examples
  pacs train recipe=arithmetic
  pacs train recipe=arithmetic method.reference.reset_every=5 method.estimator=dr_grpo trainer.experiment_name=k5
  pacs train --dry-run hardware=h200x8 model=qwen3_8b data.train_batch_size=512
  pacs train --config-name grpo recipe=arithmetic

available
{groups}

The run writes config.yaml, run.json, inputs.json, output.log, metrics.jsonl, tensorboard/, samples/ and checkpoints/
to its folder (run.dir).
If the folder holds checkpoints, the run resumes from the newest complete one. SIGTERM, SIGUSR1 and Ctrl-C finish the
current step, save and exit with status 75 (the same command resumes); a second one ends the run at once.
Exit status: 0 finished, 1 failed (the cause is printed, and in state.json), 2 refused, 75 stopped on request.
Hydra's own help: pacs train --hydra-help
"""

import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, redirect_stdout
from functools import partial

import hydra
import yaml
from hydra._internal.utils import get_args_parser
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from pacs.base.errors import UserError, did_you_mean
from pacs.base.moved_keys import SECTIONS_NOTE, move_old_section, renamed
from pacs.base.paths import config_dir
from pacs.base.redaction import redact, redacted
from pacs.base.stops import ended_by_ctrl_c
from pacs.base.terminal import named, print
from pacs.composing import algorithms, composition_problem, groups, kind_problems, override_problems, without_dashes
from pacs.verl_keys.names import RUN_NAME

VERBOSE = ("-v", "--verbose")
#: Options of Hydra that are not taken: a sweep is `pacs sweep`, and completion is argcomplete's.
NOT_HERE = ("multirun", "shell_completion")
#: Of Hydra's parser: its options, and those that are followed by a word.
OF_HYDRA = [action for action in get_args_parser()._actions if action.option_strings and action.dest not in NOT_HERE]
OPTIONS = ["--dry-run", "--verbose", *(word for action in OF_HYDRA for word in action.option_strings)]
TAKES_A_WORD = {word for action in OF_HYDRA if action.nargs != 0 for word in action.option_strings}


def main(arguments: Sequence[str]) -> int:
    """Compose, check and train; return the exit status.

    Raises:
        UserError: the run cannot start as configured.
    """
    arguments = list(arguments)
    if {"--help", "-h"} & set(arguments):
        available = "\n".join(
            f"  {group + '=':22}{', '.join(options)}" for group, options in groups().items() if options
        )
        print(f"usage: {__doc__}".format(algorithms=", ".join(algorithms()), groups=available))
        return 0
    if {"--multirun", "-m"} & set(arguments):
        raise _refusal(
            "--multirun: all of its runs would train in one folder (run.dir). `pacs sweep NAME key=value,value` "
            "gives each its own; `pacs sweep` lists the names."
        )
    try:
        tempfile.gettempdir()  # libraries ask for it as they are imported
    except OSError as error:
        raise _refusal(
            f"- there is no folder for temporary files ({error.strerror}): make room in /tmp, or set TMPDIR."
        ) from error
    dry_run, verbose = "--dry-run" in arguments, bool(set(VERBOSE) & set(arguments))
    # Hydra's parser takes overrides only where no option comes between them.
    overrides = [argument for argument in arguments if "=" in argument and not argument.startswith("-")]
    options = [word for word in arguments if word not in (*overrides, "--dry-run", *VERBOSE)]
    if problems := [*_option_problems(options), *override_problems(overrides)]:
        raise _refusal("\n".join(f"- {redact(problem)}" for problem in problems))
    overrides = renamed(overrides, options)
    sys.argv = ["pacs train", *options, *overrides]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises instead of printing, so that we can say what to change
    refused: list[UserError] = []  # Hydra would print a line of its own before what is raised within

    def job(config: DictConfig) -> None:
        try:
            if move_old_section(config):
                print(f"pacs: {SECTIONS_NOTE}", file=sys.stderr)
            _run(config, dry_run=dry_run, verbose=verbose)
        except UserError as error:
            refused.append(error)

    application = hydra.main(config_path=str(config_dir()), config_name="pacs", version_base=None)(job)
    try:
        if any(option in ("-c", "-i") or option.startswith(("--cfg", "--info")) for option in options):
            _show(application)
        else:
            application()
    except (HydraException, OmegaConfBaseException) as error:
        raise _refusal(composition_problem(error, arguments)) from error
    except yaml.YAMLError as error:  # of a file in --config-dir
        raise _refusal(f"- a config cannot be read: {' '.join(str(error).split())}: mend the file.") from error
    for problem in refused:
        from pacs.integration.checks.run import ConfigError

        raise _refusal(str(problem)) if isinstance(problem, ConfigError) else problem
    return 0


def _option_problems(words: Sequence[str]) -> Iterator[str]:
    """Words that are neither an override nor an option of Hydra's that may be used here."""
    taken_by_option = False
    for word in words:
        name = word.partition("=")[0]
        if name.startswith("--") and name not in OPTIONS:
            hint = did_you_mean(name, OPTIONS) or without_dashes(name)
            yield f"{name}: there is no such option.{hint} `pacs train --help` lists them."
        elif not word.startswith("-") and not taken_by_option:
            yield from override_problems([word])
        taken_by_option = word in TAKES_A_WORD


def _show(application: Callable[[], None]) -> None:
    """Have Hydra print the config, or where its parts come from, without what is secret."""
    with redirect_stdout(io.StringIO()) as said:
        application()
    text = said.getvalue()
    try:
        config = yaml.safe_load(text)
    except yaml.YAMLError:
        config = None
    # Hydra prints a config as YAML, and what it is asked to explain in lines of its own.
    print(OmegaConf.to_yaml(OmegaConf.create(redacted(config))) if isinstance(config, dict) else redact(text), end="")


def _run(config: DictConfig, *, dry_run: bool, verbose: bool) -> None:
    """Check the run, and train or say what it needs; ends the process where training fails."""
    with ExitStack() as at_the_end:
        with ended_by_ctrl_c("pacs train"):
            from pacs.integration.checks import run as checks
            from pacs.integration.launch import launcher

            hydra_config = HydraConfig.get()
            if problems := kind_problems(config, hydra_config.job.config_name, hydra_config.overrides.task):
                raise checks.ConfigError(problems)
            launcher.make_paths_absolute(config)
            # In a process that has imported verl the checks take no time in which the driver could import it.
            early = not dry_run and "verl" not in sys.modules
            driver = at_the_end.enter_context(launcher.driver_of(config)) if early else None
            launcher.check(config)
            checks.check_model(config)
            if dry_run:
                _say_what_it_needs(config)
                return
            checks.check_surroundings(config, _say)
            _warn(config)
        status = launcher.train(config, driver, verbose=verbose)
    if status:
        sys.exit(status)


def _say_what_it_needs(config: DictConfig) -> None:
    from pacs.integration import strategy
    from pacs.integration.checks import machine as surroundings
    from pacs.integration.checks import run as checks
    from pacs.integration.checks.composite import reward_outlook
    from pacs.integration.checks.prompts import reasoning_outlook
    from pacs.integration.launch import launcher
    from pacs.planning.plan_text import outline

    given = [redact(word) for word in HydraConfig.get().overrides.task]
    print(f"run: {OmegaConf.select(config, RUN_NAME)}, {config.run.dir}")
    print(f"given: {' '.join(given) or 'nothing'} (`--cfg job` prints all settings)")
    _warn(config)
    print(strategy.outlook(config))
    print(reasoning_outlook(config))
    for said in reward_outlook(config):
        print(said)
    print(outline(config))
    print("\n".join(surroundings.expected_data(config)), flush=True)
    problems = []
    for check in (partial(checks.check_surroundings, note=_say), launcher.check_folder):
        try:
            check(config)
        except checks.ConfigError as error:
            problems.append(str(error))
    if problems:
        raise UserError("the config is sound, but on this machine the run would stop:\n" + "\n".join(problems))
    print("The config is sound, and what it needs is here.")


def _warn(config: DictConfig) -> None:
    from pacs.integration.checks import run as checks

    for warning in checks.warnings(config):
        _say(f"warning: {warning}")


def _say(said: str) -> None:
    print(f"pacs: {named(redact(said))}", flush=True)


def _refusal(problem: str) -> UserError:
    return UserError(f"the run cannot start:\n{problem}")
