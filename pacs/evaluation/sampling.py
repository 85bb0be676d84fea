"""What is missing in an evaluation's folder, and filling it: generation, grading beside it, progress and times."""

import sys
import time
from collections import Counter, deque
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from tqdm import tqdm

from pacs.base.terminal import print
from pacs.evaluation.engine import EngineSettings, Finished, Request
from pacs.evaluation.folder import LOGS, Store, Timing, read_grades, read_timing, within, write_timing
from pacs.evaluation.grade import Grader
from pacs.evaluation.process import StopRequest
from pacs.evaluation.sample import Grade, Problem, Sample, sample_seed
from pacs.evaluation.settings import Settings

#: Between two lines where they do not replace each other.
LOG_SECONDS = 30.0
#: Between two writes of the times; a start that is killed loses as much.
WRITE_SECONDS = 5.0


class Progress:
    """Samples of all, tokens a second, the share that is right, the time left.

    Args:
        total: samples that there will be.
        done: that there are.
        right, graded: of those that were graded before.
    """

    def __init__(self, total: int, done: int, right: int, graded: int) -> None:
        interval = 0.5 if sys.stderr.isatty() else LOG_SECONDS
        self._bar = tqdm(total=total, initial=done, unit=" samples", mininterval=interval, smoothing=0.05)
        self._right, self._graded, self._tokens, self._started = right, graded, 0, time.monotonic()

    def sampled(self, tokens: int) -> None:
        """A sample has come."""
        self._tokens += tokens
        self._bar.update()

    def graded(self, grade: Grade) -> None:
        """A grade has come."""
        self._graded += 1
        self._right += grade.status == "correct"
        rate = self._tokens / (time.monotonic() - self._started)
        self._bar.set_postfix_str(f"{rate:,.0f} tokens/s, {self._right / self._graded:.1%} right", refresh=False)

    def close(self) -> None:
        """End the line."""
        self._bar.close()


class Clock:
    """The time between two ticks goes to the tasks whose tokens came in it.

    Args:
        out: the evaluation's folder, where earlier starts have left their times.
        tasks: names.
    """

    def __init__(self, out: Path, tasks: list[str]) -> None:
        self._out = out
        self._timings = {task: read_timing(out, task) for task in tasks}
        self._tokens: Counter[str] = Counter()
        self._ticked = self._written = 0.0

    def start(self) -> None:
        """Count from now on."""
        self._ticked = self._written = time.monotonic()

    def sampled(self, task: str, tokens: int) -> None:
        """A sample has come."""
        self._tokens[task] += tokens

    def tick(self) -> None:
        """Attribute the time since the last one in which tokens had come; write, now and then."""
        now = time.monotonic()
        if total := self._tokens.total():
            for task, tokens in self._tokens.items():
                before, share = self._timings[task], tokens / total
                self._timings[task] = Timing(before.seconds + share * (now - self._ticked), before.tokens + tokens)
            self._tokens.clear()
            self._ticked = now
        if now - self._written > WRITE_SECONDS:
            self.write()

    def write(self) -> None:
        """Write all times."""
        self._written = time.monotonic()
        for task, timing in self._timings.items():
            write_timing(self._out, task, timing)


#: Between two looks for grades, once all samples are drawn.
POLL_SECONDS = 0.2
#: Of an evaluation's prompts: the response to each begins with its first token.
NOT_BEGUN: Mapping[tuple[str, str], int] = {}


class Work:
    """The samples that are missing, in the order in which they are drawn: problem by problem.

    Args:
        out: the evaluation's folder; this process holds its lock.
        settings: the folder's.
        problems: of the tasks to work on.
        prompts: by task and problem, as tokens.
        begun: likewise, how many tokens at a prompt's end begin the response; those that are not there: none.
    """

    def __init__(
        self,
        out: Path,
        settings: Settings,
        problems: Mapping[str, list[Problem]],
        prompts: Mapping[tuple[str, str], list[int]],
        begun: Mapping[tuple[str, str], int] = NOT_BEGUN,
    ) -> None:
        self._out, self._settings = out, settings
        self._problems = {(task, problem.id): problem for task, some in problems.items() for problem in some}
        self._stores = {task: Store(out, task, settings.model.prefix) for task in problems}
        #: What each request is for: task, problem, index.
        self._asked: dict[str, tuple[str, str, int]] = {}
        self.queue: deque[Request] = deque()
        for (task, problem), prompt in prompts.items():
            for index in range(settings.tasks[task].samples):
                if (problem, index) not in self._stores[task].sampled:
                    seed = self._seed(task, problem, index)
                    request = Request(str(len(self._asked)), prompt, seed, begun.get((task, problem), 0))
                    self._asked[request.id] = (task, problem, index)
                    self.queue.append(request)
        self._grader = Grader(settings.verifiers)
        self._clock = Clock(out, list(problems))
        self._progress: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._grader.close()
        if self._progress:
            self._progress.close()
        for store in self._stores.values():
            store.close()

    def say_what_is_there(self) -> None:
        """Print how much of each task there is, and how much there will be."""
        for task, store in self._stores.items():
            about = self._settings.tasks[task]
            there = f", {len(store.sampled):,} of them are there" if store.sampled else ""
            print(f"{task}: {about.problems:,} problems, {about.samples:,} samples of each{there}", flush=True)

    def is_done(self) -> bool:
        """Whether every sample is there, with its grade."""
        return not self.queue and all(len(store.graded) == len(store.sampled) for store in self._stores.values())

    def run(self, settings: EngineSettings, stop: StopRequest) -> None:
        """Draw and grade all that is missing; whatever happens, what is finished is kept.

        Args:
            settings: of each engine.
            stop: asked several times a second.

        Raises:
            EngineFailure: If an engine cannot start or died.
            Stopped: If `stop` asks for the end.
        """
        for task, store in self._stores.items():
            for sample in store.ungraded():
                self._grader.submit(task, self._problems[task, sample.problem], sample)
        if self.queue:
            self._generate(settings, stop)
        while self._grader.waiting:
            self._take_grades()
            stop.check()
            time.sleep(POLL_SECONDS)

    def _generate(self, settings: EngineSettings, stop: StopRequest) -> None:
        # Imported late: grading alone needs no Ray.
        from pacs.evaluation.engines import generate, running

        with running(settings, within(self._out.absolute(), LOGS), stop) as ready:
            self._start_progress()
            self._clock.start()
            try:
                generate(ready, self.queue, self._deliver, self._tick, stop)
            finally:
                self._clock.write()

    def _start_progress(self) -> None:
        """Count all that is there already, too."""
        tasks = self._settings.tasks
        total = sum(tasks[task].problems * tasks[task].samples for task in self._stores)
        done = sum(len(store.sampled) for store in self._stores.values())
        grades = [grade.status for task in self._stores for grade in read_grades(self._out, task).values()]
        self._progress = Progress(total, done, right=grades.count("correct"), graded=len(grades))

    def _deliver(self, finished: Finished) -> None:
        task, problem, index = self._asked.pop(finished.id)
        sample = Sample(problem, index, self._seed(task, problem, index), *finished[1:])
        self._stores[task].add(sample)
        self._clock.sampled(task, sample.tokens)
        self._grader.submit(task, self._problems[task, problem], sample)
        if self._progress:
            self._progress.sampled(sample.tokens)

    def _tick(self) -> None:
        self._clock.tick()
        self._take_grades()

    def _take_grades(self) -> None:
        for task, grade in self._grader.graded():
            self._stores[task].add_grade(grade)
            if self._progress:
                self._progress.graded(grade)

    def _seed(self, task: str, problem: str, index: int) -> int:
        return sample_seed(self._settings.sampling.seed, task, problem, index)
