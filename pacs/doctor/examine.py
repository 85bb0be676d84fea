"""All checks, in the order in which they are shown."""

from collections.abc import Iterator
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pacs.base.errors import UserError
from pacs.doctor import machine, versions
from pacs.doctor.finding import Finding, State
from pacs.doctor.kernels import check_kernels
from pacs.doctor.trials import check_layout, check_speed, usable_gpus
from pacs.planning.plan import make_plan
from pacs.planning.timing import saved_bytes
from pacs.verl_keys import config as keys

#: Ranks of the test on a CPU.
CPU_RANKS = 2


def examine(config: DictConfig | None, hardware: str | None, *, speed: bool, probe: bool = False) -> Iterator[Finding]:
    """Examine this machine.

    Args:
        config: of the run that is meant; None: the machine alone.
        hardware: the option of its group `hardware`.
        speed: with the ten-second test.
        probe: build the run's policy and try its layout, if nothing that it needs is missing.
    """
    try:
        said = machine.query_gpus()
    except OSError as error:
        yield Finding("driver", "fail", str(error), "load or install NVIDIA's driver, or reboot")
        said = None
    found = [] if said is None else machine.parse_gpus(said)
    gpu = bool(found) if config is None else keys.device(config) == "cuda"
    if gpu:
        yield from machine.check_gpus(found, None if config is None else keys.ranks_per_node(config))
        yield from versions.check_cuda()
    else:
        yield Finding("GPUs", "ok", f"{len(found)}; examined for a CPU, and for the pins of the installed stack")
    yield from versions.check_variables()
    yield from versions.check_versions("gpu" if gpu else versions.installed_stack())
    yield from check_kernels(gpu=gpu, attention=keys.attention(config or OmegaConf.create()))
    yield from machine.check_limits(gpu=gpu)
    yield machine.check_shared_memory()
    yield machine.check_ray_disk()
    if config is not None:
        found_of_run = list(_check_run(config, hardware))
        yield from found_of_run
        sound = all(finding.state != "fail" for finding in found_of_run)
        if probe and sound and (not gpu or usable_gpus(len(found)) >= keys.ranks_per_node(config)):
            yield from check_layout(config)
    yield from versions.check_ray()
    yield versions.check_sandbox()
    if speed and (found or not gpu):
        ranks, name = (len(found), found[0].name) if gpu else (CPU_RANKS, None)
        yield from check_speed("cuda" if gpu else "cpu", ranks, name)


def _check_run(config: DictConfig, hardware: str | None) -> Iterator[Finding]:
    """What the run needs here: data, model, room for its checkpoints."""
    from pacs.integration.checks.architecture import architecture_problems
    from pacs.integration.checks.machine import input_problems
    from pacs.integration.checks.prompts import reasoning_outlook

    notes: list[str] = []
    problems = [*input_problems(config, notes.append), *architecture_problems(config)]
    if not problems:
        yield Finding("model and data", "ok", f"what the run needs is here; {reasoning_outlook(config)}")
    for note in notes:
        said = note.removeprefix("warning: ")
        yield Finding("own code", "ok", note) if said == note else _finding("warn", said)
    yield from (_finding("fail", problem) for problem in problems)
    try:
        checkpoint = saved_bytes(make_plan(config, hardware=hardware).work)
    except UserError:
        checkpoint = 0.0
    keep = keys.kept_checkpoints(config)
    yield machine.check_disk(
        "run's disk",
        Path(config.run.dir),
        least=checkpoint,
        wanted=(1 if keep is None else keep + 1) * checkpoint,
        what="one checkpoint" if keep is None else f"{keep} checkpoints and one that is being written",
        mend="make room, set run.dir to a larger disk, or keep fewer (trainer.max_actor_ckpt_to_keep)",
    )


def _finding(state: State, sentence: str) -> Finding:
    """What is wrong with the run's model, data or code, and the mend."""
    found, _, mend = sentence.partition(": ")
    return Finding("model and data", state, found, mend)
