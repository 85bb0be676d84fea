"""Another try, with guidance, where a response is wrong (`run.rollouts.guided`); it is trained as if it had had none.

A session samples its response and has it graded. Where that is wrong, it samples again, from a prompt with guidance.
The first right retry takes the response's place in the group: behind the prompt without guidance, with the
log-probabilities that it was sampled with, and with the reward of a right one. What the verifier said of the first
response stays with it, so that pass rates are of first responses. Without a right retry the first response stays.
"""

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from pacs.integration.exchange import GUIDED
from pacs.integration.patches.seeded_rollouts import RETRY
from pacs.rewards.guidance import guidance_of, guided_messages, share_of
from pacs.rewards.verdict import verdict_score
from pacs.verl_keys.config import chat_template_options

#: Takes the output of the agent loop that is run, with the fields of its row, in place of the queue.
_CAUGHT: ContextVar[list[tuple[Any, dict[str, Any]]] | None] = ContextVar("caught", default=None)


@dataclass
class _Group:
    """Of a prompt: its first responses that are graded, or have failed to be."""

    n: int
    ended: int = 0
    solved: bool = False
    all_ended: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self, right: bool) -> None:
        self.ended, self.solved = self.ended + 1, self.solved or right
        if self.ended == self.n:
            self.all_ended.set()


class GuidedRollouts:
    """Of an agent-loop worker: another try at training's prompts."""

    config: Any
    tokenizer: Any
    tools: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._groups: dict[str, _Group] = {}

    async def _run_prompt(self, prompt: dict[str, Any], *args: Any, trajectory: dict[str, Any], **kwargs: Any) -> None:
        uid = prompt["uid"]
        if not trajectory["validate"]:
            # A prompt of the data may have a number of its own, by verl's key.
            self._groups[uid] = _Group(int(prompt.get("__rollout_n__", self.config.actor_rollout_ref.rollout.n)))
        try:
            await super()._run_prompt(prompt, *args, trajectory=trajectory, **kwargs)  # type: ignore[misc]
        finally:
            self._groups.pop(uid, None)

    async def _run_agent_loop(self, sampling_params: dict[str, Any], trajectory: dict[str, Any], **kwargs: Any) -> None:
        group = self._groups.get(kwargs["uid"])
        if group is None:
            await super()._run_agent_loop(sampling_params, trajectory, **kwargs)  # type: ignore[misc]
            return
        right = False
        try:
            output, about = await self._tried(sampling_params, trajectory, kwargs, retry=0)
            right = _is_right(output)
        finally:
            group.end(right)
        settings = self.config.run.rollouts.guided
        may_retry = kwargs["session_id"] < share_of(settings.share, group.n)
        if not right and may_retry:
            if settings.after == "unsolved":
                await group.all_ended.wait()
            if settings.after == "failed" or not group.solved:
                output = await self._guided(output, sampling_params, trajectory, kwargs)
        await super()._agent_loop_postprocess(output, False, **about)  # type: ignore[misc]

    async def _guided(
        self, first: Any, sampling_params: dict[str, Any], trajectory: dict[str, Any], kwargs: dict[str, Any]
    ) -> Any:
        """What is trained in place of a wrong first response: the first right retry, or it itself."""
        settings = self.config.run.rollouts.guided
        before, tokens, retries = first, 0, 0
        while retries < settings.retries and (messages := self._messages(before, kwargs)) is not None:
            retries += 1
            asked = kwargs | {"raw_prompt": messages}
            before, _ = await self._tried(sampling_params, trajectory, asked, retry=retries)
            if _is_right(before):
                tokens += sum(first.response_mask)
                said = {"reward_extra_info": first.extra_fields["reward_extra_info"]}
                noted = {GUIDED: {"retries": retries, "rescued": True, "tokens": tokens}}
                fields = before.extra_fields | said | noted
                return before.model_copy(update={"prompt_ids": first.prompt_ids, "extra_fields": fields})
            tokens += sum(before.response_mask)
        noted = {GUIDED: {"retries": retries, "rescued": False, "tokens": tokens}}
        first.extra_fields = first.extra_fields | noted
        return first

    def _messages(self, before: Any, kwargs: dict[str, Any]) -> list[dict[str, Any]] | None:
        """The prompt of another try; None without guidance, or where it would be longer than a prompt may be."""
        settings = self.config.run.rollouts.guided
        said = before.extra_fields["reward_extra_info"]
        guidance = guidance_of(
            settings.guidance, kwargs.get("extra_info") or {}, said, part=settings.part, characters=settings.characters
        )
        if guidance is None:
            return None
        response = self.tokenizer.decode(before.response_ids, skip_special_tokens=True)
        messages = guided_messages(kwargs["raw_prompt"], settings.guidance, guidance, settings.text, response)
        options = chat_template_options(self.config)
        if self.tools:
            schemas = [tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True) for tool in self.tools]
            options["tools"] = schemas
        text = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False, **options)
        tokens = len(self.tokenizer(text, add_special_tokens=False)["input_ids"])
        return messages if tokens <= self.config.actor_rollout_ref.rollout.prompt_length else None

    async def _tried(
        self, sampling_params: dict[str, Any], trajectory: dict[str, Any], kwargs: dict[str, Any], *, retry: int
    ) -> tuple[Any, dict[str, Any]]:
        """A graded response that is in no queue, and the fields of its row."""
        caught: list[tuple[Any, dict[str, Any]]] = []
        tokens = _CAUGHT.set(caught), RETRY.set(retry)
        try:
            await super()._run_agent_loop(dict(sampling_params), trajectory, **kwargs)  # type: ignore[misc]
        finally:
            _CAUGHT.reset(tokens[0])
            RETRY.reset(tokens[1])
        ((output, about),) = caught
        await self._compute_score([output], kwargs=about)  # type: ignore[attr-defined]
        return output, about

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
        caught = _CAUGHT.get()
        if caught is None:
            await super()._agent_loop_postprocess(output, validate, **kwargs)  # type: ignore[misc]
            return
        if isinstance(output, list):
            raise ValueError(
                f"run.rollouts.guided: an agent loop returned {len(output)} outputs for one response, of which nobody "
                "knows what a retry stands for: use one that returns one, or set run.rollouts.guided.after=null."
            )
        caught.append((output, kwargs))


def _is_right(output: Any) -> bool:
    return verdict_score(output.extra_fields.get("reward_extra_info", {}), output.reward_score) >= 1
