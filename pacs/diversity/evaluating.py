"""The policies of a run evaluated, one after the other, each by `pacs evaluate` as a process of its own."""

import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from pacs.base.errors import UserError
from pacs.base.stops import Stops, run_passing_on
from pacs.base.terminal import print
from pacs.base.units import duration
from pacs.diversity.policies import Policy
from pacs.evaluation.finished import check_may_go_on, is_evaluated
from pacs.evaluation.folder import MODEL, within
from pacs.evaluation.grading import Grading, VerifierSettings, words_of
from pacs.evaluation.model import find_model
from pacs.evaluation.process import check_out
from pacs.evaluation.settings import Sampling
from pacs.evaluation.tasks import Task
from pacs.runs.processes import RUN_DIR, TOKEN
from pacs.runs.supervisor import FAILED, FINISHED, REFUSED, STOPPED


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


def check_evaluations(policies: Sequence[Policy], asked: Asked, are_named: bool) -> list[Policy]:
    """Refuse at once what an evaluation would refuse hours later: other settings than those of its folder, no model.

    Args:
        policies: the initial one first.
        asked: of each.
        are_named: the user has named the steps, and all of them are wanted.

    Returns:
        The policies that are or can be evaluated; of one that is left out, its checkpoint is gone, and that is said.

    Raises:
        UserError: naming the folder or the model, and what is wrong.
    """
    kept = []
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
        if policy.model is None and not asked.is_done(policy):
            lacking = f"{policy.evaluation} lacks something of what is asked, and the model of {policy.label} is gone"
            if are_named or not policy.step:
                mend = "leave it out of --steps" if policy.step else "give --initial MODEL"
                raise UserError(f"{lacking}: {mend}")
            print(f"pacs support: left out: {lacking}")
            continue
        kept.append(policy)
        if policy.model is not None and not policy.step and not asked.is_done(policy):
            try:
                find_model(policy.model)
            except UserError as error:
                raise UserError(f"the policy that the run began with: {error}: --initial names it elsewhere") from error
    if len(kept) < 2:
        raise UserError("no checkpoint has --tasks and --samples, or can be evaluated: give those of the evaluations")
    return kept


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
        elapsed, left = time.monotonic() - started, ""
        if done:
            left = f" (after {duration(elapsed)}; about {duration(elapsed / done * (len(missing) - done))} left)"
        which = f"{policy.label}, {done + 1} of {len(missing)}"
        print(f"pacs support: evaluating {which} -> {policy.evaluation}{left}", flush=True)
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
        words += words_of(policy.reward.settings or {})
    return [*words, *asked.words]
