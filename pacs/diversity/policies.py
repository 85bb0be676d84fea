"""The initial policy of a run and its checkpoints, and the evaluation of each: found, or made by `pacs evaluate`.

DIR/initial    the evaluation of the model that the run began with
DIR/step_20    that of its checkpoint global_step_20, named as a sweep names it
"""

import re
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import print
from pacs.base.units import duration
from pacs.checkpoints.folder import MARKER, complete_checkpoints
from pacs.checkpoints.source import find_source
from pacs.diversity.folders import is_evaluation
from pacs.evaluation.finished import check_may_go_on, is_evaluated
from pacs.evaluation.folder import MODEL, is_complete, within
from pacs.evaluation.grading import Grading, VerifierSettings
from pacs.evaluation.process import StopRequest, check_out
from pacs.evaluation.settings import read_settings
from pacs.rewards.configured import RunReward, reward_of
from pacs.rewards.reasoning import SETTING
from pacs.runs.listing import is_run
from pacs.verl_keys.names import POLICY_PATH, REWARD_FUNCTION

if TYPE_CHECKING:
    from pacs.evaluation.evaluate import Asked

INITIAL = "initial"
STEP = re.compile(r"step_([1-9]\d*)")


@dataclass(frozen=True)
class Policy:
    """The initial policy, or a checkpoint.

    Attributes:
        step: of the checkpoint; 0: the initial policy.
        model: as `pacs evaluate` takes it; None where the evaluation is all that there is.
        evaluation: its folder, which may not be there yet.
        reward: of the run, by which the initial policy is graded too.
        marker: sha256 of the checkpoint's marker, by which its evaluation knows it.
    """

    step: int
    model: str | None
    evaluation: Path
    reward: RunReward | None = None
    marker: str | None = None

    @property
    def label(self) -> str:
        """By which it is shown."""
        return f"step {self.step}" if self.step else "the initial policy"


def find_policies(run: Path, evaluations: Path, steps: Sequence[int] | None, initial: str | None) -> list[Policy]:
    """The initial policy, then the checkpoints by their steps: those that are there, and those that were evaluated.

    Args:
        run: a run's folder.
        evaluations: where the evaluations are, or are to be.
        steps: of the checkpoints; None: all.
        initial: the initial policy, a model or its evaluation; None: the model that the run's config names.

    Raises:
        UserError: It is no run, has no such checkpoint, or an evaluation is of another checkpoint.
    """
    _check_run(run)
    checkpoints, broken = complete_checkpoints(RunFolder(run).checkpoints)
    source = find_source(checkpoints[-1].folder) if checkpoints else None
    reward = source and reward_of(source.setting(REWARD_FUNCTION), source.setting(SETTING))
    found: dict[int, Policy] = {}
    for checkpoint in checkpoints:
        marker, place = file_sha256(checkpoint.folder / MARKER), evaluations / f"step_{checkpoint.step}"
        found[checkpoint.step] = Policy(checkpoint.step, str(checkpoint.folder), place, reward, marker)
    for folder in evaluations.glob("step_*"):
        if (named := STEP.fullmatch(folder.name)) and is_evaluation(folder):
            found.setdefault(int(named[1]), Policy(int(named[1]), None, folder))
    for sentence in broken:
        print(f"pacs support: left out: {sentence}")
    chosen = sorted(found if steps is None else set(steps))
    if lacking := [step for step in chosen if step not in found]:
        there = ", ".join(map(str, sorted(found))) or "none"
        raise UserError(f"--steps {lacking[0]}: {run} has no complete checkpoint of that step; there is {there}")
    if not chosen:
        raise UserError(
            f"{run} has no complete checkpoint, and {evaluations} no evaluation of one (step_N): give another run, or "
            "--evaluations DIR"
        )
    given = initial if initial is not None or source is None else source.setting(POLICY_PATH)
    if initial is not None and is_evaluation(Path(initial)):
        first = Policy(0, None, Path(initial), reward)
    else:
        first = Policy(0, given and str(given), evaluations / INITIAL, reward)
    policies = [first, *(found[step] for step in chosen)]
    for policy in policies:
        _check_is_of(policy)
    return policies


def _check_run(run: Path) -> None:
    if is_evaluation(run):
        raise UserError(
            f"{run} is an evaluation: give that of the trained model too (pacs support BASE MODEL), or a run's folder"
        )
    if run.name.startswith("global_step_"):
        raise UserError(f"{run} is one checkpoint: give the run's folder, two above it, and --steps N")
    if not is_run(run) and not RunFolder(run).checkpoints.is_dir():
        what = "is neither a run's folder nor an evaluation" if run.is_dir() else "is not there"
        raise UserError(f"{run} {what}: give the folder of a training run, or two evaluations")


def _check_is_of(policy: Policy) -> None:
    if policy.marker is None or not is_evaluation(policy.evaluation):
        return
    if read_settings(policy.evaluation).model.checkpoint != policy.marker:
        raise UserError(
            f"{policy.evaluation} is of another model than {policy.model} as it is now (was the run trained again from "
            "an earlier step?): move it away, or give another --out or --evaluations"
        )


def check_evaluations(policies: Sequence[Policy], asked: "Asked") -> None:
    """Refuse what an evaluation would refuse hours later: other settings than those of its folder, no model.

    Args:
        policies: to be evaluated.
        asked: of each, but for the model, the folder, and what the run says of grading.

    Raises:
        UserError: naming the folder or the model, and what is wrong.
    """
    from pacs.evaluation.model import find_model

    for policy in policies:
        this = _asked_of(policy, asked)
        if policy.model is not None:
            check_out(policy.evaluation)
            sampling = asdict(this.sampling)
            if sampling["dtype"] == "auto":
                del sampling["dtype"]  # as the weights are stored, which are those of the folder
            check_may_go_on(policy.evaluation, this.tasks, Grading.of(policy.reward, this.verifiers), **sampling)
        if is_evaluated(policy.evaluation, this.tasks):
            continue
        if policy.model is None:
            mend = "leave it out of --steps" if policy.step else "give --initial MODEL"
            raise UserError(
                f"{policy.evaluation} lacks some of --tasks and --samples, and the model of {policy.label} is not "
                f"known: {mend}"
            )
        if not policy.step:
            try:
                find_model(policy.model)
            except UserError as error:
                raise UserError(f"the policy that the run began with: {error}: --initial names it elsewhere") from error


def evaluate_missing(policies: Sequence[Policy], asked: "Asked", keep_models: bool) -> None:
    """`pacs evaluate` of each policy that lacks something of what is asked for, one after the other.

    Args:
        policies: checked.
        asked: as `check_evaluations` takes it.
        keep_models: do not remove the models that checkpoints are merged into.

    Raises:
        UserError, EngineFailure, Stopped: as `pacs.evaluation.evaluate.evaluate`; what is finished is kept.
    """
    from pacs.evaluation.evaluate import evaluate

    missing = [policy for policy in policies if not is_evaluated(policy.evaluation, asked.tasks)]
    if there := len(policies) - len(missing):
        print(f"pacs support: {there} of {len(policies)} policies are evaluated already", flush=True)
    started = time.monotonic()
    for done, policy in enumerate(missing):
        elapsed = time.monotonic() - started
        left = f" (after {duration(elapsed)}; about {duration(elapsed / done * (len(missing) - done))} left)"
        print(
            f"pacs support: evaluating {policy.label}, {done + 1} of {len(missing)} -> {policy.evaluation}"
            f"{left if done else ''}",
            flush=True,
        )
        evaluate(_asked_of(policy, asked), StopRequest())
        if policy.step and not keep_models:
            shutil.rmtree(within(policy.evaluation, MODEL), ignore_errors=True)


def finished(policies: Sequence[Policy], are_named: bool) -> list[Policy]:
    """The policies that have an evaluation with all of its samples; those that lack something are said.

    Args:
        policies: the initial one first.
        are_named: the user has named the steps, and all of them are wanted.

    Raises:
        UserError: The initial policy or a wanted one has none, or no checkpoint has.
    """
    mend = "give --tasks T,T,..., which evaluates what is missing"
    kept = []
    for policy in policies:
        if _is_finished(policy.evaluation):
            kept.append(policy)
        elif are_named or not policy.step:
            also = "" if policy.step else ", or --initial EVALUATION"
            raise UserError(f"{policy.evaluation} is no finished evaluation of {policy.label}: {mend}{also}")
        else:
            print(f"pacs support: {policy.label} is left out: {policy.evaluation} is no finished evaluation")
    if len(kept) < 2:
        raise UserError(f"no checkpoint has a finished evaluation: {mend}")
    return kept


def _is_finished(folder: Path) -> bool:
    if not is_evaluation(folder):
        return False
    settings = read_settings(folder)
    return all(is_complete(folder, task, settings) for task in settings.tasks)


def _asked_of(policy: Policy, asked: "Asked") -> "Asked":
    """Of one policy. The initial policy is graded as the run was: what a checkpoint says of it, it cannot."""
    delimiters = policy.reward.delimiters if policy.reward else None
    sampling = asked.sampling if asked.sampling.reasoning is not None else replace(asked.sampling, reasoning=delimiters)
    verifiers: VerifierSettings = asked.verifiers
    if not policy.step and policy.reward and policy.reward.settings:
        of_run = policy.reward.settings
        verifiers = {name: {**of_run.get(name, {}), **asked.verifiers.get(name, {})} for name in (*of_run, *verifiers)}
    return replace(asked, model=policy.model or "", out=policy.evaluation, sampling=sampling, verifiers=verifiers)
