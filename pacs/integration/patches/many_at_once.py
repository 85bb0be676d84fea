"""What vLLM's servers and the graders can do with many responses in one call of Ray's; `registry` gives it to verl's.

A call between two processes takes Ray a millisecond of processor time, more than most of what is asked by it.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from verl import DataProto
from verl.utils.model import compute_position_id_with_mask

from pacs.integration.patches.together import MOMENT


@dataclass(frozen=True)
class Graded:
    """A response to grade, and what verl's own call has beside it.

    Attributes:
        prompt, response: tokens.
        fields: of the prompt in the data.
        turns: of the conversation.
        extra: what the agent loop says of the response.
    """

    prompt: list[int]
    response: list[int]
    fields: dict[str, Any]
    turns: int
    extra: dict[str, Any]

    def data(self) -> DataProto:
        """As verl's `AgentLoopWorker._compute_score` makes it of one output."""
        prompts, responses = (torch.tensor([ids], dtype=torch.int64) for ids in (self.prompt, self.response))
        input_ids = torch.cat([prompts, responses], dim=1)
        mask = torch.ones_like(input_ids)
        tensors = {
            "prompts": prompts,
            "responses": responses,
            "attention_mask": mask,
            "input_ids": input_ids,
            "position_ids": compute_position_id_with_mask(mask),
        }
        others = {
            **{key: np.array([value]) for key, value in self.fields.items()},
            "__num_turns__": np.array([self.turns]),
            "tool_extra_fields": np.array([self.extra], dtype=object),
            "prompt_len": np.array([len(self.prompt)]),
            "response_len": np.array([len(self.response)]),
        }
        return DataProto(batch=TensorDict(tensors, batch_size=1), non_tensor_batch=others)


async def compute_scores(self: Any, responses: Sequence[Graded]) -> list[Any]:
    """Of a grader of verl's: the result of each response, or its exception."""
    return await asyncio.gather(*(self.compute_score(each.data()) for each in responses), return_exceptions=True)


async def generate_each(
    self: Any, requests: Sequence[dict[str, Any]], final_only: bool
) -> AsyncIterator[list[tuple[int, Any]]]:
    """Of an engine's server of verl's: the responses to requests as they are done, those of a moment together.

    Args:
        requests: arguments of `generate`.
        final_only: whether vLLM tells of a response at its end alone, and not at each token.

    Yields:
        The number of a request with its output or exception.
    """
    if final_only:
        from vllm.sampling_params import RequestOutputKind  # graders, which import this module, have no vLLM

        for request in requests:
            request["sampling_params"]["output_kind"] = RequestOutputKind.FINAL_ONLY
    tasks = {asyncio.ensure_future(self.generate(**request)): number for number, request in enumerate(requests)}
    pending = set(tasks)
    try:
        while pending:
            await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            if any(not task.done() for task in pending):
                await asyncio.sleep(MOMENT)
            done = {task for task in pending if task.done()}
            pending -= done
            yield [(tasks[task], task.exception() or task.result()) for task in sorted(done, key=tasks.__getitem__)]
    finally:
        for task in pending:
            task.cancel()
