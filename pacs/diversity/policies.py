"""The initial policy of a run and its checkpoints, and where the evaluation of each is.

DIR/initial    the evaluation of the model that the run began with
DIR/step_20    that of its checkpoint global_step_20, named as a sweep names it
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.base.run_folder import RunFolder
from pacs.base.terminal import print
from pacs.checkpoints.folder import MARKER, complete_checkpoints
from pacs.checkpoints.source import find_source
from pacs.diversity.folders import is_evaluation
from pacs.evaluation.folder import is_complete
from pacs.evaluation.settings import read_settings
from pacs.rewards.configured import RunReward, reward_of
from pacs.rewards.reasoning import SETTING
from pacs.runs.listing import is_run
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
    reward = reward_of(source.setting(REWARD_FUNCTION), source.setting(SETTING)) if source else None
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
    if not policy.step or not is_evaluation(policy.evaluation):
        return
    about = read_settings(policy.evaluation).model
    step = about.run.get("step", policy.step) if isinstance(about.run, dict) else policy.step
    if policy.marker is None and step != policy.step:  # of a checkpoint that is gone there is this word alone
        raise UserError(
            f"{policy.evaluation} is of step {step}, as its settings.json says: name it step_{step}, or move it away"
        )
    if policy.marker is not None and about.checkpoint != policy.marker:
        raise UserError(
            f"{policy.evaluation} is of another model than {policy.model} as it is now (was the run trained again from "
            "an earlier step?): move it away, or give another --out or --evaluations"
        )


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
