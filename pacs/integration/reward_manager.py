"""verl's reward managers, which here tell the reward function where the answer of a response begins.

verl gives a reward function the response's text without special tokens, and nothing of the prompt: with a model whose
delimiters are special tokens, or whose template opens the reasoning, it cannot know what is reasoning.

They also add the other parts of a reward (`run.reward`), which need the response's tokens.
"""

import math
from functools import cache
from typing import Any

import numpy as np
from omegaconf import DictConfig, open_dict
from verl import DataProto
from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls

from pacs.integration.exchange import TURNS
from pacs.integration.schema import composite_in, judge_in
from pacs.rewards.composite import Response
from pacs.rewards.cores import share_cores
from pacs.rewards.find_reasoning import find_reasoning
from pacs.rewards.judge import Asked, Judge, as_text
from pacs.rewards.reasoning import ANSWER_BEGINS, UNENDED, UNFINISHED
from pacs.rewards.verdict import PREDICTED_CHARS, verdict_score
from pacs.verl_keys.config import chat_template_options

PATH = "pkg://pacs.integration.reward_manager"


def choose(config: DictConfig) -> None:
    """Have verl load the manager of this module that stands for the one that the config names; not for a user's own."""
    manager = config.reward.reward_manager
    if manager.source == "register":
        with open_dict(config):
            manager.source, manager.module = "importlib", {**(manager.module or {}), "path": PATH}


def __getattr__(name: str) -> Any:
    """verl looks a manager up by `getattr(module, name)`: `naive`, `dapo` and so on."""
    try:
        return _informed(name)
    except ValueError as error:  # verl's: it has none of this name
        raise AttributeError(str(error)) from error


def on_a_node(config: DictConfig) -> tuple[int, int]:
    """vLLM engines and graders of a node; an engine that spans nodes is one on each."""
    rollout = config.actor_rollout_ref.rollout  # its GPUs of a node are the training's, or its own
    engines = rollout.n_gpus_per_node // rollout.tensor_model_parallel_size
    return max(1, engines), math.ceil(config.reward.num_workers / config.trainer.nnodes)


@cache
def _informed(name: str) -> type:
    """verl's manager of a name, with what is done before it and after it."""

    class Informed(get_reward_manager_cls(name)):  # type: ignore[misc]
        def __init__(self, config: DictConfig, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(config, tokenizer, *args, **kwargs)
            if config.actor_rollout_ref.model.get("custom_chat_template") is not None:
                tokenizer.chat_template = config.actor_rollout_ref.model.custom_chat_template
            engines, graders = on_a_node(config)
            share_cores(engines=engines, graders=graders)
            named = config.run.reasoning.delimiters
            self.reasoning = find_reasoning(tokenizer, chat_template_options(config), named)
            self.composite = composite_in(config)
            self.judge = judge_in(config, kwargs.get("reward_router_address"))
            self.all_turns = config.run.turns.graded == "conversation"

        async def run_single(self, data: DataProto) -> dict[str, Any]:
            """verl's, for the last sequence of `data`, with `ANSWER_BEGINS` in its `extra_info`; and other parts."""
            prompt, response = self._tokens(data)
            text = self.tokenizer.decode(response, skip_special_tokens=True)
            begins = self._answer_begins(prompt, response, text, 0 if self.all_turns else _last_turn(data))
            infos = data.non_tensor_batch.setdefault("extra_info", np.array([{}] * len(data), dtype=object))
            infos[-1] = {**(infos[-1] or {}), ANSWER_BEGINS: UNENDED if begins is None else begins}
            result: dict[str, Any] = await super().run_single(data)
            # A numpy number of float32 cannot be written into verl's tensor of scores.
            result["reward_score"] = float(result["reward_score"])
            said = result["reward_extra_info"]
            said[UNFINISHED] = float(begins is None)
            if self.composite is not None:
                score = verdict_score(said, result["reward_score"])
                judged = 0.0 if self.judge is None else await self._judged(self.judge, data, said, text, begins)
                graded = Response(score, text, begins, response, infos[-1].get("verifier"), judged)
                said |= (parts := self.composite.parts(graded))
                result["reward_score"] = self.composite.total(score, parts)
            return result

        async def _judged(
            self, judge: Judge, data: DataProto, said: dict[str, Any], text: str, begins: int | None
        ) -> float:
            """The judge's opinion of the last response, with what it is made of added to what is said of it."""
            row = {key: values[-1] for key, values in data.non_tensor_batch.items()}
            answer = "" if begins is None else text[begins:]
            asked = Asked(as_text(row["raw_prompt"]), answer, str(row["reward_model"]["ground_truth"]))
            value, told, failure = await judge.judge(asked if answer.strip() else None)
            said |= told
            if failure:
                said |= {"status": "error", "predicted": f"the judge: {failure}"[:PREDICTED_CHARS]}
            return value

        def _answer_begins(self, prompt: list[int], response: list[int], text: str, last: int) -> int | None:
            """The character of the text at which the answer begins that is in the response from a token on."""
            asked, turn = prompt + response[:last], response[last:]
            of_turn = self.tokenizer.decode(turn, skip_special_tokens=True) if last else text
            begins = self.reasoning.of_tokens(self.tokenizer, asked, turn, of_turn)
            return None if begins is None else len(text) - len(of_turn) + begins

        def _tokens(self, data: DataProto) -> tuple[list[int], list[int]]:
            """Of the prompt and of the response, without padding."""
            prompts, responses, mask = (data.batch[key][-1] for key in ("prompts", "responses", "attention_mask"))
            before = mask[: len(prompts)].bool()
            response = responses[: int(mask[len(prompts) :].sum())].tolist()  # as verl's managers have it
            return prompts[before].tolist(), response

    Informed.__name__ = Informed.__qualname__ = f"Informed{Informed.__mro__[1].__name__}"
    return Informed


def _last_turn(data: DataProto) -> int:
    """The token at which the last turn of the last response of `data` begins; 0 where it has one turn."""
    if "tool_extra_fields" not in data.non_tensor_batch:
        return 0
    turns = data.non_tensor_batch["tool_extra_fields"][-1].get(TURNS) or {}
    return int(turns.get("last", 0))
