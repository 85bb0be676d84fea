"""`pacs train`: compose a run with Hydra, check it, start it."""

import difflib
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from typing import NoReturn

import hydra
import yaml
from hydra import compose, initialize_config_dir
from hydra.errors import HydraException, MissingConfigException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from pacs.paths import config_dir
from pacs.redaction import redact, redacted
from pacs.runs.console import say
from pacs.runs.supervisor import REFUSED
from pacs.terminal import print

HELP = """\
usage: pacs train [--config-name NAME] [--dry-run] [--cfg job [--resolve]] [key=value ...]

Train a policy. The run is composed by Hydra from configs/ and from verl's own defaults, checked, and started on Ray.

what to run
  --config-name NAME    the algorithm: {algorithms} (default: pacs)
  recipe=NAME           an experiment: model, data, hardware and settings together
  model=, data=, hardware=, logging=
                        one part alone
  key=value             any key of verl, in its own place, or of PACS under `pacs.`; +key=value adds one

look before you run
  --dry-run             compose and check the run and print it, with what it needs (memory, time, data); nothing is
                        started
  --cfg job             print the composed config as it is (--resolve: with its references filled in)

examples
  pacs train recipe=arithmetic
  pacs train recipe=arithmetic pacs.reference.reset_every=5 pacs.estimator=dr_grpo trainer.experiment_name=k5
  pacs train --dry-run hardware=h200x8 model=qwen3_8b data.train_batch_size=512
  pacs train --config-name grpo recipe=arithmetic

available
{groups}

The run's folder (pacs.run_dir) gets config.yaml, run.json, inputs.json, metrics.jsonl, tensorboard/, samples/ and
checkpoints/.
A run whose folder holds a checkpoint goes on from the newest complete one. SIGTERM, SIGUSR1 and Ctrl-C finish the
current step, save and exit with status 75 (start the same command again to go on); a second one ends at once.
Exit status: 0 finished, 1 failed (the cause is printed, and in state.json), 2 refused, 75 stopped on request.
Hydra's own help: pacs train --hydra-help
"""


def main(arguments: Sequence[str]) -> int:
    """Run `pacs train`; return the exit status (2: the run cannot start as configured)."""
    arguments = list(arguments)
    if {"--help", "-h"} & set(arguments):
        print(HELP.format(algorithms=", ".join(_algorithms()), groups=_available()))
        return 0
    if {"--multirun", "-m"} & set(arguments):
        _refuse(
            "--multirun: all of its runs would train in one folder (pacs.run_dir). `pacs sweep NAME key=value,value` "
            "gives each its own; `pacs sweep` lists the names."
        )
    try:
        tempfile.gettempdir()  # libraries ask for it as they are imported
    except OSError as error:
        _refuse(f"- there is no folder for temporary files ({error.strerror}): make room in /tmp, or set TMPDIR.")
    dry_run = "--dry-run" in arguments
    # Hydra's parser takes overrides only where no option comes between them.
    overrides = [argument for argument in arguments if "=" in argument and not argument.startswith("-")]
    options = [argument for argument in arguments if argument not in overrides and argument != "--dry-run"]
    sys.argv = ["pacs train", *options, *overrides]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra raises instead of printing, so that we can say what to change
    application = hydra.main(config_path=str(config_dir()), config_name="pacs", version_base=None)(
        _dry_run if dry_run else _train
    )
    try:
        if any(option in ("-c", "-i") or option.startswith(("--cfg", "--info")) for option in options):
            _show(application)
        else:
            application()
    except (HydraException, OmegaConfBaseException) as error:
        _refuse(composition_problem(error, arguments))
    return 0


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


def _train(config: DictConfig) -> None:
    from pacs.integration import checks, launch

    try:
        launch.prepare(config)
        checks.check_model(config)
        checks.check_surroundings(config)
        status = launch.train(config)
    except checks.ConfigError as error:
        _refuse(str(error))
    if status != 0:
        sys.exit(status)


def _dry_run(config: DictConfig) -> None:
    from pacs.integration import checks, launch, strategy
    from pacs.integration.checks import surroundings
    from pacs.planning import outline

    try:
        launch.prepare(config)
        checks.check_model(config)
    except checks.ConfigError as error:
        _refuse(str(error))
    print(OmegaConf.to_yaml(OmegaConf.create(redacted(OmegaConf.to_container(config, resolve=True)))))
    print(f"# {strategy.outlook(config)}")
    for line in outline(config).splitlines():
        print(f"# {line}")
    for line in surroundings.expected_data(config):
        print(f"# {line}")
    try:
        checks.check_surroundings(config)
        launch.check_folder(config)
        print("# The config is sound, and what it needs is here.")
    except checks.ConfigError as error:
        print(f"# The config is sound, but on this machine the run would stop:\n{error}")


def _refuse(problem: str) -> NoReturn:
    say(f"pacs train: the run cannot start:\n{redact(problem)}", error=True)
    sys.exit(REFUSED)


def composition_problem(error: Exception, arguments: Sequence[str]) -> str:
    """Hydra's or OmegaConf's complaint, with the nearest key for one that does not exist."""
    algorithm = _config_name(arguments)
    if isinstance(error, MissingConfigException) and error.missing_cfg_file == algorithm:
        nearest = difflib.get_close_matches(algorithm, _algorithms(), n=1)
        hint = f" Did you mean {nearest[0]}?" if nearest else ""
        return f"- --config-name {algorithm}: there are {', '.join(_algorithms())}.{hint}"
    if ambiguous := re.search(r"Ambiguous value for argument '(([^=]+)=\S+)'", str(error)):
        word, key = ambiguous.groups()
        return (
            f"- {word}: for a list write {key}=[...], for a text put it in quotes, for a run of each value use "
            f"`pacs sweep NAME {word}` (`pacs sweep` lists the names)."
        )
    cause = error.__cause__ or error
    unknown = re.search(r"full_key: (\S+)", str(cause))
    if unknown is None or "not in struct" not in str(cause):
        return f"- {error}"
    key = unknown.group(1)
    parent, _, name = key.rpartition(".")
    with initialize_config_dir(str(config_dir()), version_base=None):
        known = OmegaConf.select(compose(algorithm), parent) if parent else compose(algorithm)
    near = difflib.get_close_matches(name, [str(k) for k in known], n=3)
    prefix = f"{parent}." if parent else ""
    hint = f" Did you mean {' or '.join(prefix + n for n in near)}?" if near else ""
    return f"- There is no key {key}.{hint} (`pacs train --cfg job` prints them all; +{key}=... would add it.)"


def _config_name(arguments: Sequence[str]) -> str:
    for i, argument in enumerate(arguments):
        if argument in ("--config-name", "-cn"):
            return arguments[i + 1]
        if argument.startswith("--config-name="):
            return argument.split("=", 1)[1]
    return "pacs"


def _algorithms() -> list[str]:
    """The primary configs."""
    return sorted(file.stem for file in config_dir().glob("*.yaml"))


def _available() -> str:
    """The options of each config group, a line each."""
    lines = []
    no_groups = {"shared", "sweep"}
    for folder in sorted(
        folder for folder in config_dir().iterdir() if folder.is_dir() and folder.name not in no_groups
    ):
        options = sorted(file.stem for file in folder.glob("*.yaml"))
        if options:
            lines.append(f"  {folder.name + '=':22}{', '.join(options)}")
    return "\n".join(lines)
