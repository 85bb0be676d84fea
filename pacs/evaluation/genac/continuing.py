"""Continuations of states of an actor's responses: an evaluation, which goes on where it stopped."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pacs.evaluation.evaluate import Asked, encode, fill
from pacs.evaluation.genac.states import State
from pacs.evaluation.model import find_model
from pacs.evaluation.process import StopRequest, locked
from pacs.evaluation.sample import Problem
from pacs.evaluation.settings import read_settings
from pacs.evaluation.tasks import Task

#: Tasks of continuations -> the states' file and the states.
OfTasks = Mapping[str, tuple[Path, Sequence[State]]]


def go_on(
    responses: Asked, out: Path, problems: Mapping[str, list[Problem]], states: OfTasks, count: int, stop: StopRequest
) -> None:
    """Sample and grade continuations of states, as many of each.

    A response has the state's text before what was sampled, is graded as a whole, and has as many tokens as the actor
    may have for a whole response.

    Args:
        responses: the evaluation that the states are of.
        out: the folder of the continuations.
        problems: of each task of continuations.
        states: of the same tasks.
        count: K.
        stop: asked several times a second.

    Raises:
        UserError, EngineFailure, Stopped: As `evaluate`.
    """
    settings = read_settings(responses.out)
    model = find_model(settings.model.folder)
    tasks = [Task(name, file, count, (1,)) for name, (file, _) in states.items()]
    asked = replace(
        responses, model=settings.model.folder, tasks=tasks, out=out, sampling=settings.sampling,
        verifiers=settings.verifiers,
    )  # fmt: skip
    whole_prompts, context, reasoning = encode(model, dict(problems), settings.sampling)
    of_states: dict[str, list[Problem]] = {}
    prompts: dict[tuple[str, str], list[int]] = {}
    begun: dict[tuple[str, str], int] = {}
    for name, (_, some) in states.items():
        known = {problem.id: problem for problem in problems[name]}
        going_on = [state for state in some if not state.ended]
        of_states[name] = [replace(known[state.problem], id=state.id) for state in going_on]
        for state in going_on:
            prompts[name, state.id] = [*whole_prompts[name, state.problem], *state.tokens]
            begun[name, state.id] = len(state.tokens)
    with locked(out), stop:
        fill(asked, model, of_states, prompts, context, reasoning, stop, begun)
