"""What may happen to a run, and what is drawn from it."""

import random
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from pacs.runs.supervisor import FAILED, REFUSED, STOPPED

#: Seconds within which `pacs train` is to have ended after a fault; those of a hang come on top.
LIMIT_SECONDS = 60.0
#: A start that is to hang has this `run.faults.no_progress_seconds`; its stacks are then written, for 40 s at most.
NO_PROGRESS_SECONDS = 45
STACKS_SECONDS = 40.0

#: Instants. `start` and `step` are anywhere in a start-up and in a step; what else a step holds is short, so that it is
#: waited for.
START, FIRST_TRANSFER, STEP, TRANSFER, SAVE, VALIDATION = MOMENTS = (
    "start-up",
    "first weight transfer",
    "a step",
    "a weight transfer",
    "a save",
    "validation",
)
WHOLE_START = "from the start"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Something that breaks a run.

    Attributes:
        name: of the fault.
        kind: how it is done: `signal` (to one process), `signal all` (to every process), `disk` (filled), `shm` or
            `memory` (too small from the start).
        titles: one of these is in the command line of each process that gets the signal; "" is the launcher.
        number: the signal.
        cause: a regular expression that the cause in state.json fits if it names the fault.
        moments: when it may happen.
        statuses: what `pacs train` may exit with; none where it is killed itself.
        may_go_on: whether the run need not end.
        next_clears: whether nobody is left who could clear up: the next start does.
        extra_seconds: the documented time beyond LIMIT_SECONDS.
        overrides: of the start that it happens to.
    """

    name: str
    kind: str = "signal"
    titles: tuple[str, ...] = ()
    number: int = signal.SIGKILL
    cause: str
    moments: tuple[str, ...] = MOMENTS
    statuses: tuple[int, ...] = (FAILED,)
    may_go_on: bool = False
    next_clears: bool = False
    extra_seconds: float = 0.0
    overrides: tuple[str, ...] = ()


#: What a process is, in the words of Ray's and vLLM's titles -> in those that a cause may have.
_PROCESSES = {
    "raylet": ("raylet/raylet", r"raylet|[Nn]ode .*(died|dead|lost|gone)"),
    "GCS": ("gcs_server", r"GCS|gcs_server"),
    "Ray's agent": ("ray::RuntimeEnvAgent", r"raylet|[Nn]ode .*(died|dead|lost|gone)|[Aa]gent\b"),
    "trainer": ("ray::TaskRunnerV1", r"trainer|TaskRunner"),
    "training worker": ("ray::WorkerDict", r"training worker|WorkerDict"),
    "vLLM server": ("ray::vLLMHttpServer", r"vLLM"),
    "vLLM engine": ("VLLM::EngineCore", r"vLLM|[Ee]ngine ?[Cc]ore"),
    "vLLM worker": ("VLLM::Worker", r"vLLM|[Ee]ngine ?[Cc]ore"),
    "agent loop": ("ray::AgentLoopWorker", r"agent-loop worker|AgentLoopWorker"),
    "reward worker": ("ray::RewardLoopWorker", r"reward worker|RewardLoopWorker"),
    "TransferQueue controller": ("ray::TransferQueueController", r"TransferQueue ?[Cc]ontroller"),
    "TransferQueue storage": ("ray::SimpleStorageUnit", r"TransferQueue storage|SimpleStorageUnit"),
}
_DRIVER = "pacs.integration.launch.driver"
#: A hang shows by the clock, once a step is under way (before, and in a save, an hour is let pass).
_HANG_MOMENTS = (STEP, TRANSFER, VALIDATION)
#: What waits for them is not told from a slow one by anything but the clock; these answer looks, too.
_HUNG = ("raylet", "GCS", "trainer", "training worker", "vLLM server", "vLLM engine", "vLLM worker", "agent loop",
         "reward worker", "TransferQueue controller")  # fmt: skip

FAULTS = {
    fault.name: fault
    for fault in (
        *(Fault(name=f"{name} killed", titles=(title,), cause=cause) for name, (title, cause) in _PROCESSES.items()),
        Fault(
            name="verifier killed",
            titles=("pacs.rewards.isolation_server",),
            cause=r"verifier|reward worker",
            moments=(STEP, VALIDATION),
            may_go_on=True,
        ),
        Fault(name="driver killed", titles=(_DRIVER,), cause=r"driver"),
        Fault(name="launcher killed", titles=("",), cause=r"launcher .*was killed", statuses=()),
        Fault(
            name="driver and launcher killed",
            titles=("", _DRIVER),
            cause=r"launcher.*is gone",
            statuses=(),
            next_clears=True,
        ),
        *(
            Fault(
                name=f"{name} hangs",
                titles=(_PROCESSES[name][0],),
                number=signal.SIGSTOP,
                cause=rf"no progress|{_PROCESSES[name][1]}",
                moments=_HANG_MOMENTS,
                extra_seconds=NO_PROGRESS_SECONDS + STACKS_SECONDS,
                overrides=(f"run.faults.no_progress_seconds={NO_PROGRESS_SECONDS}",),
            )
            for name in _HUNG
        ),
        Fault(
            name="SIGTERM",
            titles=("",),
            number=signal.SIGTERM,
            cause="SIGTERM",
            statuses=(STOPPED,),
            extra_seconds=60.0,
        ),
        Fault(
            name="SIGTERM to all processes",
            kind="signal all",
            number=signal.SIGTERM,
            cause="SIGTERM",
            statuses=(STOPPED,),
            extra_seconds=60.0,
        ),
        Fault(
            name="disk full in a save",
            kind="disk",
            cause="No space left on device",
            moments=(SAVE,),
            extra_seconds=60.0,
        ),
        Fault(
            name="disk full",
            kind="disk",
            cause="No space left on device",
            moments=(START, STEP, VALIDATION),
            statuses=(FAILED, REFUSED),
            extra_seconds=60.0,  # the rest of the step: what it does not write to is not missed
        ),
        Fault(
            name="small /dev/shm",
            kind="shm",
            cause=r"/dev/shm|shared memory|No space left on device",
            moments=(WHOLE_START,),
            statuses=(FAILED, REFUSED),
            may_go_on=True,
        ),
        Fault(
            name="memory limit",
            kind="memory",
            cause=r"memory|SIGKILL|died",
            moments=(WHOLE_START,),
            may_go_on=True,
        ),
    )
}


@dataclass(frozen=True)
class Draw:
    """One fault at one instant.

    Attributes:
        index: how many were drawn before it.
        fault: what.
        moment: one of MOMENTS.
        steps: so many steps of the start are done before it, where the moment is in a step.
        delay: how far into the moment, 0 to 1.
        size: of what is too small, 0 to 1 of the sizes that are tried.
    """

    index: int
    fault: Fault
    moment: str
    steps: int
    delay: float
    size: float


def draw(seed: int, index: int, names: Sequence[str]) -> Draw:
    """The fault number `index` of a seed: each of `names` once before one comes again."""
    around, place = divmod(index, len(names))
    fault = FAULTS[random.Random(f"{seed} {around}").sample(sorted(names), len(names))[place]]
    chance = random.Random(f"{seed} {index} {fault.name}")
    return Draw(index, fault, chance.choice(fault.moments), chance.choice((0, 0, 1)), chance.random(), chance.random())
