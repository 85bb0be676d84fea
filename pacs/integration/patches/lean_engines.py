"""verl's client of the engines, which asks for many responses in one call."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from typing import Any

from verl.workers.rollout.llm_server import LLMServerClient

from pacs.integration.patches.together import Together


class Engines(LLMServerClient):  # type: ignore[misc]
    """verl's client, whose requests go to an engine together.

    Args:
        client: verl's own.

    Attributes:
        final_only: whether vLLM tells of a response at its end alone. verl reads no more, and else vLLM makes an object
            for each token. Requests that may be broken off are told of from their first token: verl breaks off none
            before.
    """

    final_only = True

    def __init__(self, client: LLMServerClient) -> None:
        super().__init__(client.config, client._load_balancer)
        self._together: dict[str, Together[dict[str, Any]]] = {}
        self._only: asyncio.Future[tuple[str, Any] | None] | None = None

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **others: Any
    ) -> Any:
        """The response to a prompt of text. Nobody reads its own text, so that vLLM need not make any."""
        asked = {"prompt_ids": prompt_ids, "sampling_params": sampling_params, **others}
        name, server = await self._acquire_server(request_id, **asked)  # of which it hands on what a router asks for
        if name not in self._together:
            self._together[name] = Together(partial(_generate, server, self.final_only))
        request = {
            "request_id": self._vllm_request_id(request_id),
            "prompt_ids": prompt_ids,
            "sampling_params": {"detokenize": False, **sampling_params},
            "priority": others.get("priority", 0),
        }
        try:
            output = await self._together[name](request)
        finally:
            self._release_server(name, request_id=request_id)
        steps = output.extra_fields.get("global_steps")
        output.extra_fields.setdefault("min_global_steps", steps)
        output.extra_fields.setdefault("max_global_steps", steps)
        return output

    async def _acquire_server(self, request_id: str, **extra: Any) -> tuple[str, Any]:
        """Where there is one engine, nobody needs to choose it."""
        if self._only is None:
            self._only = asyncio.ensure_future(self._find_only(**extra))
        return await self._only or await super()._acquire_server(request_id, **extra)

    def _release_server(self, server_id: str, request_id: str | None = None) -> None:
        if self._only is None or not self._only.done() or self._only.result() is None:
            super()._release_server(server_id, request_id=request_id)

    async def _find_only(self, **extra: Any) -> tuple[str, Any] | None:
        if len(await self._load_balancer.get_all_servers.remote()) > 1:
            return None
        acquired: tuple[str, Any] = await super()._acquire_server("the only one", **extra)
        super()._release_server(acquired[0], request_id="the only one")
        return acquired


async def _generate(
    server: Any, final_only: bool, requests: list[dict[str, Any]]
) -> AsyncIterator[list[tuple[int, Any]]]:
    async for outputs in server.generate_each.options(num_returns="streaming").remote(requests, final_only):
        yield await outputs
