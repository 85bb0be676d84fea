"""How probable the right answer of a row is behind a response's reasoning, asked of the engine that has sampled it.

Of rows with the verifier `reference_probability` (`pacs.rewards.reference_answer`). One request for a response, with
the log-probabilities of its prompt: the prompt, the response up to its answer, and the reference answer. vLLM gives
those of temperature 1.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from omegaconf import DictConfig

from pacs.data.baseline import read_baselines
from pacs.data.rates import problem_key
from pacs.integration.exchange import MASKED, REFERENCE_SPAN
from pacs.integration.schema import reference_settings_in
from pacs.rewards.find_reasoning import find_reasoning
from pacs.rewards.reference_answer import NAME, Measured, Spliced, mean_probability, splice
from pacs.verl_keys.config import chat_template_options, data_files, longest_response


class ReferenceAnswers:
    """Of an agent-loop worker: measures a response before it is graded, and says what of it is trained on.

    Args:
        config: of the run.
        tokenizer: the run's.
        engines: verl's client of the engines.
    """

    def __init__(self, config: DictConfig, tokenizer: Any, engines: Any) -> None:
        self._config, self._tokenizer, self._engines = config, tokenizer, engines
        settings = reference_settings_in(config)
        assert settings is not None
        self._opens, self._subtracts = str(settings["opens"]), bool(settings["baseline"])
        self._reasoning = find_reasoning(tokenizer, chat_template_options(config), config.run.reasoning.delimiters)
        self._longest = longest_response(config)
        files = [Path(file).expanduser() for file in data_files(config)] if self._subtracts else []
        self._baselines = read_baselines(files)
        #: By an output's id, as long as it is graded: the output itself, so that no other gets its id; and its answers.
        self._graded: dict[int, tuple[Any, Spliced, list[float]]] = {}

    async def measured(self, output: Any, fields: Mapping[str, Any], *, training: bool) -> dict[str, Any]:
        """The fields of a row as its verifier is to have them, with what was measured for an output.

        Args:
            output: verl's, of one response; it is noted there what of it is trained on.
            fields: of its row in the data.
            training: whether it is sampled for training.
        """
        answer = str(fields["reward_model"]["ground_truth"])
        baseline = self._baseline(fields, answer) if self._subtracts else 0.0
        response = list(output.response_ids)
        text = self._tokenizer.decode(response, skip_special_tokens=True)
        begins = self._reasoning.of_tokens(self._tokenizer, output.prompt_ids, response, text)
        spliced = splice(self._tokenizer, response, begins, self._opens, answer)
        if spliced is None or len(spliced.tokens) >= self._longest:
            found = Measured(None, baseline)
        else:
            log_probs = await self._log_probs(list(output.prompt_ids), spliced)
            found = Measured(mean_probability(log_probs), baseline)
            if training:
                self._graded[id(output)] = (output, spliced, log_probs)
        return {**fields, "extra_info": {**(fields.get("extra_info") or {}), **found.info()}}

    def _baseline(self, fields: Mapping[str, Any], answer: str) -> float:
        found = self._baselines.get(problem_key(fields["raw_prompt"], answer))
        if found is None:
            raise RuntimeError(
                f"the verifier {NAME}: a prompt with the right answer {answer[:60]!r} has no baseline beside the data: "
                "run `pacs data baseline` on the file again, or set its setting baseline=false"
            )
        return found

    async def _log_probs(self, prompt: list[int], spliced: Spliced) -> list[float]:
        """Of the reference answer's tokens behind a prompt and what stands before them."""
        output = await self._engines.generate(
            request_id=uuid4().hex, prompt_ids=prompt + spliced.tokens, sampling_params=measurement(self._config)
        )
        # verl's list begins with the second token's.
        first = len(prompt) + spliced.first - 1
        rows = output.extra_fields["prompt_logprobs"][first : len(prompt) + len(spliced.tokens) - 1]
        return [float(row[0]) for row in rows]

    def choose_trained(self, output: Any) -> None:
        """Leave of a graded output what is trained on: no answer, or the reference answer in its place."""
        graded, rlpr = self._graded.pop(id(output), None), self._config.run.rlpr
        if graded is None or not rlpr.mask_answer:
            return
        _, spliced, log_probs = graded
        masked = len(output.response_mask) - spliced.sampled
        output.extra_fields[MASKED] = masked
        output.response_mask = [*output.response_mask[: spliced.sampled], *[0] * masked]
        before = spliced.tokens[: spliced.first]
        # Where the tokenizer makes other tokens of what opens the answer than the policy did, nothing is replaced.
        if not rlpr.answer_weight or output.response_ids[: spliced.first] != before:
            return
        more = len(spliced.tokens) - spliced.first
        output.response_ids = spliced.tokens
        output.response_mask = [*output.response_mask[: spliced.first], *[0] * more]
        if output.response_logprobs is not None:
            output.response_logprobs = [*output.response_logprobs[: spliced.first], *log_probs]
        output.extra_fields[REFERENCE_SPAN] = [spliced.first, len(spliced.tokens)]


def measurement(config: DictConfig) -> dict[str, Any]:
    """Sampling parameters: one token, which vLLM cannot do without, and of the prompt each token's own log-probability.

    Where responses have seeds, this has one, too: on a CPU vLLM samples a whole batch without seeds as long as one
    request of it has none, and a greedy one counts as such.
    """
    drawn = {"temperature": 1.0, "seed": 0} if config.run.rollouts.seeded else {"temperature": 0.0}
    return {"max_tokens": 1, "prompt_logprobs": 0, **drawn}


def is_measured(config: DictConfig, fields: Mapping[str, Any]) -> bool:
    """Whether a row is graded by the verifier."""
    named = (fields.get("extra_info") or {}).get("verifier") == NAME
    return named and reference_settings_in(config) is not None
