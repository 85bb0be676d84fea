"""What is known of a set's states and what critics say of them, compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pacs.base.errors import UserError
from pacs.base.statistics import Estimate
from pacs.evaluation.genac.states import State
from pacs.evaluation.genac.statistics import (
    Bin,
    Floats,
    TopOne,
    Truth,
    calibration,
    explained,
    label_noise,
    mean_error,
    squared_errors,
    top_one,
)

#: By task and state: a critic's value, None where it cannot be read.
Predictor = Mapping[tuple[str, str], float | None]
#: How many candidates are compared.
SIZES = (2, 4, 8)
#: Beside the critics: the rate for all states, and for each the value of its problem.
RATE, INITIAL = "the rate everywhere", "V of the problem"


@dataclass(frozen=True)
class Known:
    """A set of states and what is known of them.

    Attributes:
        states: whose values are compared with the critics'.
        candidates: of some of them, among which the best is looked for.
        values: by the ids of both, the mean outcome of the continuations.
        rate: the actor's success rate.
        continuations: K.
    """

    states: Sequence[State]
    candidates: Sequence[State]
    values: Mapping[str, float]
    rate: float
    continuations: int


@dataclass(frozen=True)
class Quality:
    """How good a critic's values are.

    Attributes:
        error: mean squared, less the labels' noise.
        explained: share of the variance of true values; None if they do not vary.
        unparsable: share of states whose value could not be read; the rate stands in for it.
        bins: calibration.
        top: by how many candidates are compared.
    """

    error: Estimate
    explained: float | None
    unparsable: float = 0.0
    bins: Sequence[Bin] = ()
    top: Mapping[int, TopOne] = field(default_factory=dict)


@dataclass(frozen=True)
class SetResult:
    """Of a set of states.

    Attributes:
        problems, states, continuations: how many; the last of each state.
        rate: the actor's success rate.
        mean, variance: of the true values.
        noise: the labels' in the mean.
        qualities: by the critic's name, those of RATE and INITIAL first.
    """

    problems: int
    states: int
    continuations: int
    rate: float
    mean: float
    variance: float
    noise: float
    qualities: Mapping[str, Quality]


def result_of(task: str, known: Known, predictors: Mapping[str, Predictor]) -> SetResult:
    """Compare what critics say of a task's states with what is known.

    Raises:
        UserError: a critic says nothing of a state.
    """
    ids = [state.id for state in known.states]
    problems = {name: number for number, name in enumerate(dict.fromkeys(state.problem for state in known.states))}
    values = np.array([known.values[name] for name in ids])
    truth = Truth(
        values, label_noise(values, known.continuations), np.array([problems[state.problem] for state in known.states])
    )
    qualities = {
        RATE: _quality(squared_errors(np.full(len(ids), known.rate), truth), truth),
        INITIAL: _quality(_initial_errors(known, truth), truth),
    }
    for name, predictor in predictors.items():
        try:
            said = {state.id: predictor[task, state.id] for state in (*known.states, *known.candidates)}
        except KeyError as error:
            raise UserError(
                f"{name} has no value of the state {error.args[0][1]} of {task}: give all of them"
            ) from None
        filled = {state: known.rate if value is None else value for state, value in said.items()}
        predicted = np.array([filled[name] for name in ids])
        errors = squared_errors(predicted, truth)
        qualities[name] = Quality(
            mean_error(errors, truth),
            explained(errors, truth),
            sum(value is None for value in said.values()) / len(said),
            calibration(predicted, truth),
            _tops(known, filled),
        )
    weights = truth.weights
    return SetResult(
        problems=len(problems),
        states=len(ids),
        continuations=known.continuations,
        rate=known.rate,
        mean=float(weights @ values),
        variance=truth.variance,
        noise=float(weights @ truth.noise),
        qualities=qualities,
    )


def _quality(errors: Floats, truth: Truth) -> Quality:
    return Quality(mean_error(errors, truth), explained(errors, truth))


def _initial_errors(known: Known, truth: Truth) -> Floats:
    """Of the value of the problem in place of each state's: its own noise is taken out too."""
    places = {state.problem: place for place, state in enumerate(known.states) if state.segment == 0}
    first = np.array([places[state.problem] for state in known.states])
    errors = squared_errors(truth.values[first], truth, truth.noise[first])
    return np.where(first == np.arange(len(first)), 0.0, errors)


def _tops(known: Known, predicted: Mapping[str, float]) -> dict[int, TopOne]:
    of_states: dict[str, tuple[list[float], list[float]]] = {}
    for state in known.candidates:
        said, best = of_states.setdefault(state.follows or "", ([], []))
        said += [predicted[state.id]] * state.copies
        best += [known.values[state.id]] * state.copies
    found = {size: top_one(list(of_states.values()), size) for size in SIZES}
    return {size: top for size, top in found.items() if top is not None}
