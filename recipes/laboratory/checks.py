"""What settings of a run go together, section by section: raises before a run that would train on something else."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pacs.algorithm import Method
from pacs.algorithm.distillation import TEACHER, teacher_of
from pacs.algorithm.vineppo import STEP_VALUE
from pacs.base.errors import UserError, did_you_mean
from pacs.rewards.composite import RewardSettings
from pacs.rewards.reference_answer import NAME as REFERENCE_PROBABILITY
from pacs.runs.settings import DarsSettings, GuidedSettings, PoolSettings, VineSettings
from recipes.laboratory import adapters, mini_batches
from recipes.laboratory.dapo import Dapo
from recipes.laboratory.ppo import Ppo

if TYPE_CHECKING:
    from recipes.laboratory.settings import Settings

#: What may grade a step's responses in place of their rows' own verifier.
GRADERS = ("exact_match", REFERENCE_PROBABILITY)
#: What a teacher's run may say.
OF_A_TEACHER = ("method", "options", "steps", "prompts", "responses", "updates_per_step", "lr", "seed")


def _guided(settings: "Settings", method: Method) -> None:
    try:
        guided = settings.retrying
    except ValueError as error:
        raise UserError(str(error).replace(f"{GuidedSettings.SECTION}.", "guided.")) from error
    if not settings.guided:
        return
    if guided.after is None or guided.guidance != "error":
        raise UserError(
            f"guided={dict(settings.guided)}: set after (failed or unsolved) and guidance=error: the laboratory's "
            "problems have no hints and no solutions"
        )
    others = {
        "dars": settings.dars, "vine": settings.vine, "staleness": settings.staleness, "reward": settings.reward,
        "graded_by": settings.graded_by, "method.token_weight": method.token_weight.name,
        "rounds": isinstance(method, Dapo) and method.rounds > 1,
    }  # fmt: skip
    for name, there in others.items():
        if there:
            raise UserError(f"guided with {name} is not built here: leave one of them out")


def _reward(settings: "Settings", method: Method) -> None:
    try:
        reward = RewardSettings.from_mapping(settings.reward)
    except ValueError as error:
        raise UserError(str(error).replace(f"{RewardSettings.SECTION}.", "reward.")) from error
    if settings.reward and reward.total is None:
        raise UserError("reward has no total, without which nothing of it is read: set sum, clip or threshold")
    if "judge" in reward.weights:
        raise UserError("reward.judge: there is no server of a judge here: leave it out")
    if settings.graded_by not in (None, *GRADERS):
        raise UserError(
            f"graded_by={settings.graded_by} is not known: choose one of {', '.join(GRADERS)}."
            f"{did_you_mean(str(settings.graded_by), GRADERS)}"
        )
    by_probability = settings.graded_by == REFERENCE_PROBABILITY
    if settings.train_answer and not by_probability:
        raise UserError(f"train_answer=true is of graded_by={REFERENCE_PROBABILITY} alone: leave it out")
    if by_probability and settings.staleness:
        raise UserError(f"graded_by={REFERENCE_PROBABILITY} with staleness is not built: leave one out")
    if settings.vine and (settings.graded_by or settings.reward):
        raise UserError(
            "vine with reward or graded_by is not built: a step's value is the share of its completions that the "
            "rows' own verifier takes for right, and would be taken off another reward: leave one out"
        )
    again = {"dars": settings.dars, "pool": settings.pool, "rounds": isinstance(method, Dapo) and method.rounds > 1}
    for name in [name for name, there in again.items() if there and settings.graded_by]:
        raise UserError(
            f"graded_by={settings.graded_by} with {name} is not built: what is sampled would follow the rows' own "
            "verifier, which such a run is not to know: leave one out"
        )
    graded = by_probability or (settings.reward and reward.total != "threshold")
    if graded and method.label_kind == "classes":
        raise UserError(
            f"method={settings.method} trains on right and wrong responses alone: set reward.total=threshold, or use a "
            "method that takes numbers, as pacs or grpo"
        )


def check_vine(settings: "Settings", method: Method) -> None:
    """Raise UserError where completions have no method that reads them, or a method has none to read."""
    try:
        vine = settings.valuing
    except ValueError as error:
        raise UserError(str(error).replace(f"{VineSettings.SECTION}.", "vine.")) from error
    completions = vine.completions
    if settings.vine and completions is None:
        raise UserError("vine has no completions, without which nothing of it is read: set how many value a step")
    if (completions is not None and not vine.train_completions) != (STEP_VALUE in method.reads):
        if STEP_VALUE in method.reads:
            mend = "leave train_completions out" if completions else "set vine.completions, as 9"
        else:
            mend = "leave it out, or set vine.train_completions=true to train on them"
        raise UserError(f"vine.completions={completions} with method={settings.method}: {mend}")
    if completions and settings.dars:
        raise UserError("vine with dars is not tried: leave one of them out")
    if vine.train_completions and completions and completions < method.smallest_group:
        raise UserError(
            f"vine.completions={completions}: {settings.method} with these options compares at least "
            f"{method.smallest_group} completions of a prefix; raise it"
        )
    if completions and isinstance(method, Dapo) and method.rounds > 1:
        raise UserError(f"vine with method={settings.method}, which replaces prompts: set rounds=1, or leave vine out")


def _pool(settings: "Settings", method: Method) -> None:
    try:
        weights = settings.drawing.weights
    except ValueError as error:
        raise UserError(str(error).replace(f"{PoolSettings.SECTION}.", "pool.")) from error
    if settings.pool and weights is None:
        raise UserError("pool has no weights, without which nothing of it is read: set uniform, sqrt or target")


def _dars(settings: "Settings", method: Method) -> None:
    try:
        dars = settings.second_stage
    except ValueError as error:
        raise UserError(str(error).replace(f"{DarsSettings.SECTION}.", "dars.")) from error
    if dars.schedule is None:
        return
    if dars.most <= settings.responses:
        raise UserError(f"dars.most={dars.most} must be above responses={settings.responses}, the first ones")
    if isinstance(method, Dapo) and method.rounds > 1:
        raise UserError(
            f"dars: method={settings.method} replaces prompts instead: leave one of them out, or set rounds=1"
        )


def _adapters(settings: "Settings", method: Method) -> None:
    adapters.check(settings.adapters)
    if settings.adapters and isinstance(method, Ppo):
        raise UserError("adapters with method=ppo: its critic would be trained with them: leave one of them out")


def _mini_batches(settings: "Settings", method: Method) -> None:
    mini_batches.check(settings.mini_batches, method)


def _teacher(settings: "Settings", method: Method) -> None:
    teacher, example = settings.teacher, "teacher: {method: grpo, steps: 120, lr: 1.0e-4, seed: 200}"
    if not isinstance(teacher, Mapping):
        raise UserError(f"teacher={teacher!r}: say its run, as {example}")
    if teacher_of(method):
        raise UserError(f"options.teacher={teacher_of(method)}: in the laboratory the setting `teacher` says its run")
    if teacher and TEACHER not in method.reads:
        raise UserError(f"teacher with method={settings.method}, which has none: leave it out")
    if TEACHER in method.reads and not teacher:
        raise UserError(f"method={settings.method} has no teacher: say its run, as {example}")
    if unknown := [name for name in teacher if name not in OF_A_TEACHER]:
        raise UserError(
            f"teacher.{unknown[0]} is no setting of a teacher's run: choose from {', '.join(OF_A_TEACHER)}."
            f"{did_you_mean(unknown[0], OF_A_TEACHER)}"
        )
    if teacher:
        try:
            type(settings)(**teacher)
        except UserError as error:
            raise UserError(f"teacher: {error}") from error


#: All of them, in their order.
CHECKS: tuple[Callable[["Settings", Method], None], ...] = (
    _dars,
    _pool,
    check_vine,
    _guided,
    _reward,
    _adapters,
    _mini_batches,
    _teacher,
)
