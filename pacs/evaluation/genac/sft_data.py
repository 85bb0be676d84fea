"""`pacs genac sft-data`: what a teacher says of an actor's partial responses, for a critic to begin with.

In its folder: traces.jsonl, a trace a line as soon as it is there, whose first line says of what; train.parquet, those
that can be read, as plain text (`prompt`, `response`) or as conversations of two messages (`messages`).
"""

import hashlib
import json
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from pacs.algorithm.genac.parsing import read_score
from pacs.base import locks
from pacs.base.errors import UserError
from pacs.base.files import Appender, check_folder, read_lines
from pacs.base.terminal import print
from pacs.data.chat_template import load_tokenizer
from pacs.evaluation.folder import read_task, task_names
from pacs.evaluation.genac.sft_rows import Question, SftTrace, row_of, write_rows
from pacs.evaluation.genac.states import Cuts, choose_states
from pacs.evaluation.genac.teacher import Refused, Reply, Server, ServerFailure, Teacher
from pacs.evaluation.genac.templates import Asking
from pacs.evaluation.process import StopRequest
from pacs.evaluation.settings import read_settings

TRACES, PARQUET = "traces.jsonl", "train.parquet"
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class SftRequest:
    """What the command asks for.

    Attributes:
        evaluation: folder of the actor's responses.
        tasks: of it; None: all.
        out: folder to write to.
        server: the teacher's.
        asking: what it is asked.
        parallel: requests at a time.
        states: of each response, how many are drawn.
        seed: of the draw.
        cuts: where segments end.
        tokenizer: folder of the actor's tokenizer, where the evaluation's model is gone.
        chat: the parquet has conversations; else plain text, as training asks.
    """

    evaluation: Path
    tasks: Sequence[str] | None
    out: Path
    server: Server
    asking: Asking
    parallel: int
    states: int
    seed: int
    cuts: Cuts = field(default_factory=Cuts)
    tokenizer: Path | None = None
    chat: bool = False


def make(asked: SftRequest, stop: StopRequest) -> Counter[str]:
    """Ask about what is missing, then write the parquet.

    Returns:
        How many traces could be read, and how many could not for which reason.

    Raises:
        UserError: the evaluation is not complete, or the server refuses all questions.
        ServerFailure: the server fails; what it has answered is kept.
        Stopped: `stop` asks for the end; the same, with what was under way.
    """
    check_folder(asked.out)
    questions = list(_questions(asked))
    about = {
        "teacher": asked.server.model,
        "request": dict(asked.server.body),
        "template": asked.asking.template.text,
        "questions": hashlib.sha256(json.dumps([[each.key, each.text] for each in questions]).encode()).hexdigest(),
    }
    with locks.held(asked.out, f"--out {asked.out}", "a teacher is asked"), stop:
        traces = _read(asked.out, about)
        missing = deque(each for each in questions if each.key not in traces)
        print(f"{len(questions):,} states, {len(questions) - len(missing):,} of them are answered", flush=True)
        writer = Appender(asked.out / TRACES)
        with closing(writer):
            if not traces and (asked.out / TRACES).stat().st_size == 0:
                writer.write(about)
            for question, trace in _ask(asked, missing, stop):
                traces[question.key] = trace
                writer.write(asdict(trace))
        readable = [each for each in questions if traces[each.key].score is not None]
        rows = [row_of(each, traces[each.key], chat=asked.chat) for each in readable]
        if not rows:
            raise UserError(
                f"--teacher {asked.server.model}: none of its {len(questions):,} answers ends in a score; they are in "
                f"{asked.out / TRACES}: does --template ask for one?"
            )
        write_rows(asked.out / PARQUET, rows)
    return Counter(trace.outcome for trace in traces.values())


def _questions(asked: SftRequest) -> Iterator[Question]:
    """Of all states, in the order of tasks, problems and responses."""
    known = task_names(asked.evaluation)
    tasks = known if asked.tasks is None else asked.tasks
    if unknown := [task for task in tasks if task not in known]:
        raise UserError(f"--tasks {','.join(unknown)}: {asked.evaluation} has {', '.join(known)}")
    try:
        tokenizer = load_tokenizer(str(asked.tokenizer or read_settings(asked.evaluation).model.folder))
    except UserError as error:
        said = str(error).removeprefix("--model ")
        raise UserError(f"the actor's tokenizer: {said}: name a folder that has it by --tokenizer") from None
    for name in tasks:
        task = read_task(asked.evaluation, name)
        scores = [graded.score for samples in task.samples.values() for graded in samples]
        measured = sum(scores) / len(scores)
        rate = measured if asked.asking.success_rate is None else asked.asking.success_rate
        print(f"{name}: success rate {measured:.3f}; the teacher is told {rate:.2f}", flush=True)
        prompts = {problem.id: problem.prompt for problem in task.problems}
        for state in choose_states(task, tokenizer, asked.cuts, asked.states, asked.seed):
            yield Question(name, state, asked.asking.words(prompts[state.problem], state.text, rate))


def _read(out: Path, about: Mapping[str, Any]) -> dict[str, SftTrace]:
    """The traces that are there, by their keys."""

    def read(line: dict[str, Any]) -> SftTrace | dict[str, Any]:
        return SftTrace(**line | {"reply": line["reply"] and Reply(**line["reply"])}) if "key" in line else line

    traces = {}
    mend = "remove that line, and the same command makes up for it"
    for line in read_lines(out / TRACES, read, mend):
        if isinstance(line, SftTrace):
            traces[line.key] = line
        elif line != about:
            differing = ", ".join(name for name in about if line.get(name) != about[name])
            raise UserError(f"--out {out} has traces with another {differing}: give the same, or another --out")
    return traces


def _ask(asked: SftRequest, missing: deque[Question], stop: StopRequest) -> Iterator[tuple[Question, SftTrace]]:
    """Each question with its answer, as they come. The first goes alone: what it shows to be wrong costs no more.

    After a failure or a signal nothing more is asked. What is under way then is paid for, and kept.
    """
    ended = threading.Event()
    asking: dict[Future[SftTrace], Question] = {}
    answered = False
    failure: Exception | None = None
    with (
        closing(Teacher(asked.server, ended)) as teacher,
        ThreadPoolExecutor(asked.parallel) as threads,
        tqdm(total=len(missing), unit=" traces", disable=None) as progress,
    ):
        try:
            while asking or (missing and not ended.is_set()):
                while missing and not ended.is_set() and len(asking) < (asked.parallel if answered else 1):
                    question = missing.popleft()
                    asking[threads.submit(_trace, teacher, question)] = question
                for future in wait(asking, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED).done:
                    question = asking.pop(future)
                    try:
                        trace = future.result()
                        if trace.refused and not answered:
                            raise UserError(f"the server refuses the first question with {trace.refused}")
                    except (UserError, ServerFailure) as error:
                        failure = failure or error
                        ended.set()
                        continue
                    answered = True
                    progress.update()
                    yield question, trace
                if stop.signals:
                    ended.set()
        finally:
            ended.set()
    if ended.is_set() and (failure or missing):
        stop.check()
        if failure:
            raise failure


def _trace(teacher: Teacher, question: Question) -> SftTrace:
    try:
        reply = teacher.answer(question.text)
    except Refused as error:
        return SftTrace(question.key, None, None, str(error))
    return SftTrace(question.key, read_score(reply.text), reply)
