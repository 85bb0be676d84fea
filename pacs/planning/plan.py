"""A run's plan: its phases' memory, its step's time, and what to change where it does not fit."""

from dataclasses import dataclass

from omegaconf import DictConfig

from pacs.planning.calibration import calibrated
from pacs.planning.devices import find_device
from pacs.planning.fixes import find_gains, find_mends
from pacs.planning.lengths import Sample
from pacs.planning.memory import Phase, phases
from pacs.planning.read_config import read_workload
from pacs.planning.timing import step_seconds
from pacs.planning.workload import Workload
from pacs.verl_keys import config as keys


@dataclass(frozen=True)
class Plan:
    """What a step needs.

    Attributes:
        phases: memory, in the order of a step.
        seconds: phase -> time; empty on a CPU.
        mends: phase that does not fit -> settings, each of which alone makes it fit.
        gains: setting with which the step is faster and still fits -> seconds that it saves; empty on a CPU.
    """

    work: Workload
    phases: list[Phase]
    seconds: dict[str, float]
    mends: dict[str, list[str]]
    gains: dict[str, float]

    @property
    def fits(self) -> bool:
        """Whether every phase does."""
        return all(phase.fits for phase in self.phases)

    @property
    def step_seconds(self) -> float:
        """Of a step without validation."""
        return step_seconds(self.work, self.seconds)


def make_plan(
    config: DictConfig,
    *,
    hardware: str | None,
    gpu: str | None = None,
    mean_response_tokens: float | None = None,
    lengths: Sample | None = None,
) -> Plan:
    """The plan of a composed config.

    Args:
        config: verl's config with a `pacs` section.
        hardware: the option of the config group `hardware`, whose name tells the GPU.
        gpu: another GPU in its place.
        mean_response_tokens: of a response; None: an assumption.
        lengths: that were seen (`pacs.planning.observed_lengths`), which come before these.

    Raises:
        UserError: it cannot be planned.
    """
    device = find_device(keys.device(config), hardware, gpu, keys.ranks_per_node(config))
    work = read_workload(config, device, mean_response_tokens, lengths)
    planned = phases(work)
    mends = {phase.name: find_mends(work, phase) for phase in planned if not phase.fits}
    gains = {} if mends else find_gains(work)
    return Plan(work, planned, calibrated(work), mends, gains)
