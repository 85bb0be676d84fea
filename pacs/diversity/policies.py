"""The initial policy of a run and its checkpoints, and the evaluation of each: found, or made by `pacs evaluate`.

DIR/initial    the evaluation of the model that the run began with
DIR/step_20    that of its checkpoint global_step_20, named as a sweep names it
"""

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.base.run_folder import RunFolder
from pacs.base.settings import flatten
from pacs.base.stops import Stops, run_passing_on
from pacs.base.terminal import print
from pacs.base.units import duration
from pacs.checkpoints.folder import MARKER, complete_checkpoints
from pacs.checkpoints.source import find_source
from pacs.diversity.folders import is_evaluation
from pacs.evaluation.finished import check_may_go_on, is_evaluated
from pacs.evaluation.folder import MODEL, is_complete, within
from pacs.evaluation.grading import OPTION, Grading, VerifierSettings
from pacs.evaluation.model import find_model
from pacs.evaluation.process import check_out
from pacs.evaluation.settings import Sampling, read_settings
from pacs.evaluation.tasks import Task
from pacs.rewards.configured import RunReward, reward_of
from pacs.rewards.reasoning import SETTING
from pacs.runs.listing import is_run
from pacs.runs.processes import RUN_DIR, TOKEN
from pacs.runs.supervisor import FAILED, FINISHED, REFUSED, STOPPED
from pacs.verl_keys.names import POLICY_PATH, REWARD_FUNCTION

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


@dataclass(frozen=True)
class Asked:
    """How policies are to be evaluated.

    Attributes:
        tasks: on which; which pass@k the results have is not asked.
        sampling: as `pacs evaluate` has it; the delimiters of reasoning are the run's unless they are given.
        verifiers: settings that are given for them; they come before the run's.
        words: of `pacs evaluate` beside the model and --out, which say the same.
    """

    tasks: Sequence[Task]
    sampling: Sampling
    verifiers: VerifierSettings
    words: Sequence[str]

    def is_done(self, policy: Policy) -> bool:
        """Whether the policy has all of it."""
        return is_evaluated(policy.evaluation, self.tasks)


def check_evaluations(policies: Sequence[Policy], asked: Asked) -> None:
    """Refuse at once what an evaluation would refuse hours later: other settings than those of its folder, no model.

    Raises:
        UserError: naming the folder or the model, and what is wrong.
    """
    for policy in policies:
        if policy.model is not None:
            check_out(policy.evaluation)
            sampling = asdict(asked.sampling)
            if sampling["reasoning"] is None and policy.reward:
                sampling["reasoning"] = policy.reward.delimiters
            if sampling["dtype"] == "auto":
                del sampling["dtype"]  # as the weights are stored, which are those of the folder
            grading = Grading.of(policy.reward, asked.verifiers)
            check_may_go_on(policy.evaluation, asked.tasks, grading, **sampling)
        if asked.is_done(policy):
            continue
        if policy.model is None:
            mend = "leave it out of --steps" if policy.step else "give --initial MODEL"
            raise UserError(
                f"{policy.evaluation} lacks some of --tasks and --samples, and the model of {policy.label} is not "
                f"there: {mend}"
            )
        if not policy.step:
            try:
                find_model(policy.model)
            except UserError as error:
                raise UserError(f"the policy that the run began with: {error}: --initial names it elsewhere") from error


def evaluate_missing(policies: Sequence[Policy], asked: Asked, keep_models: bool) -> int:
    """`pacs evaluate`, as a process of its own, of each policy that lacks something of what is asked for.

    Signals are passed on to it; what is finished is kept.

    Args:
        policies: checked.
        asked: of each.
        keep_models: do not remove the models that checkpoints are merged into.

    Returns:
        The exit status: 0 all is done, else that of the first evaluation that is not: 75 stopped, 1 failed, 2 refused.
    """
    missing = [policy for policy in policies if not asked.is_done(policy)]
    if there := len(policies) - len(missing):
        print(f"pacs support: {there} of {len(policies)} policies are evaluated already", flush=True)
    environment = {name: value for name, value in os.environ.items() if name not in (TOKEN, RUN_DIR)}
    started = time.monotonic()
    for done, policy in enumerate(missing):
        elapsed = time.monotonic() - started
        left = f" (after {duration(elapsed)}; about {duration(elapsed / done * (len(missing) - done))} left)" * (
            done > 0
        )
        print(
            f"pacs support: evaluating {policy.label}, {done + 1} of {len(missing)} -> {policy.evaluation}{left}",
            flush=True,
        )
        with Stops() as stop:
            status = run_passing_on(command(policy, asked), stop, env=environment)
        if stop.signals or status != FINISHED:
            why = "stopped" if stop.signals else f"{policy.label} is not evaluated"
            print(f"pacs support: {why}; the same command goes on from there", file=sys.stderr, flush=True)
            return STOPPED if stop.signals else status if status in (REFUSED, STOPPED) else FAILED
        if policy.step and not keep_models:
            shutil.rmtree(within(policy.evaluation, MODEL), ignore_errors=True)
    return FINISHED


def command(policy: Policy, asked: Asked) -> list[str]:
    """`pacs evaluate` of one policy. The initial policy is graded as the run was: it does not say so itself."""
    words = [sys.executable, "-m", "pacs", "evaluate", str(policy.model), "--out", str(policy.evaluation)]
    if not policy.step and policy.reward:
        if policy.reward.delimiters is not None and asked.sampling.reasoning is None:
            words += ["--reasoning", json.dumps(policy.reward.delimiters)]
        for name, value in flatten(policy.reward.settings or {}).items():
            words += [OPTION, f"{name}={json.dumps(value)}"]
    return [*words, *asked.words]


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
