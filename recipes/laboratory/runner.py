"""Runs what is missing of a question, one process a run, within the time that is given."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.locks import held
from pacs.base.stops import Stops
from pacs.base.terminal import print
from recipes.laboratory import records as files
from recipes.laboratory import starts
from recipes.laboratory.digests import ROOT
from recipes.laboratory.plan import Job, Run, jobs
from recipes.laboratory.progress import line
from recipes.laboratory.questions import Question
from recipes.laboratory.records import Records, key_of, record_of

WORK = Path("outputs/laboratory")
CHILD = (sys.executable, "-m", "recipes.laboratory.child")
POLL_SECONDS = 0.1
#: What a run has to end by itself when it is told to.
GRACE_SECONDS = 5.0
#: So many failures one after the other are no accident of a learning rate.
MOST_FAILURES_IN_A_ROW = 6
CAUSE_CHARS = 300
#: What to do where the folder of the records will not do.
ELSEWHERE = "run it in a checkout of your own"


@dataclass(frozen=True)
class Going:
    """A run that is going on."""

    job: Job
    start: str
    process: "subprocess.Popen[bytes]"
    folder: Path
    began: float

    @property
    def key(self) -> str:
        """Of its record."""
        return key_of(self.job.run, self.start)


class Runner:
    """The runs of a question on a task.

    Args:
        question, task: what is run.
        minutes: no run is started that is expected to end later than so many from now.
        workers: runs at a time.
        retry: run what failed once more.
        results: the folder of all records; new ones go into the file of this question and task.
        work: a folder for what is not kept.
        child: the command of a run.

    Raises:
        UserError: another process runs the same, or a file of records is damaged.
    """

    def __init__(
        self,
        question: Question,
        task: str,
        *,
        minutes: float = inf,
        workers: int = 2,
        retry: bool = False,
        results: Path = files.FOLDER,
        work: Path = WORK,
        child: Sequence[str] = CHILD,
    ) -> None:
        self.question, self.task, self.workers, self.retry = question, task, workers, retry
        self.deadline = time.monotonic() + 60 * minutes
        self.results, self.work, self.child = results, work, child
        self.records = Records(results)
        self.going: list[Going] = []
        self.tried: set[str] = set()
        self.failures_in_a_row = 0

    def run(self) -> int:
        """Run until nothing is left, or the time is up, or a signal asks to end; then runs that go on are ended.

        Returns:
            The number of that signal, or 0.

        Raises:
            UserError: too many runs failed one after the other.
        """
        with self._alone() as folder:
            self._make_starts()
            return self._run_all(folder)

    def _run_all(self, folder: Path) -> int:
        with Stops() as stops:
            try:
                while not stops.signals:
                    self._take_up_finished()
                    while len(self.going) < self.workers and not stops.signals and (next_one := self._next()):
                        self.going.append(self._start(folder, *next_one))
                    if not self.going:
                        break
                    time.sleep(POLL_SECONDS)
            finally:
                ended = len(self.going)
                self._end_all()
            if stops.signals:
                print(f"{stops.names[0]}: {ended} runs were ended and left no record", flush=True)
            return stops.signals[0] if stops.signals else 0

    def _make_starts(self) -> None:
        """Before there are runs, which would have to wait: to make a start takes most of a minute."""
        seeds = {seed for arm in self.question.arms.values() for seed in (*arm.tuning.seeds, *arm.tuning.best_two)}
        for seed in sorted({self.question.start_seed(seed) for seed in (*self.question.seeds, *seeds)}):
            starts.start_of(self.task, seed, self.work / "starts")

    @contextmanager
    def _alone(self) -> Iterator[Path]:
        name = f"{self.question.name}-{self.task}"
        folder = self.work / name
        # Beside the records, not in the checkout's own folder: checkouts may share their records.
        beside = self.results / f".{name}"
        with held(beside, str(beside), f"{self.question.name} on {self.task}", ELSEWHERE) as lock:
            lock.truncate(0)
            lock.write(f"process {os.getpid()}")
            lock.flush()
            folder.mkdir(parents=True, exist_ok=True)
            for left_over in folder.glob("run-*"):  # by a runner that was killed
                shutil.rmtree(left_over)
            yield folder

    def _start_digest(self, run: Run) -> str:
        return starts.start_digest(starts.start_of(run.task, run.start_seed, self.work / "starts"))

    def _found(self, run: Run) -> dict[str, Any] | None:
        return self.records.of(run, self._start_digest(run))

    def _next(self) -> tuple[Job, str] | None:
        """The first run that is missing and fits into the time, with the digest of its start."""
        if time.monotonic() >= self.deadline:
            return None
        for job in jobs(self.question, self.task, self._found):
            expected = self.records.expected_seconds(job.run) or 0.0
            if not job.ready or time.monotonic() + expected > self.deadline:
                continue
            start = self._start_digest(job.run)
            key = key_of(job.run, start)
            record = self.records.of(job.run, start)
            done = record is not None and (record["state"] == "finished" or not self.retry or key in self.tried)
            if not done and key not in [going.key for going in self.going]:
                return job, start
        return None

    def _start(self, folder: Path, job: Job, start: str) -> Going:
        run_folder = Path(tempfile.mkdtemp(prefix="run-", dir=folder))
        asked = {
            "start": str(starts.start_of(job.run.task, job.run.start_seed, self.work / "starts")),
            "settings": asdict(job.run.settings),
            "evaluation": asdict(job.run.evaluation),
            "out": str(run_folder / "result.json"),
        }
        with (run_folder / "log.txt").open("wb") as log:
            process = subprocess.Popen(
                self.child,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
                start_new_session=True,  # Ctrl-C is for the runner, which ends its runs
            )
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already: its status and its log say why
            process.stdin.write(json.dumps(asked).encode() + b"\n")
            process.stdin.flush()
        self.tried.add(key_of(job.run, start))
        return Going(job, start, process, run_folder, time.monotonic())

    def _take_up_finished(self) -> None:
        for going in list(self.going):
            status = going.process.poll()
            if status is None:
                continue
            self.going.remove(going)
            self._close(going)
            outcome = _outcome(going, status)
            record = record_of(going.job.run, going.start, wall_seconds=time.monotonic() - going.began, **outcome)
            self._keep(record)
            shutil.rmtree(going.folder)
            self._tell(going.job, record)

    def _keep(self, record: dict[str, Any]) -> None:
        files.append(files.file_of(self.question.name, self.task, self.results), record)
        self.records.add(record)

    def _tell(self, job: Job, record: dict[str, Any]) -> None:
        print(line(self.question, self.task, job, record, self.records, self.workers), flush=True)
        self.failures_in_a_row = self.failures_in_a_row + 1 if record["state"] == "failed" else 0
        if self.failures_in_a_row == MOST_FAILURES_IN_A_ROW:
            raise UserError(
                f"{MOST_FAILURES_IN_A_ROW} runs in a row failed, the last with `{record['cause']}`: mend that, and run "
                "the same command with --retry"
            )

    def _end_all(self) -> None:
        for going in self.going:
            going.process.terminate()
        until = time.monotonic() + GRACE_SECONDS
        for going in self.going:
            try:
                going.process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                going.process.kill()
                going.process.wait()
            self._close(going)
            shutil.rmtree(going.folder)
        self.going.clear()

    @staticmethod
    def _close(going: Going) -> None:
        assert going.process.stdin is not None
        with suppress(BrokenPipeError):  # what could not be written is dropped
            going.process.stdin.close()


def _outcome(going: Going, status: int) -> dict[str, Any]:
    """The result of a run that has ended, or the cause of its failure."""
    if status == 0:
        return {"result": json.loads((going.folder / "result.json").read_text())}
    if status < 0:
        return {"cause": f"killed by {signal.Signals(-status).name}"}
    said = [line for line in (going.folder / "log.txt").read_text(errors="replace").splitlines() if line.strip()]
    cause = said[-1] if said else f"ended with status {status}"
    return {"cause": cause.replace(f"{ROOT}/", "")[:CAUSE_CHARS]}
