"""The layout of a training run's folder: what is in it, by which name. No other module spells these."""

from pathlib import Path
from typing import ClassVar


class RunFolder:
    """A run's folder, and what is in it as paths: `RunFolder(run_dir).metrics`.

    Files that every start leaves:

        config.yaml      the resolved configuration; for its owner alone, since it holds what is secret
        run.json         versions, git commit, command and time of the last start
        inputs.json      hashes of data and model, by which a resumed run sees that a file is another one
        metrics.jsonl    one flat JSON object a step
        output.log       all that the run's processes print
        state.json       running, finished, failed or stopped, and the cause
        progress.json    the phase and step that the run is in
        fault.json       what ended it
        failed_prompt.txt  why a prompt of this start has failed, one of the last
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

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.config, self.info, self.inputs = self.path / self.CONFIG, self.path / self.INFO, self.path / self.INPUTS
        self.metrics, self.log, self.stop = self.path / self.METRICS, self.path / self.LOG, self.path / self.STOP
        self.state, self.progress = self.path / self.STATE, self.path / self.PROGRESS
        self.fault, self.failed_prompt = self.path / self.FAULT, self.path / self.FAILED_PROMPT
        self.checkpoints, self.tensorboard = self.path / self.CHECKPOINTS, self.path / self.TENSORBOARD
        self.stacks, self.poison = self.path / self.STACKS, self.path / self.POISON

    @property
    def is_one(self) -> bool:
        """Whether a run has been started in it."""
        return self.info.is_file() or self.state.is_file()
