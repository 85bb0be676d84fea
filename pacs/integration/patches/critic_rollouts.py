"""Values of a response's segments by a critic that writes text (GenAC), in an engine of its own.

When a response is there, its worker cuts it into segments and has the critic reason about each state before one: the
critic's engine has the state before in its cache, so that it reads each token of a response once. The critic thus
writes while the policy still writes its longest responses. A row gets the number of each token's segment and the value
of the state before that; the traces go along, for the critic's own update.
"""

from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Self

import torch

from pacs.algorithm.genac.parsing import read_score
from pacs.algorithm.genac.rewards import filled_values
from pacs.algorithm.genac.segments import segment_starts
from pacs.algorithm.vineppo import step_streams
from pacs.evaluation.genac.templates import problem_of, template_named
from pacs.integration.exchange import CRITIC_TRACES, SUCCESS_RATE
from pacs.integration.patches.lean_engines import Engines
from pacs.integration.patches.seeded_rollouts import critic_seed
from pacs.integration.patches.together import settled
from pacs.runs.genac_settings import GenacSettings
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import critic_section


@dataclass(frozen=True)
class Traces:
    """What the critic wrote of one response.

    Attributes:
        head, tail: tokens of its prompt before and behind the partial response.
        starts: where each segment begins, in tokens of the response.
        traces: its tokens about the state before each segment.
        log_probs: their log-probabilities as its engine gave them.
        scores: 0 to 10, or None where a trace has none.
    """

    head: list[int]
    tail: list[int]
    starts: list[int]
    traces: list[list[int]]
    log_probs: list[list[float]]
    scores: list[int | None]

    @classmethod
    def of(cls, extra_fields: dict[str, Any]) -> Self:
        """Those that a response's extra fields hold."""
        return cls(**extra_fields[CRITIC_TRACES])


class CriticRollouts:
    """Of an agent-loop worker: a critic's values for the segments of training's responses."""

    config: Any
    tokenizer: Any
    llm_client: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._genac = GenacSettings.from_mapping(plain(self.config.genac))
        self._template = template_named(self._genac.template)
        self._critic = Engines(self.llm_client.critic)
        self._tail = self.tokenizer.encode(self._template.tail, add_special_tokens=False)
        self._text = cache(lambda token: self.tokenizer.decode([token]))
        rollout = critic_section(self.config).rollout
        self._critic_sampling = {name: rollout[name] for name in ("temperature", "top_p", "top_k")}

    async def _agent_loop_postprocess(self, output: Any, validate: bool, **kwargs: Any) -> None:
        if not validate:
            if isinstance(output, list) or 0 in output.response_mask:
                raise ValueError(
                    "genac: an agent loop returned several turns, which the critic's template has no place for: use "
                    "verl's single_turn_agent."
                )
            kwargs |= await self._value_streams(output, kwargs)
        await super()._agent_loop_postprocess(output, validate, **kwargs)  # type: ignore[misc]

    async def _value_streams(self, output: Any, fields: dict[str, Any]) -> dict[str, torch.Tensor]:
        """(T,) each of the streams, for the row; and in the output the traces."""
        tokens, segments, rate = output.response_ids, self._genac.segments, fields[SUCCESS_RATE]
        texts = [self._text(token) for token in tokens]
        starts = segment_starts(texts, segments.delimiter, segments.least_tokens, segments.most_tokens)
        opening = self._template.head(problem_of(fields["raw_prompt"]), rate, self._genac.model_size)
        head = self.tokenizer.encode(opening, add_special_tokens=False)
        written = await settled(*(self._trace(head, tokens[:start], start, fields) for start in starts))
        scores = [read_score(self.tokenizer.decode(trace.token_ids, skip_special_tokens=True)) for trace in written]
        traces = Traces(
            head=head,
            tail=self._tail,
            starts=starts,
            traces=[list(trace.token_ids) for trace in written],
            log_probs=[list(trace.log_probs) for trace in written],
            scores=scores,
        )
        output.extra_fields |= {CRITIC_TRACES: asdict(traces)}
        values = filled_values([None if score is None else score / 10 for score in scores], rate)
        return step_streams(starts, values, len(tokens))

    async def _trace(self, head: list[int], prefix: list[int], start: int, fields: dict[str, Any]) -> Any:
        """What the critic writes about one state."""
        sampling = {
            **self._critic_sampling,
            "repetition_penalty": 1.0,
            "logprobs": True,
            "max_tokens": self._genac.trace_tokens,
        }
        uid, session = fields["uid"], fields["session_id"]
        if self.config.run.rollouts.seeded:
            run, step = self.config.actor_rollout_ref.rollout.seed, int(fields["global_steps"])
            sampling["seed"] = critic_seed(run, step, fields["raw_prompt"], uid, session, start)
        # One replica for all of a response's states, which share their beginnings.
        return await self._critic.generate(
            f"{uid}_{session}", prompt_ids=head + prefix + self._tail, sampling_params=sampling
        )
