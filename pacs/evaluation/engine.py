"""One vLLM engine, in a Ray actor: requests in, finished samples out."""

import multiprocessing
import os
import re
import signal
import socket
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from pacs.base.errors import UserError
from pacs.data.chat_template import load_tokenizer
from pacs.evaluation.settings import Sampling
from pacs.rewards.reasoning import UNENDED, Reasoning

CONNECT_SECONDS = 10.0
#: An exchange ends after this time if anything is finished.
EXCHANGE_SECONDS = 0.1
#: An error that vLLM logs, and its words for one whose reason stands above them.
_ERROR = re.compile(r" ERROR .*?((?:\w+\.)*\w*(?:Error|Exception): .*)")
_REPEATED = ("See root cause above", "See stack trace")
#: Said of an engine whose core has ended without a reason in the log.
DEAD = "its EngineCore process died"


class EngineFailure(RuntimeError):
    """An engine could not be started, or died; the message says which and why."""


class Request(NamedTuple):
    """A sample to draw: tokens of the prompt, the seed, and how many tokens at the prompt's end begin the response."""

    id: str
    prompt: list[int]
    seed: int
    begun: int = 0


class Finished(NamedTuple):
    """A sample that was drawn: the fields of `pacs.evaluation.sample.Sample` behind its seed, in their order."""

    id: str
    response: str
    tokens: int
    truncated: bool
    token_entropy: float | None
    answer_begins: int


@dataclass(frozen=True)
class EngineOptions:
    """Where samples are drawn, which may change from start to start.

    Attributes:
        engines: how many; None for all that there is room for.
        tensor_parallel: GPUs of one engine.
        gpu_memory: share of a GPU's memory.
        ray_address: of a cluster to join; None for the one in RAY_ADDRESS, or one of its own.
    """

    engines: int | None = None
    tensor_parallel: int = 1
    gpu_memory: float = 0.9
    ray_address: str | None = None


def check_address(address: str) -> None:
    """Raise `UserError` if nothing listens at host:port: Ray itself tries for minutes."""
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.removeprefix("ray://"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise UserError(f"--ray-address {address}: nothing answers there ({error}): give another") from error


@dataclass(frozen=True)
class EngineSettings:
    """What every engine is started with.

    Attributes:
        model: a Hugging Face folder.
        context: the most tokens of prompt and response together.
        sampling: of all samples; a `dtype` of `auto` is vLLM's choice.
        options: of the engines.
        reasoning: how the model marks it.
        cpu: whether it computes on the CPU.
    """

    model: str
    context: int
    sampling: Sampling
    options: EngineOptions
    reasoning: Reasoning
    cpu: bool = False

    def engine_arguments(self) -> dict[str, Any]:
        """For vLLM's `EngineArgs`, and for its `LLM`."""
        extra: dict[str, Any] = {"distributed_executor_backend": "mp"} if self.options.tensor_parallel > 1 else {}
        if self.cpu:
            # vLLM's CPU build dies of a seeded prompt that is read in parts: it sets back the generator's offset, which
            # torch's generators on the CPU do not have.
            extra |= {"enforce_eager": True, "enable_chunked_prefill": False}
        return extra | {
            "model": self.model,
            "dtype": self.sampling.dtype,
            "tensor_parallel_size": self.options.tensor_parallel,
            "gpu_memory_utilization": self.options.gpu_memory,
            "max_model_len": self.context,
            "enable_prefix_caching": True,
            "disable_log_stats": True,
            "logprobs_mode": "processed_logprobs" if self.sampling.token_entropy else "raw_logprobs",
        }

    def sampling_arguments(self) -> dict[str, Any]:
        """For vLLM's `SamplingParams`."""
        return {
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "max_tokens": self.sampling.max_tokens,
            "logprobs": 0 if self.sampling.token_entropy else None,
        }


class Engine:
    """vLLM's engine. Its core is a process of its own, and goes on while this one waits for the driver.

    Args:
        settings: of the engine and of all samples.
        log: file for all that vLLM prints.
    """

    def __init__(self, settings: EngineSettings, log: Path) -> None:
        self._settings, self._log = settings, log
        self._is_exchanging = False
        #: Of each request whose response is begun, by how many tokens.
        self._begun: dict[str, int] = {}

    def start(self) -> int:
        """Start vLLM; return how many requests it works on at a time.

        Raises:
            EngineFailure: If it cannot start; it names the reason.
        """
        _print_to(self._log)
        try:
            from vllm import EngineArgs, LLMEngine
            from vllm.usage.usage_lib import UsageContext

            # The context decides how much vLLM works on at a time: on an H100 1,024 requests, by its own default 128.
            arguments = EngineArgs(**self._settings.engine_arguments())
            self._engine = LLMEngine.from_engine_args(arguments, usage_context=UsageContext.LLM_CLASS)
            self._tokenizer = load_tokenizer(self._settings.model)
        except Exception as error:
            raise self._failure(error) from None
        signal.signal(signal.SIGUSR1, self._interrupt)
        threading.Thread(target=_await_death, daemon=True).start()
        return int(self._engine.vllm_config.scheduler_config.max_num_seqs)

    def exchange(self, requests: Sequence[Request]) -> list[Finished]:
        """Take requests on; return what is finished of all that were taken on, once that is at least one.

        Raises:
            EngineFailure: If the engine is dead; it names the reason.
        """
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        self._is_exchanging = True
        try:
            for request in requests:
                sampling = SamplingParams(**self._sampling(request), output_kind=RequestOutputKind.FINAL_ONLY)
                self._engine.add_request(request.id, {"prompt_token_ids": request.prompt}, sampling)
            finished: list[Finished] = []
            until = time.monotonic() + EXCHANGE_SECONDS
            while self._engine.has_unfinished_requests() and not (finished and time.monotonic() > until):
                finished += [self._finished(output) for output in self._engine.step() if output.finished]
        except Exception as error:
            raise self._failure(error) from None
        finally:
            self._is_exchanging = False
        return finished

    def _sampling(self, request: Request) -> dict[str, Any]:
        """Of a request, for vLLM's `SamplingParams`."""
        arguments = {**self._settings.sampling_arguments(), "seed": request.seed}
        if request.begun:
            self._begun[request.id] = request.begun
            arguments["max_tokens"] -= request.begun
        return arguments

    def _finished(self, output: Any) -> Finished:
        response = output.outputs[0]
        count, prompt, written = len(response.token_ids), output.prompt_token_ids, response.token_ids
        text = response.text
        if begun := self._begun.pop(output.request_id, 0):
            prompt, written = prompt[:-begun], [*prompt[-begun:], *written]
            text = self._tokenizer.decode(written[:begun], skip_special_tokens=True) + text
        log_prob = response.cumulative_logprob
        entropy = None if log_prob is None else -log_prob / max(count, 1)
        begins = self._settings.reasoning.of_tokens(self._tokenizer, prompt, written, text)
        answer_begins = UNENDED if begins is None else begins
        truncated = response.finish_reason == "length"
        return Finished(output.request_id, text, count, truncated, entropy, answer_begins)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        """End the wait for an engine that is dead; outside of it, vLLM itself finds out at the next request."""
        if self._is_exchanging:
            raise ChildProcessError(DEAD)

    def _failure(self, error: Exception) -> EngineFailure:
        """What vLLM logged as the reason, or else the error itself."""
        said = _ERROR.findall(self._log.read_text(errors="replace"))
        first_hand = [line for line in said if not any(words in line for words in _REPEATED)]
        # vLLM may notice first that its core is gone, and then knows no reason.
        dead = isinstance(error, ChildProcessError) or type(error).__name__ == "EngineDeadError"
        plain = DEAD if dead else f"{type(error).__name__}: {error}"
        cause = first_hand[-1] if first_hand else plain
        return EngineFailure(f"{' '.join(cause.split())} (all that vLLM printed is in {self._log})")


def _await_death() -> None:
    """Wait for the end of the engine's core, and interrupt the main thread: vLLM would wait for its answer for ever."""
    cores = multiprocessing.active_children()
    if cores:
        wait([core.sentinel for core in cores])
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)


def _print_to(log: Path) -> None:
    """Send what this process and its children print to a file; on another node without this folder, one is made."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)  # never through a link
    with log.open("wb") as stream:
        for standard in (1, 2):
            os.dup2(stream.fileno(), standard)
