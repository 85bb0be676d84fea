"""An agent-loop worker that does for a response of one turn what it needs, and no more.

verl makes an agent loop for each response by Hydra, renders its prompt once more, asks a balancer for the engine, and
calls the engine, a grader and the TransferQueue for it alone: several times as much processor time as a tiny model
takes in vLLM, and in the end a limit on the responses of a worker. Here a loop is made once a worker, a prompt is
rendered once, and what comes within a moment goes together. What is sampled, graded and stored is the same.
benchmarks/rollouts.py measures both.

It is for verl's loop of one turn and text. Whatever else a run uses (tools, images, a teacher, a loop of one's own)
goes verl's way.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
import transfer_queue as tq
from verl.experimental.agent_loop import agent_loop as loops
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ
from verl.utils.rollout_trace import RolloutTraceConfig
from verl.utils.tensordict_utils import list_of_dict_to_tensordict
from verl.workers.rollout.llm_server import LLMServerClient

from pacs.integration.exchange import FINGERPRINT, TURNS
from pacs.integration.patches.lean_engines import Engines
from pacs.integration.patches.many_at_once import Graded
from pacs.integration.patches.reference_answers import ReferenceAnswers, is_measured
from pacs.integration.patches.together import Together
from pacs.metrics.duplicates import fingerprint
from pacs.metrics.turns import turns_of

#: verl's name of its loop of one turn, and its class as Hydra knows it.
SINGLE_TURN = "single_turn_agent"
TARGET = f"{SingleTurnAgentLoop.__module__}.{SingleTurnAgentLoop.__qualname__}"
#: Prompts whose tokens a worker remembers.
PROMPTS = 4096


class OneTurn(SingleTurnAgentLoop):
    """verl's loop of one turn, for all responses of a worker: it holds nothing of any of them."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._tokens: dict[str, list[int]] = {}

    async def ct_build_initial_tokens(self, messages: list[dict[str, Any]], *_: Any, **__: Any) -> list[int]:
        """The prompt's tokens, of messages of text."""
        key = repr(messages)
        if key not in self._tokens:
            while len(self._tokens) >= PROMPTS:
                del self._tokens[next(iter(self._tokens))]
            tokens = self.continuous_token_builder.build_initial_tokens(messages)
            self._tokens[key] = self._cap_text_prompt_length(tokens)
        return list(self._tokens[key])

    async def ct_merge_assistant_token(
        self,
        runtime_token_ids: list[int],
        assistant_token_ids: list[int],
        response_mask: list[int],
        response_logprobs: list[float] | None = None,
        assistant_logprobs: list[float] | None = None,
    ) -> Any:
        """verl's, without a thread for it."""
        builder = self.continuous_token_builder
        merged = builder.merge_assistant_tokens(runtime_token_ids, assistant_token_ids)
        aligned = builder.align_response_metadata(
            merged, response_mask, response_logprobs, assistant_logprobs=assistant_logprobs
        )
        return (merged, *aligned)


def is_verls_loop(agent_name: str) -> bool:
    """Whether a name is that of verl's loop of one turn; one's own may be registered under the same."""
    return agent_name == SINGLE_TURN and loops._agent_loop_registry[agent_name] == {"_target_": TARGET}


async def _grade(graders: list[Any], responses: list[Graded]) -> AsyncIterator[list[tuple[int, Any]]]:
    """Dealt to all graders, from any one on; a grader works on several at a time."""
    order = random.sample(graders, len(graders))
    dealt = [range(i, len(responses), len(order)) for i in range(min(len(order), len(responses)))]
    calls = [_ask(grader, numbers, responses) for grader, numbers in zip(order, dealt, strict=False)]
    for call in asyncio.as_completed(calls):
        yield await call


async def _ask(grader: Any, numbers: range, responses: list[Graded]) -> list[tuple[int, Any]]:
    try:
        results = await grader.compute_scores.remote([responses[number] for number in numbers])
    except Exception as error:
        results = [error] * len(numbers)
    return list(zip(numbers, results, strict=True))


class LeanWorker(AgentLoopWorkerTQ.__ray_metadata__.modified_class):  # type: ignore[misc]
    """verl's worker, in the lean way where a run has text and one turn alone.

    Attributes:
        lean: whether this run does.
    """

    lean = False
    _reference_answers: ReferenceAnswers | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self._is_plain():
            return
        self.lean = True
        self._loop: OneTurn | None = None
        self._store = Together(_store)
        self._grades = Together(partial(_grade, self.reward_loop_worker_handles or []))

    def _is_plain(self) -> bool:
        """Whether nothing is used that only verl's own way has."""
        return (
            self.processor is None
            and not self.distillation_enabled
            and self.rollout_config.name == "vllm"
            and type(self.llm_client) is LLMServerClient
            and RolloutTraceConfig.get_backend() is None
        )

    def _engines(self) -> Engines:
        """verl's client as the lean way uses it, for responses."""
        return Engines(self.llm_client)

    def _measuring_engines(self) -> Any:
        """The client for reference answers."""
        return Engines(self.llm_client) if self.lean else self.llm_client

    async def _run_agent_loop(
        self, sampling_params: dict[str, Any], trajectory: dict[str, Any], *, agent_name: str, **kwargs: Any
    ) -> Any:
        if not self.lean or not is_verls_loop(agent_name):
            return await super()._run_agent_loop(sampling_params, trajectory, agent_name=agent_name, **kwargs)
        if self._loop is None:
            self._loop = OneTurn(
                trainer_config=loops.DictConfigWrap(self.config),
                server_manager=self._engines(),
                tokenizer=self.tokenizer,
                processor=None,
                dataset_cls=self.dataset_cls,
                data_config=loops.DictConfigWrap(self.config.data),
                hf_model_type=self.hf_model_type,
            )
        kwargs.pop("trace", None)
        output = await self._loop.run(sampling_params, **kwargs)
        return await self._agent_loop_postprocess(output, trajectory["validate"], **kwargs)

    async def _compute_score(self, outputs: list[Any], kwargs: dict[str, Any]) -> None:
        """verl's, with what is known of turns; then note of each output what it is compared by, not for the graders."""
        for output in outputs:
            if TURNS in output.extra_fields or not all(output.response_mask):
                turns = turns_of(output.response_mask, output.extra_fields.get(TURNS, {}))
                output.extra_fields = output.extra_fields | {TURNS: asdict(turns)}
        await self._grade(outputs, kwargs)
        for output in outputs:
            output.extra_fields = output.extra_fields | {FINGERPRINT: fingerprint(output.response_ids)}
            if self._reference_answers is not None:
                self._reference_answers.choose_trained(output)

    async def _grade(self, outputs: list[Any], kwargs: dict[str, Any]) -> None:
        output = outputs[-1]
        if not self.lean or len(outputs) > 1 or output.reward_score is not None or not self.reward_loop_worker_handles:
            await super()._compute_score(outputs, kwargs)
            return
        began = time.perf_counter()
        graded = Graded(output.prompt_ids, output.response_ids, kwargs, output.num_turns, output.extra_fields)
        result = await self._grades(graded)
        output.reward_score = result["reward_score"]
        output.extra_fields["reward_extra_info"] = result["reward_extra_info"]
        output.metrics.compute_score = time.perf_counter() - began

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
        if is_measured(self.config, kwargs):
            kwargs = await self._measured(output, kwargs, training=not validate)
        if not self.lean or isinstance(output, list):
            await super()._agent_loop_postprocess(output, validate, **kwargs)
            return
        await self._compute_score([output], kwargs=kwargs)
        await self._store(row_of(output, validate, kwargs))

    async def _measured(self, output: Any, fields: dict[str, Any], *, training: bool) -> dict[str, Any]:
        """The fields of a row with what its verifier needs; of several outputs the last is graded."""
        if self._reference_answers is None:
            self._reference_answers = ReferenceAnswers(self.config, self.tokenizer, self._measuring_engines())
        last = output[-1] if isinstance(output, list) else output
        return await self._reference_answers.measured(last, fields, training=training)


@dataclass(frozen=True)
class Row:
    """Of the TransferQueue: a response."""

    key: str
    partition: str
    fields: dict[str, Any]
    tag: dict[str, Any]


def row_of(output: Any, validate: bool, fields: dict[str, Any]) -> Row:
    """As verl's `AgentLoopWorkerTQ._agent_loop_postprocess` makes it of one output."""
    row = output.as_dict()
    row.update(fields)
    row.pop("multi_modal_data", None)
    input_ids = torch.cat([row["prompts"], row["responses"]])
    row["loss_mask"] = row["response_mask"]
    row["input_ids"] = input_ids
    row["position_ids"] = torch.arange(len(input_ids))
    row["multi_modal_inputs"] = {}
    prompt, response, extra = len(row["prompts"]), len(row["responses"]), row["extra_fields"]
    tag = {
        "status": "success",
        "prompt_len": prompt,
        "response_len": response,
        "seq_len": prompt + response,
        "global_steps": fields["global_steps"],
        "min_global_steps": extra.get("min_global_steps"),
        "max_global_steps": extra.get("max_global_steps"),
    }
    return Row(f"{fields['uid']}_{fields['session_id']}_0", "val" if validate else "train", row, tag)


async def _store(rows: list[Row]) -> AsyncIterator[list[tuple[int, Any]]]:
    """Those of one partition and the same fields at once."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(rows):
        alike.setdefault((row.partition, *row.fields), []).append(number)
    for numbers in alike.values():
        some = [rows[number] for number in numbers]
        await tq.async_kv_batch_put(
            keys=[row.key for row in some],
            fields=list_of_dict_to_tensordict([row.fields for row in some]),
            tags=[row.tag for row in some],
            partition_id=some[0].partition,
        )
        yield [(number, None) for number in numbers]
