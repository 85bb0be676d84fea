"""Values of the states between a response's steps, by completions that are sampled from there (`run.rollouts.vine`).

When a response is there, its worker cuts it into steps (`pacs.algorithm.vineppo`) and asks the engine for completions
of each prefix, all at once: the engine has the prefix in its cache. They are graded as responses are, then forgotten. A
row gets the number of each token's step and the value of the state before that. The value of the prompt itself is that
of all its responses, and is sampled once. With `train_completions` no state has a value: the completions are rows, too.
"""

import asyncio
from functools import cache
from statistics import fmean
from typing import Any

import torch

from pacs.algorithm.vineppo import step_starts, step_streams
from pacs.integration.exchange import VINE_COLUMNS
from pacs.integration.patches.seeded_rollouts import completion_seed
from pacs.integration.patches.together import settled
from pacs.verl_keys.config import trains_completions

#: What an output has of each token of its response.
_OF_TOKENS = ("response_ids", "response_mask", "response_logprobs")
#: The value of a state; tokens of its completions, of their prompts, and those of these that were cached.
_Value = tuple[float, tuple[int, int, int]]


class VineRollouts:
    """Of an agent-loop worker: values for the steps of training's responses."""

    config: Any
    tokenizer: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._sampling: dict[tuple[str, int], tuple[dict[str, Any], dict[str, Any]]] = {}
        self._prompt_values: dict[str, asyncio.Future[_Value]] = {}
        self._text = cache(lambda token: self.tokenizer.decode([token]))

    async def _run_prompt(self, prompt: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        try:
            await super()._run_prompt(prompt, *args, **kwargs)  # type: ignore[misc]
        finally:
            self._prompt_values.pop(prompt["uid"], None)

    async def _run_agent_loop(self, sampling_params: dict[str, Any], trajectory: dict[str, Any], **kwargs: Any) -> None:
        about = (kwargs["uid"], kwargs["session_id"])
        self._sampling[about] = (sampling_params, trajectory)
        try:
            await super()._run_agent_loop(sampling_params, trajectory, **kwargs)  # type: ignore[misc]
        finally:
            del self._sampling[about]

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
        if not validate:
            if isinstance(output, list) or 0 in output.response_mask:
                raise ValueError(
                    "run.rollouts.vine: an agent loop returned several turns, of which no prefix can be completed by "
                    "one call of the engine: use verl's single_turn_agent, or set run.rollouts.vine.completions=null."
                )
            if trains_completions(self.config):
                await self._store_completions(output, kwargs)
            else:
                kwargs |= await self._step_streams(output, kwargs)
        await super()._agent_loop_postprocess(output, validate, **kwargs)  # type: ignore[misc]

    async def _step_streams(self, output: Any, fields: dict[str, Any]) -> dict[str, torch.Tensor]:
        """(T,) each of the streams, for the row; and in the output what sampling them took."""
        tokens, uid, starts = output.response_ids, fields["uid"], self._starts(output)
        first = self._prompt_values.get(uid)
        if is_first := first is None:
            first = self._prompt_values[uid] = asyncio.ensure_future(self._value(output, 0, fields))
        others = (self._value(output, start, fields) for start in starts[1:])
        values = await settled(first, *others)
        costs = zip(*(cost for _, cost in values[0 if is_first else 1 :]), strict=True)
        sums = list(map(sum, costs)) or [0, 0, 0]  # a response of one step, whose prompt another has valued
        output.extra_fields |= dict(zip(VINE_COLUMNS, (len(starts), *sums), strict=True))
        return step_streams(starts, [value for value, _ in values], len(tokens))

    def _starts(self, output: Any) -> list[int]:
        vine, texts = self.config.run.rollouts.vine, [self._text(token) for token in output.response_ids]
        return step_starts(texts, vine.delimiter, vine.least_tokens, vine.most_steps)

    async def _store_completions(self, output: Any, fields: dict[str, Any]) -> None:
        """Make rows of completions of each prefix but the prompt, which is a row's prompt then.

        `step_rows.group_uid` tells by the rows' numbers which are of one prefix.
        """
        vine, session = self.config.run.rollouts.vine, fields["session_id"]
        first = self.config.actor_rollout_ref.rollout.n

        async def stored(step: int, start: int, k: int) -> None:
            prefix = session * (vine.most_steps - 1) + step - 1
            response = await self._graded(output, start, k, fields)
            behind = {
                "prompt_ids": response.prompt_ids + response.response_ids[:start],
                **{name: (getattr(response, name) or ())[start:] or None for name in _OF_TOKENS},
            }
            row = {**fields, "session_id": first + prefix * vine.completions + k}
            await super(VineRollouts, self)._agent_loop_postprocess(  # type: ignore[misc]
                response.model_copy(update=behind), False, **row
            )

        places = list(enumerate(self._starts(output)))[1:]
        await settled(*(stored(step, start, k) for step, start in places for k in range(vine.completions)))

    async def _value(self, output: Any, start: int, fields: dict[str, Any]) -> _Value:
        """The mean reward of completions of the response's first `start` tokens, and what these took."""
        number = self.config.run.rollouts.vine.completions
        graded = await settled(*(self._graded(output, start, k, fields) for k in range(number)))
        sampled = sum(len(response.response_ids) - start for response in graded)
        # Engines need not say how much of a prompt they had.
        cached = sum(response.extra_fields.get("num_cached_tokens") or 0 for response in graded)
        asked = number * (len(output.prompt_ids) + start)
        return fmean(float(response.reward_score) for response in graded), (sampled, asked, cached)

    async def _graded(self, output: Any, start: int, k: int, fields: dict[str, Any]) -> Any:
        """A response with the same first `start` tokens and another end, and its reward."""
        uid, session = fields["uid"], fields["session_id"]
        sampling_params, trajectory = self._sampling[uid, session]
        prefix = output.response_ids[:start]
        given = {
            **sampling_params,
            "logprobs": trains_completions(self.config) and sampling_params.get("logprobs", False),
            "max_tokens": self.config.actor_rollout_ref.rollout.response_length - start,
        }
        if self.config.run.rollouts.seeded:
            # The prompt's own completions do not belong to the response that asked for them first.
            place = (session, start, k) if start else (None, 0, k)
            run, step = self.config.actor_rollout_ref.rollout.seed, trajectory["step"]
            given["seed"] = completion_seed(run, step, fields["raw_prompt"], uid, *place)
        completed = await self._asked_engines().generate(
            f"{uid}_{session}", prompt_ids=output.prompt_ids + prefix, sampling_params=given
        )
        sampled = None if completed.log_probs is None or output.response_logprobs is None else completed.log_probs
        response = output.model_copy(
            update={
                "response_ids": prefix + completed.token_ids,
                "response_mask": [1] * (start + len(completed.token_ids)),
                "response_logprobs": None if sampled is None else [*output.response_logprobs[:start], *sampled],
                "reward_score": None,
                "metrics": output.metrics.model_copy(),
                "extra_fields": {**output.extra_fields, **completed.extra_fields},
            }
        )
        await self._compute_score([response], fields)  # type: ignore[attr-defined]
        return response

    def _asked_engines(self) -> Any:
        """The client through which the response came."""
        loop = getattr(self, "_loop", None)
        return self.llm_client if loop is None else loop.server_manager  # type: ignore[attr-defined]
