"""Rollouts that depend on the run's seed, the step and the prompt alone (`run.rollouts.seeded=true`).

vLLM seeds its sampler once, when it starts: what it samples then depends on everything it has sampled before, and a run
that was cut off goes on with other responses. With a seed of its own for each response it does not.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from itertools import count
from typing import Any

from verl.workers.rollout.llm_server import LLMServerClient

from pacs.integration.exchange import REPEAT
from pacs.verl_keys.config import filters_groups, has_partial_rollouts

#: The seed of the response that is being made, and numbers for the calls of an engine with it.
_CALLS: ContextVar[tuple[int, Iterator[int]] | None] = ContextVar("calls", default=None)
#: Which retry of a response is being sampled (`guided_rollouts`); 0: the response itself.
RETRY: ContextVar[int] = ContextVar("retry", default=0)


class TurnSeeds(LLMServerClient):  # type: ignore[misc]
    """verl's client, or another, whose calls for one response have a seed each: an agent loop gives all the same.

    Args:
        client: that is called.
    """

    def __init__(self, client: Any) -> None:
        self.__dict__.update(vars(client))
        self._client = client

    async def generate(self, request_id: str, *, sampling_params: dict[str, Any], **others: Any) -> Any:
        """The client's, with the turn's seed."""
        seed, calls = _CALLS.get() or (None, iter(()))
        # A call with a seed of its own, as of a step's completions, is none of the response's turns.
        turn = next(calls) if sampling_params.get("seed") == seed else 0
        if turn:
            sampling_params = {**sampling_params, "seed": _hashed([seed, turn])}
        return await self._client.generate(request_id, sampling_params=sampling_params, **others)


class Seeds:
    """Of an agent-loop worker: gives each response's sampling parameters a seed, and another in each further turn."""

    config: Any
    llm_client: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.llm_client = TurnSeeds(self.llm_client)

    async def _run_agent_loop(self, sampling_params: dict[str, Any], trajectory: dict[str, Any], **kwargs: Any) -> Any:
        run, prompt, session = self.config.actor_rollout_ref.rollout.seed, kwargs["raw_prompt"], kwargs["session_id"]
        step, place = trajectory["step"], None
        # A step may come to a prompt again: the data have it twice, or all of them were drawn.
        if filters_groups(self.config) and not trajectory["validate"]:
            place = int(kwargs["uid"].rsplit("-", 1)[1])
        else:
            place = kwargs.get(REPEAT) or None
            if has_partial_rollouts(self.config) and not trajectory["validate"]:
                # After a resume a prompt may be handed out again, in a later step than its id's.
                step = int(kwargs["uid"].split("-")[0])
        about = run, step, trajectory["validate"], prompt, session, place
        seed = response_seed(*about) if not RETRY.get() else _hashed([response_seed(*about), "retry", RETRY.get()])
        seeded = {**sampling_params, "seed": seed}
        _CALLS.set((seed, count()))  # in the context of the response's own task
        return await super()._run_agent_loop(seeded, trajectory, **kwargs)  # type: ignore[misc]


def drawn_before(prompts: Iterable[Any], times: Counter[str]) -> list[int]:
    """How often each prompt has come before, by what was counted so far; these are counted, too."""
    before = []
    for prompt in prompts:
        before.append(times[repr(prompt)])
        times[repr(prompt)] += 1
    return before


def response_seed(seed: int, step: int, validate: bool, messages: Any, session: int, place: int | None = None) -> int:
    """A seed of 63 bits for one response.

    Args:
        seed: the run's (`actor_rollout_ref.rollout.seed`).
        step: the training step.
        validate: whether it is sampled for validation.
        messages: the prompt.
        session: the response's number within its group.
        place: the prompt's among those of the step, or how often it was drawn before; None the first time.
    """
    about = [seed, int(step), bool(validate), list(messages), int(session), *([] if place is None else [place])]
    return _hashed(about)


def completion_seed(seed: int, step: int, messages: Any, uid: str, session: int | None, start: int, number: int) -> int:
    """A seed of 63 bits for a completion of a prefix.

    Args:
        seed, step, messages: as above.
        uid: the prompt's id, which has its place in the step.
        session: the response's number within its group; None of a completion of the prompt alone.
        start: tokens of the prefix.
        number: of the completion among those of the prefix.
    """
    return _hashed([seed, int(step), list(messages), int(uid.rsplit("-", 1)[1]), session, start, number, "completion"])


def seed_of_rest(seed: int, written: int) -> int:
    """A seed of 63 bits for what follows the first `written` tokens of a response whose seed this is."""
    return _hashed([seed, written, "rest"])


def critic_seed(seed: int, step: int, messages: Any, uid: str, session: int, start: int) -> int:
    """A seed of 63 bits for a critic's trace about a response's first `start` tokens; arguments as above."""
    return _hashed([seed, int(step), list(messages), int(uid.rsplit("-", 1)[1]), int(session), start, "critic"])


def _hashed(about: list[Any]) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(about, default=str).encode()).digest()[:8], "little") >> 1
