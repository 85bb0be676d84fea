"""Runs that are broken again and again until their steps are done, and then compared with one that was left alone."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from tests.chaos import outcome, place
from tests.chaos.faults import Draw, draw
from tests.chaos.outcome import Outcome, cause_of, judge, keep, leavings
from tests.chaos.place import Place, place_for, wait_for_memory
from tests.chaos.start import MOMENT_SECONDS, Broken, Times
from tests.chaos.strike import strike, targets, watch_end
from tests.integration.real_run import REPEATABLE, STEPS, RealRun, equal, make_task

OVERRIDES = (
    *REPEATABLE,
    "trainer.val_before_train=false",
    "trainer.test_freq=2",
    f"reward.custom_reward_function.path={Path(__file__).with_name('reward.py')}",
)
#: So many starts that end by themselves one after the other, and the run is given up.
FAILED_STARTS = 3
#: In Ray's words for a process that it has killed, lest the kernel do so: other work has taken the memory.
NO_MEMORY = "running low on memory"
#: Files of a run's folder that a start may leave there that was broken.
ALLOWED = {"failed_prompt.txt", "fault.json", "stacks"}


@dataclass
class Pending:
    """An outcome that lacks what the next start says: whether it went on from where it should."""

    outcome: Outcome
    expected: int | None
    broken: Broken | None


class Campaign:
    """Breaks runs until the time is over.

    Args:
        out: a folder for what is kept: the run left alone, logs, what is compiled.
        results: the file of outcomes.
        seed: what is drawn from.
        names: of the faults to draw.
    """

    def __init__(self, out: Path, results: Path, seed: int, names: Sequence[str]) -> None:
        self.out, self.results, self.seed, self.names = out, results, seed, names
        self.folder = out / outcome.code()
        self.index = 1 + max((o.index for o in outcome.read(results) if o.seed == seed), default=-1)
        self.times = Times()
        self.pending: list[Pending] = []
        self.drawn: list[int] = []

    def go_on(self, until: float) -> None:
        """Break runs until `until`, of the monotonic clock; the last one is then left to reach its end."""
        torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
        alone = self.alone()
        while time.monotonic() < until:
            with place.disk(self.out / "disk") as disk:
                run = RealRun(self.folder / "task", disk / "run", *OVERRIDES)
                try:
                    if self.to_the_end(run, disk, until):
                        self.compare(run, alone)
                finally:
                    self.settle(None, known=False)

    def alone(self) -> RealRun:
        """The run that is left alone, made once."""
        run = RealRun(self.folder / "task", self.folder / "alone", *OVERRIDES)
        times = self.folder / "times.json"
        if times.exists():
            self.times = Times(**json.loads(times.read_text()))
            return run
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "task").mkdir(parents=True)
        make_task(run.task)
        with self.started(run, Place()) as broken:
            broken.lives_until(broken.progress, lambda: None, MOMENT_SECONDS)
            self.times.start = time.monotonic() - broken.begun
            broken.process.wait(MOMENT_SECONDS)
            problems = leavings(broken.left(), broken.place.segments(), broken.place.files(broken.token))
            if broken.process.returncode:
                raise RuntimeError(f"a run that is left alone fails: {broken.start.printed[-3000:]}")
            progress = broken.progress()
        self.times.step = (progress.step_seconds if progress else None) or self.times.step
        keep(Outcome("none (a run left alone)", "its end", status=0, problems=problems), self.results)
        times.write_text(json.dumps(asdict(self.times)))
        return run

    @contextmanager
    def started(self, run: RealRun, where: Place, *overrides: str) -> Iterator[Broken]:
        """A start; whatever happens, nothing of it is left."""
        broken = Broken(run, where, self.out / "compiled", *overrides)
        try:
            yield broken
        finally:
            if broken not in [pending.broken for pending in self.pending]:
                broken.remove()

    def to_the_end(self, run: RealRun, disk: Path, until: float) -> bool:
        """Start a run, break it, and so on, until it is finished; False if it does not come to that."""
        self.drawn, failed = [], 0
        while failed < FAILED_STARTS:
            wait_for_memory()
            drawn = draw(self.seed, self.index, self.names) if time.monotonic() < until else None
            with self.started(run, place_for(drawn), *(drawn.fault.overrides if drawn else ())) as broken:
                if self.struck(broken, drawn, disk):
                    failed = 0
                elif broken.process.poll() == 0:
                    return True
                else:
                    failed += 1
        return False

    def struck(self, broken: Broken, drawn: Draw | None, disk: Path) -> bool:
        """Break a start and judge how it ends; False if it had ended before (or is to be left to its end)."""
        try:
            comes = broken.lives_until(lambda: drawn and broken.at(drawn), lambda: self.note(broken), MOMENT_SECONDS)
            delay = time.monotonic() + (drawn.delay * self.times.within(drawn.moment) if drawn else 0)
            comes = comes and broken.lives_until(
                lambda: time.monotonic() >= delay and (targets(broken, drawn) or not drawn.fault.titles),
                lambda: self.note(broken),
                MOMENT_SECONDS,
            )
        except TimeoutError:
            self.settle_failed(broken, drawn, outcome.HANG, f"nothing came of it for {MOMENT_SECONDS:.0f} s")
            return False
        if drawn is None or not comes:
            if broken.process.returncode == 0:
                self.settle(STEPS)
            else:
                self.settle_failed(broken, drawn, outcome.BY_ITSELF, cause_of(broken) or "")
            return False
        self.index += 1
        self.drawn.append(drawn.index)
        at = broken.at_what()
        load = round(os.getloadavg()[0], 1)
        strike(broken, drawn, disk)
        end = watch_end(broken, drawn)
        (disk / "filler").unlink(missing_ok=True)
        result = Outcome(drawn.fault.name, drawn.moment, self.seed, drawn.index, at, end.seconds, load=load)
        result.cause, result.status = cause_of(broken, drawn.fault.next_clears), broken.process.returncode
        result.problems = judge(drawn, broken, end)
        if end.went_on:
            result.cause = "none: it went on"
        result.log = self.keep_log(broken, result)
        self.pending.append(
            Pending(result, newest_step(broken.run.checkpoints), broken if drawn.fault.next_clears else None)
        )
        if broken.progress() is not None and broken.process.returncode == 0:
            self.settle(STEPS)
        return True

    def note(self, broken: Broken) -> None:
        """Once a start has said from which step it goes on, the outcomes before it are whole; and how long it took."""
        if self.pending and (state := broken.state()) is not None:
            self.settle(state.resumed_from)
        if not broken.trained and broken.progress() is not None:
            broken.trained, self.times.start = True, time.monotonic() - broken.begun

    def settle(self, resumed: int | None, *, known: bool = True, why: str = "") -> None:
        """Write the outcomes that waited for the next start.

        Args:
            resumed: the step that it goes on from.
            known: whether there was a next start at all.
            why: it failed.
        """
        for pending in self.pending:
            result = pending.outcome
            result.resumed = resumed
            if why or (known and resumed != pending.expected):
                result.problems[outcome.NOT_RESUMED] = why or f"from {resumed}, not from {pending.expected}"
            if pending.broken is not None:
                if known and (left := pending.broken.left_of_former()):
                    result.problems[outcome.PROCESSES] = f"the next start left {'; '.join(left)}"
                pending.broken.remove()
            keep(result, self.results)
        self.pending.clear()

    def settle_failed(self, broken: Broken, drawn: Draw | None, what: str, how: str) -> None:
        """A start that nobody has touched does not get on: the fault before it is to blame, if it is the first."""
        if self.pending:
            last = self.pending[-1].outcome
            last.problems[outcome.NOT_RESUMED] = how
            last.log = self.keep_log(broken, last)
            self.settle(None, why=f"{what}: {how}")
            return
        result = Outcome("none (a start that was not touched)", drawn.moment if drawn else "its end", self.seed)
        result.at, result.cause, result.problems = broken.at_what(), cause_of(broken), {what: how}
        if NO_MEMORY in how:
            result.fault, result.moment = "the machine's memory ran out (not drawn)", ""
            result.problems = leavings(broken.left(), broken.place.segments(), broken.place.files(broken.token))
        result.log = self.keep_log(broken, result)
        keep(result, self.results)

    def keep_log(self, broken: Broken, result: Outcome) -> str | None:
        """Copy what tells of a start in which something did not hold."""
        if not result.problems:
            return None
        name = re.sub(r"\W+", "-", f"{self.seed}-{result.index}-{result.fault}")
        folder = self.out / "logs" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        shutil.copy(broken.start.log, folder / "printed.log")
        for file in broken.run.folder.glob("*.json"):
            shutil.copy(file, folder)
        if (broken.run.folder / "stacks").exists():
            shutil.copytree(broken.run.folder / "stacks", folder / "stacks")
        for logs in (broken.place.temporary / "ray").glob("session_2*/logs"):
            shutil.copytree(logs, folder / "ray", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.sock"))
        return str(folder.relative_to(self.out))

    def compare(self, run: RealRun, alone: RealRun) -> None:
        """Hold the end of a run against that of the one that was left alone."""
        parts = {
            "actor": equal(run.policy(STEPS), alone.policy(STEPS)),
            "optimizer": equal(run.optimizer(STEPS), alone.optimizer(STEPS)),
            "reference": equal(run.reference(STEPS), alone.reference(STEPS)),
        }
        unlike = ", ".join(part for part, same in parts.items() if not same)
        result = Outcome("none (a run's end)", f"after {len(self.drawn)} faults", self.seed, status=0)
        result.problems = {outcome.WEIGHTS: f"{unlike}, after the faults {self.drawn}"} if unlike else {}
        extra = {file.name for file in run.folder.iterdir()} - {file.name for file in alone.folder.iterdir()} - ALLOWED
        if extra:
            result.problems[outcome.FILES] = f"in the run's folder: {' '.join(sorted(extra))}"
        keep(result, self.results)


def newest_step(checkpoints: Path) -> int | None:
    """The step of the newest checkpoint whose marker is there."""
    steps = [int(marker.parent.name.rpartition("_")[2]) for marker in checkpoints.glob("global_step_*/complete.json")]
    return max(steps, default=None)
