"""`pacs data baseline MODEL`: how probable each right answer of training data is without any reasoning."""

import json
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pacs.base import locks
from pacs.base.commit import git_commit
from pacs.base.errors import UserError
from pacs.base.files import continued, file_sha256
from pacs.base.terminal import print
from pacs.data.baseline import Baseline, Baselines, baseline_file, write_baselines
from pacs.data.chat_template import load_tokenizer
from pacs.data.rates import problem_key
from pacs.evaluation.drain import drain
from pacs.evaluation.engine import EngineOptions, EngineSettings, Finished, Request
from pacs.evaluation.evaluate import encode, versions
from pacs.evaluation.measuring_engine import MeasuringEngine
from pacs.evaluation.model import Model, context_and_dtype, find_model, model_sha256
from pacs.evaluation.process import StopRequest
from pacs.evaluation.sample import Problem
from pacs.evaluation.settings import AS_IN_TRAINING
from pacs.evaluation.tasks import load_problems
from pacs.rewards.reasoning import Reasoning
from pacs.rewards.reference_answer import NAME, OPENS, bare, mean_probability
from pacs.rewards.registry import DEFAULT

#: What is measured, problem by problem, until all is; its first line says what of.
MEASURED = "measured.jsonl"
LOGS = "logs"
#: vLLM has to make a token.
MADE = 1


@dataclass(frozen=True)
class BaselineRequest:
    """What the command asks for.

    Attributes:
        model: as it was named: the one that is to be trained.
        files: parquet in verl's schema.
        opens: what opens an answer.
        thinking: given to the chat template.
        reasoning: the model's delimiters; None: find them.
        dtype: of the weights; auto: as they are stored.
        options: of the engines.
    """

    model: str
    files: Sequence[Path]
    opens: str = OPENS
    thinking: bool = True
    reasoning: list[list[str]] | None = None
    dtype: str = "auto"
    options: EngineOptions = EngineOptions()  # noqa: RUF009 (frozen)


def measure(asked: BaselineRequest, stop: StopRequest) -> None:
    """Measure what is missing of each file, then write its baselines beside it.

    Raises:
        UserError: a file or the model is not there, or cannot be measured.
        EngineFailure: an engine cannot start or died; what was measured is kept.
        Stopped: `stop` asks for the end; the same.
    """
    if not asked.opens.strip():
        raise UserError("--opens: give the text that opens an answer, as \\boxed{ or <answer>")
    for file in asked.files:
        if not file.is_file():
            raise UserError(f"--data {file}: no such file: `pacs data prepare` makes one")
    model = find_model(asked.model)
    if model.source is not None:
        raise UserError(f"{asked.model} is a training checkpoint: give the model that the run began with, or export it")
    _, dtype = context_and_dtype(model)
    asked = replace(asked, dtype=dtype if asked.dtype == "auto" else asked.dtype)
    print(f"hashing the model in {model.folder}", flush=True)
    digest = model_sha256(model.folder)
    with stop:
        for file in asked.files:
            _measure_file(asked, model, digest, file, stop)


def _measure_file(asked: BaselineRequest, model: Model, digest: str, file: Path, stop: StopRequest) -> None:
    problems = [each for each in load_problems(file) if (each.extra_info.get("verifier") or DEFAULT) == NAME]
    if not problems:
        raise UserError(
            f"--data {file}: no row is graded by {NAME}: name it in extra_info.verifier (`pacs data prepare FILE "
            f"--verifier {NAME}`)"
        )
    sampling = replace(
        AS_IN_TRAINING, max_tokens=MADE, thinking=asked.thinking, reasoning=asked.reasoning, dtype=asked.dtype
    )
    prompts, _, reasoning = encode(model, {file.stem: problems}, sampling)
    print(reasoning.sentence("--reasoning, or the model's run,"), flush=True)
    requests = _requests(asked, model, problems, {id_: tokens for (_, id_), tokens in prompts.items()}, reasoning)
    longest = max(len(request.prompt) for request in requests.values()) + MADE
    limit, _ = context_and_dtype(model)
    if longest > limit:
        raise UserError(
            f"--data {file}: a prompt and its answer have {longest:,} tokens, and the model takes {limit:,}"
        )
    found = Baselines(
        data_sha256=file_sha256(file), model=asked.model, model_sha256=digest, opens=asked.opens,
        thinking=asked.thinking, dtype=asked.dtype, made_by={**versions(), "git_commit": git_commit()}, problems=[],
    )  # fmt: skip
    folder = file.with_name(file.name.removesuffix(".parquet") + ".baseline")
    with locks.held(folder, f"{folder}", "a measurement", "wait for it"):
        store = _Store(folder / MEASURED, found)
        queue = deque(request for key, request in requests.items() if key not in store.known)
        print(f"{file}: {len(requests):,} right answers, {len(requests) - len(queue):,} of them measured", flush=True)
        settings = EngineSettings(str(model.folder), longest, sampling, asked.options, reasoning)
        logs = folder.absolute() / LOGS
        drain(settings, logs, queue, store.deliver, stop, unit="answers", kind=MeasuringEngine)
    of_problems = [(problem_key(each.prompt, each.ground_truth), each.id) for each in problems]
    measured = [Baseline(key, id_, store.known[key]) for key, id_ in of_problems]
    write_baselines(baseline_file(file), replace(found, problems=measured))
    mean = math.fsum(each.probability for each in measured) / len(measured)
    print(f"{baseline_file(file)}: a right answer's tokens have the probability {mean:.3f} in the mean")


def _requests(
    asked: BaselineRequest, model: Model, problems: Sequence[Problem], prompts: Mapping[str, list[int]],
    reasoning: Reasoning,
) -> dict[str, Request]:  # fmt: skip
    """A request for each problem, by the problem's key; its seed is how many tokens at its end are the answer."""
    tokenizer = load_tokenizer(str(model.folder))
    requests = {}
    for problem in problems:
        prompt = prompts[problem.id]
        opened = reasoning.opened_by(tokenizer.decode(prompt, skip_special_tokens=False))
        tail = bare(tokenizer, opened.closes[0] if opened else "", asked.opens, problem.ground_truth)
        key = problem_key(problem.prompt, problem.ground_truth)
        requests[key] = Request(key, prompt + tail.tokens, len(tail.tokens) - tail.first)
    return requests


class _Store:
    """What is measured, on disk; that of another model, other data or settings is thrown away.

    Args:
        file: to go on with, or new.
        about: what it is of.
    """

    def __init__(self, file: Path, about: Baselines) -> None:
        of = {name: value for name, value in about.about().items() if name not in ("model", "made_by")}
        lines, self._writer = continued(file, of)
        self.known = {str(line["key"]): float(line["probability"]) for line in lines}

    def deliver(self, finished: Finished) -> None:
        """Keep what an engine has said."""
        probability = min(mean_probability(json.loads(finished.response)), 1.0)
        self.known[finished.id] = probability
        self._writer.write({"key": finished.id, "probability": probability})
