"""A second stage of rollouts for prompts that few of their first responses solve (`run.rollouts.dars`).

The session whose response is the n-th of its prompt to be graded draws the others before it returns, under the same
id, numbered from `rollout.n` on. No other prompt waits for that; and verl, which waits for the n sessions of a prompt,
says once that the prompt is finished, when all of its responses are in the queue.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from pacs.algorithm.dars import extra_responses
from pacs.integration.patches.together import settled
from pacs.rewards.verdict import verdict_score


@dataclass
class _FirstStage:
    """Of a prompt: how many responses it begins with, and the verifier's scores of those that are graded."""

    n: int
    scores: list[float] = field(default_factory=list)
    ended: bool = False


class DarsRollouts:
    """Of an agent-loop worker: a second stage of training's prompts; none where a first response has failed."""

    config: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._first_stages: dict[str, _FirstStage] = {}

    async def _run_prompt(self, prompt: dict[str, Any], *args: Any, trajectory: dict[str, Any], **kwargs: Any) -> None:
        uid = prompt["uid"]
        if not trajectory["validate"]:
            # A prompt of the data may have a number of its own, by verl's key.
            n = prompt.get("__rollout_n__", self.config.actor_rollout_ref.rollout.n)
            self._first_stages[uid] = _FirstStage(int(n))
        try:
            await super()._run_prompt(prompt, *args, trajectory=trajectory, **kwargs)  # type: ignore[misc]
        finally:
            self._first_stages.pop(uid, None)

    async def _run_agent_loop(self, sampling_params: dict[str, Any], trajectory: dict[str, Any], **kwargs: Any) -> None:
        await super()._run_agent_loop(sampling_params, trajectory, **kwargs)  # type: ignore[misc]
        stage = self._first_stages.get(kwargs["uid"])
        if stage is None or stage.ended or len(stage.scores) < stage.n:
            return
        if not all(map(math.isfinite, stage.scores)):
            return  # the trainer's grading tells of it, and ends the run
        stage.ended = True
        dars = self.config.run.rollouts.dars
        # Behind rollout.n, by which the trainer tells the first ones, also of a prompt that begins with fewer.
        first = max(stage.n, self.config.actor_rollout_ref.rollout.n)
        sessions = range(first, first + extra_responses(stage.scores, dars.schedule, dars.most))
        drawn = (self._run_agent_loop(sampling_params, trajectory, **{**kwargs, "session_id": i}) for i in sessions)
        await settled(*drawn)  # so that none writes a row after verl has heard of a failure

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
        stage = self._first_stages.get(kwargs["uid"])
        outputs = output if isinstance(output, list) else [output]
        if stage is not None and len(outputs) > 1:
            raise ValueError(
                f"run.rollouts.dars: an agent loop returned {len(outputs)} outputs for one response, so that a group "
                "has more rows than run.rollouts.dars.most: use one that returns one output, or set "
                "run.rollouts.dars.schedule=null."
            )
        await super()._agent_loop_postprocess(output, validate, **kwargs)  # type: ignore[misc]
        if stage is not None and outputs and kwargs["session_id"] < stage.n:
            info = outputs[-1].extra_fields.get("reward_extra_info", {})
            stage.scores.append(verdict_score(info, outputs[-1].reward_score))
