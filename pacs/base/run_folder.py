"""The layout of a training run's folder: what is in it, by which name. No other module spells these."""

from pathlib import Path
from typing import ClassVar


class RunFolder:
    """A run's folder.

    Files that every start leaves:

        config.yaml      the resolved configuration; for its owner alone, since it holds what is secret
        run.json         versions, git commit, command and time of the last start
        inputs.json      hashes of data and model, by which a resumed run sees that a file is another one
        metrics.jsonl    one flat JSON object a step
        output.log       all that the run's processes print
        state.json       running, finished, failed or stopped, and the cause
        progress.json    the phase and step that the run is in
        fault.json       what ended it
        stop             a request to end after the step, until the run has seen it

    Folders: `checkpoints/global_step_N`, `samples/train` and `samples/validation`, `tensorboard`, `stacks` (of a run
    that hung), `poison` (of an update that was not finite).
    """

    CONFIG: ClassVar = "config.yaml"
    INFO: ClassVar = "run.json"
    INPUTS: ClassVar = "inputs.json"
    METRICS: ClassVar = "metrics.jsonl"
    LOG: ClassVar = "output.log"
    STATE: ClassVar = "state.json"
    PROGRESS: ClassVar = "progress.json"
    FAULT: ClassVar = "fault.json"
    STOP: ClassVar = "stop"
    FAILED_PROMPT: ClassVar = "failed_prompt.txt"
    CHECKPOINTS: ClassVar = "checkpoints"
    SAMPLES: ClassVar = "samples"
    TENSORBOARD: ClassVar = "tensorboard"
    STACKS: ClassVar = "stacks"
    POISON: ClassVar = "poison"

    FILES: ClassVar = (METRICS, LOG, CONFIG, INPUTS, INFO, STATE, PROGRESS, FAULT, STOP)
    FOLDERS: ClassVar = (CHECKPOINTS, SAMPLES, TENSORBOARD, STACKS, POISON)
    #: By either of which a folder is known to be a run's.
    MARKS: ClassVar = (INFO, STATE)

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @property
    def is_one(self) -> bool:
        """Whether a run has been started in it."""
        return any((self.path / name).is_file() for name in self.MARKS)

    @property
    def config(self) -> Path:
        """The resolved configuration."""
        return self.path / self.CONFIG

    @property
    def info(self) -> Path:
        """Versions, commit, command."""
        return self.path / self.INFO

    @property
    def inputs(self) -> Path:
        """Hashes of data and model."""
        return self.path / self.INPUTS

    @property
    def metrics(self) -> Path:
        """A line of JSON a step."""
        return self.path / self.METRICS

    @property
    def log(self) -> Path:
        """All that the processes print."""
        return self.path / self.LOG

    @property
    def state(self) -> Path:
        """How the last start stands or ended."""
        return self.path / self.STATE

    @property
    def progress(self) -> Path:
        """Phase and step."""
        return self.path / self.PROGRESS

    @property
    def fault(self) -> Path:
        """What ended it."""
        return self.path / self.FAULT

    @property
    def stop(self) -> Path:
        """The request to end after the step."""
        return self.path / self.STOP

    @property
    def failed_prompt(self) -> Path:
        """The prompt whose rollout failed, and why."""
        return self.path / self.FAILED_PROMPT

    @property
    def checkpoints(self) -> Path:
        """Folder of the checkpoints."""
        return self.path / self.CHECKPOINTS

    @property
    def tensorboard(self) -> Path:
        """Folder of TensorBoard's events."""
        return self.path / self.TENSORBOARD

    @property
    def stacks(self) -> Path:
        """Folder of the stacks of processes that hung."""
        return self.path / self.STACKS

    @property
    def poison(self) -> Path:
        """Folder of the updates whose gradient was not finite."""
        return self.path / self.POISON
