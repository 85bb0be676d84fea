"""Responses that are broken off when a step has enough, and go on with the next weights (`run.rollouts.partial`).

verl's client for that asks the engine anew, with what there is of the response behind its prompt. A seed that it gave
once more would draw the same random numbers once more: each request of a response that goes on has one of its own.
"""

import asyncio
from contextvars import ContextVar
from typing import Any

from verl.workers.rollout.llm_server import FullyAsyncLLMServerClient, LLMServerClient

from pacs.integration.patches.lean_engines import Engines
from pacs.integration.patches.lean_rollouts import is_verls_loop
from pacs.integration.patches.seeded_rollouts import seed_of_rest

#: verl's reason why a request has ended, where it was broken off.
BROKEN_OFF = "aborted"
#: Between two requests; the second waits in verl's server until the engine has the new weights.
WAIT_SECONDS = 0.1
#: Tokens of the prompt whose response is being written.
_PROMPT_TOKENS: ContextVar[int] = ContextVar("prompt_tokens")


class _SeedOfRest(LLMServerClient):  # type: ignore[misc]
    """Stands between verl's client that asks anew and the one that asks."""

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **others: Any
    ) -> Any:
        written = len(prompt_ids) - _PROMPT_TOKENS.get()
        if written and sampling_params.get("seed") is not None:
            sampling_params = {**sampling_params, "seed": seed_of_rest(sampling_params["seed"], written)}
        return await super().generate(request_id, prompt_ids=prompt_ids, sampling_params=sampling_params, **others)


class EnginesThatGoOn(FullyAsyncLLMServerClient, _SeedOfRest, Engines):  # type: ignore[misc]
    """verl's client whose requests go on after they were broken off, over ours.

    Args:
        client: verl's own.
    """

    final_only = False

    def __init__(self, client: LLMServerClient) -> None:
        Engines.__init__(self, client)
        self._only_hybrid = False

    async def generate(self, request_id: str, *, prompt_ids: list[int], **others: Any) -> Any:
        """The whole response, whichever weights wrote which part of it."""
        _PROMPT_TOKENS.set(len(prompt_ids))  # in the context of the response's own task
        return await super().generate(request_id, prompt_ids=prompt_ids, **others)


class EnginesThatRepeat(Engines):
    """verl's client whose requests are made once more if they were broken off: of what is read of the prompt.

    Args:
        client: verl's own.
    """

    final_only = False

    async def generate(self, request_id: str, **asked: Any) -> Any:
        """The engine's answer to the whole request."""
        output = await super().generate(request_id, **asked)
        while output.stop_reason == BROKEN_OFF:
            await asyncio.sleep(WAIT_SECONDS)
            output = await super().generate(request_id, **asked)
        return output


class GoingOn:
    """Of an agent-loop worker: its responses are broken off and go on."""

    lean: bool
    llm_client: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.lean:  # checks/partial.py refuses what is known to lead here
            raise RuntimeError(
                "run.rollouts.partial.ahead is for text in one turn, sampled by vLLM and not traced: set it to null"
            )

    async def _run_agent_loop(self, *args: Any, agent_name: str, **kwargs: Any) -> Any:
        if not is_verls_loop(agent_name):
            raise RuntimeError(
                f"run.rollouts.partial.ahead: the agent loop {agent_name} is not verl's of one turn, and of a response "
                "that is broken off it would have half for the whole: take that one, or set ahead to null"
            )
        return await super()._run_agent_loop(*args, agent_name=agent_name, **kwargs)  # type: ignore[misc]

    def _engines(self) -> Engines:
        return EnginesThatGoOn(self.llm_client)

    def _measuring_engines(self) -> Any:
        return EnginesThatRepeat(self.llm_client)
