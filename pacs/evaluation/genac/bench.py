"""`pacs genac value-bench`: how good the values of critics are, beside means of continuations of the same states.

In its folder, all of which a start goes on with:

responses/           an evaluation of the actor
states/TASK.jsonl    places in its responses; TASK.candidates.jsonl: one segment more, of several continuations
continuations/       K of each of these, graded: an evaluation whose problems are states
critics/NAME.jsonl   what a critic says of each state
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from pacs.base import locks
from pacs.base.errors import UserError
from pacs.base.files import check_folder, read_lines, told_apart
from pacs.data.chat_template import load_tokenizer
from pacs.evaluation.evaluate import Asked, encode, evaluate
from pacs.evaluation.folder import read_task
from pacs.evaluation.genac.continuing import go_on
from pacs.evaluation.genac.critic import Critic, StateSet, Trace, ask, found_critic
from pacs.evaluation.genac.quality import Known, Predictor, SetResult, result_of
from pacs.evaluation.genac.states import Cuts, State, choose_candidates, choose_states, read_states, write_states
from pacs.evaluation.genac.templates import Asking
from pacs.evaluation.genac.value_head import found_head, head_values
from pacs.evaluation.model import find_model
from pacs.evaluation.process import StopRequest
from pacs.evaluation.sample import GradedTask
from pacs.evaluation.settings import Sampling, read_settings

RESPONSES, STATES, CONTINUATIONS, CRITICS, LOGS = "responses", "states", "continuations", "critics", "logs"
#: Behind a task's name, of its candidates.
CANDIDATES = ".candidates"


@dataclass(frozen=True)
class Bench:
    """What the command asks for.

    Attributes:
        actor: its responses, tasks and sampling; `out` is the bench's folder.
        asking: what critics are asked.
        critics: models, as they were named.
        value_heads: critics with a value head, as they were named.
        values: files of values of other critics.
        critic_sampling: of traces.
        chat: critics are asked in their chat templates.
        states: of each response, how many are drawn.
        candidates: of a state; 0: none are compared.
        continuations: K of each state.
        cuts: where segments end.
    """

    actor: Asked
    asking: Asking
    critics: Sequence[str]
    value_heads: Sequence[str]
    values: Sequence[Path]
    critic_sampling: Sampling
    states: int
    candidates: int
    continuations: int
    cuts: Cuts = field(default_factory=Cuts)
    chat: bool = False


def bench(asked: Bench, stop: StopRequest) -> dict[str, SetResult]:
    """Do what is missing, and compare.

    Returns:
        Of each task.

    Raises:
        UserError, EngineFailure, Stopped: As `evaluate`.
    """
    out = asked.actor.out
    check_folder(out)
    if max(asked.candidates, 2) > asked.continuations:
        raise UserError(
            f"--continuations {asked.continuations}: give at least {max(asked.candidates, 2)}, of which candidates "
            "(--candidates) are taken and noise is told"
        )
    for model in asked.critics:
        found_critic(model, asked.critic_sampling.max_tokens, chat=asked.chat)
    actor = str(find_model(asked.actor.model).folder)
    names = _names([*asked.critics, *asked.value_heads])
    critics, heads = names[: len(asked.critics)], names[len(asked.critics) :]
    folders = [found_head(given, actor) for given in asked.value_heads]
    others = {file.stem: _read_values(file) for file in asked.values}
    if twice := {*names} & others.keys():
        raise UserError(f"--values: {', '.join(sorted(twice))} is a critic's name too: give the file another")
    responses = replace(asked.actor, out=out / RESPONSES)
    evaluate(responses, stop)
    with locks.held(out, f"--out {out}", "a bench"):
        known = _truths(asked, responses, stop)
        sets = {
            task: StateSet(
                [*one.states, *one.candidates],
                {p.id: p.prompt for p in read_task(responses.out, task).problems},
                one.rate,
            )
            for task, one in known.items()
        }
        predictors: dict[str, Predictor] = {}
        for name, model in zip(critics, asked.critics, strict=True):
            critic = Critic(model, asked.asking, actor, asked.critic_sampling, asked.actor.options, asked.chat)
            traces = ask(critic, sets, out / CRITICS / f"{name}.jsonl", out.absolute() / LOGS / name, stop)
            predictors[name] = _by_state(traces)
        if heads:
            problems = {task: read_task(responses.out, task).problems for task in sets}
            prompts, _, _ = encode(find_model(actor), problems, asked.actor.sampling)
            for name, folder in zip(heads, folders, strict=True):
                predictors[name] = _by_state(head_values(folder, prompts, sets, out / CRITICS / f"{name}.jsonl"))
    predictors |= others
    return {task: result_of(task, one, predictors) for task, one in known.items()}


def _truths(asked: Bench, responses: Asked, stop: StopRequest) -> dict[str, Known]:
    """States, candidates and their means of outcomes; sampled as far as they are not there."""
    out = asked.actor.out
    tokenizer = load_tokenizer(read_settings(responses.out).model.folder)
    tasks = {task.name: read_task(responses.out, task.name) for task in asked.actor.tasks}
    seed = asked.actor.sampling.seed
    files = {name: out / STATES / f"{name}.jsonl" for name in tasks}
    states = {name: choose_states(task, tokenizer, asked.cuts, asked.states, seed) for name, task in tasks.items()}
    _sample(asked, responses, tasks, files, states, stop)
    continued = {name: read_task(out / CONTINUATIONS, name) for name in tasks}
    candidates: dict[str, list[State]] = {name: [] for name in tasks}
    if asked.candidates:
        of_candidates = {name: out / STATES / f"{name}{CANDIDATES}.jsonl" for name in tasks}
        for name, some in states.items():
            candidates[name] = choose_candidates(
                some, continued[name].samples, tokenizer, asked.cuts, asked.candidates, seed
            )
        _sample(asked, responses, tasks, of_candidates, candidates, stop)
    known = {}
    for name, task in tasks.items():
        values = _means(states[name], continued[name])
        if candidates[name]:
            values |= _means(candidates[name], read_task(out / CONTINUATIONS, f"{name}{CANDIDATES}"))
        rate = asked.asking.success_rate
        measured = float(np.mean([graded.score for some in task.samples.values() for graded in some]))
        known[name] = Known(
            states[name], candidates[name], values, measured if rate is None else rate, asked.continuations
        )
    return known


def _sample(
    asked: Bench, responses: Asked, tasks: Mapping[str, GradedTask], files: Mapping[str, Path],
    states: Mapping[str, Sequence[State]], stop: StopRequest,
) -> None:  # fmt: skip
    """Write states down and have their continuations sampled."""
    for name, file in files.items():
        if read_states(file) != states[name]:
            write_states(file, states[name])
    of_tasks = {file.stem: (file, states[name]) for name, file in files.items()}
    problems = {file.stem: tasks[name].problems for name, file in files.items()}
    go_on(responses, asked.actor.out / CONTINUATIONS, problems, of_tasks, asked.continuations, stop)


def _means(states: Sequence[State], continued: GradedTask) -> dict[str, float]:
    means = {}
    for state in states:
        scores = [state.outcome or 0.0] if state.ended else [each.score for each in continued.samples[state.id]]
        means[state.id] = float(np.mean(scores))
    return means


def _names(critics: Sequence[str]) -> list[str]:
    """Of the critics, for files and tables."""
    names = told_apart([Path(critic) for critic in critics]) if critics else []
    return [name.replace("/", "_") for name in names]


def _by_state(traces: Sequence[Trace]) -> Predictor:
    return {(trace.task, trace.state): trace.value for trace in traces}


def _read_values(file: Path) -> Predictor:
    """The values of a critic that is no engine's: a line {"task": ..., "state": ..., "value": ...} of each state.

    Raises:
        UserError: the file is not there, is empty or has another form.
    """
    if not file.is_file():
        raise UserError(f"--values {file}: no such file")
    mend = 'give {"task": "math500", "state": "3:0:2", "value": 0.7} a line, with states of DIR/states'

    def read(line: dict[str, object]) -> tuple[tuple[str, str], float | None]:
        value = None if line["value"] is None else float(str(line["value"]))
        if value is not None and not math.isfinite(value):
            raise ValueError(f"the value {value} is no finite number")
        return (str(line["task"]), str(line["state"])), value

    values = dict(read_lines(file, read, mend, of_others=True))
    if not values:
        raise UserError(f"--values {file} has no values: {mend}")
    return values
