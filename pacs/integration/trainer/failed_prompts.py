"""Why prompts fail: verl's agent loop logs what a sampler or a reward function raised, and goes on with fewer rows."""

import logging
import math
import os
import re
import time
import traceback
from pathlib import Path

from pacs.base.files import write_atomically
from pacs.base.redaction import redact
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import say
from pacs.runs.actor_failures import cause_of
from pacs.runs.processes import RUN_DIR

#: Of verl's agent-loop workers.
LOGGER = "verl.trainer.ppo.v1.agent_loop_tq"
#: What verl raises when all prompts of a step have failed.
NONE_LEFT = "no materializable trajectories"
#: Between two that are written: a step's prompts may all fail at once.
EVERY_SECONDS = 1.0


class _Noter(logging.Handler):
    """Writes exceptions that are logged with their traceback to the run's folder, each over the one before."""

    written = -math.inf

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or time.monotonic() < self.written + EVERY_SECONDS:
            return
        self.written = time.monotonic()
        said = redact(f"{cause_of(error)}{_raised_at(error)}")
        try:
            write_atomically(RunFolder(os.environ[RUN_DIR]).failed_prompt, said, private=True)
        except OSError as failure:
            say(f"pacs: why a prompt failed cannot be written ({failure}): {said}", error=True)


def note_failures() -> None:
    """In a process of a run, write why prompts fail to the run's folder, for `failure_of`; outside a run do nothing."""
    if RUN_DIR in os.environ:
        logging.getLogger(LOGGER).addHandler(_Noter(logging.ERROR))


def failure_of(error: BaseException, run_dir: Path) -> str:
    """`cause_of`, or, where verl says that all prompts of a step have, why one of them has."""
    file = RunFolder(run_dir).failed_prompt
    if NONE_LEFT in str(error) and file.exists():
        return f"every prompt of a step failed while its responses were sampled or scored: {file.read_text()}"
    return cause_of(error)


def _raised_at(error: BaseException) -> str:
    """Where an exception was raised, here or in another process of Ray's."""
    lines = "".join(traceback.format_exception(error))
    places = re.findall(r'File "([^"]+)", line (\d+), in (\S+)', lines)
    return " ({}:{}, in {})".format(*places[-1]) if places else ""
