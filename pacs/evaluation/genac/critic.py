"""What a generative critic says of states, by an engine: a trace of each, kept as soon as it is there."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pacs.algorithm.genac.parsing import read_value
from pacs.base.errors import UserError
from pacs.base.files import continued
from pacs.base.terminal import print
from pacs.data.chat_template import Messages, Template, load_tokenizer
from pacs.evaluation.drain import drain
from pacs.evaluation.engine import EngineOptions, EngineSettings, Finished, Request
from pacs.evaluation.genac.states import State
from pacs.evaluation.genac.templates import Asking, problem_of
from pacs.evaluation.model import Model, context_and_dtype, find_model, model_sha256
from pacs.evaluation.process import StopRequest
from pacs.evaluation.sample import sample_seed
from pacs.evaluation.settings import AS_IN_TRAINING, Sampling
from pacs.rewards.reasoning import Reasoning

#: What is said of a critic's reasoning: its whole trace is read.
UNMARKED = Reasoning((), named=True)


@dataclass(frozen=True)
class StateSet:
    """States of a task that are to be valued.

    Attributes:
        states: of it.
        prompts: of its problems, by their ids.
        rate: the actor's success rate there.
    """

    states: Sequence[State]
    prompts: Mapping[str, Messages]
    rate: float


@dataclass(frozen=True)
class Critic:
    """A critic that is asked.

    Attributes:
        model: as it was named.
        asking: what it is asked.
        actor: folder of the model whose tokens states have.
        sampling: of its traces.
        options: of the engines.
        chat: the question stands in the critic's chat template; else it is plain text, as in training.
    """

    model: str
    asking: Asking
    actor: str
    sampling: Sampling = AS_IN_TRAINING
    options: EngineOptions = field(default_factory=EngineOptions)
    chat: bool = False


@dataclass(frozen=True)
class Trace:
    """What a critic says of a state; `value` is None where that cannot be read. A value head says no text."""

    task: str
    state: str
    value: float | None
    tokens: int
    text: str


def ask(critic: Critic, sets: Mapping[str, StateSet], file: Path, logs: Path, stop: StopRequest) -> list[Trace]:
    """Have a critic value all states that are not in the file yet.

    Args:
        critic: that is asked.
        sets: of states, by task.
        file: of its traces. One of another critic, another question or other settings is begun anew.
        logs: folder for what engines print.
        stop: asked several times a second.

    Returns:
        A trace of each state, in their order.

    Raises:
        UserError: there is no such model, or its context is too short.
        EngineFailure, Stopped: What is there is kept.
    """
    model = found_critic(critic.model, critic.sampling.max_tokens, chat=critic.chat)
    limit, dtype = context_and_dtype(model)
    print(f"hashing the model in {model.folder}", flush=True)
    about = {
        "model_sha256": model_sha256(model.folder),
        "template": critic.asking.template.text,
        "model_size": critic.asking.model_size,
        "rates": {task: one.rate for task, one in sets.items()},
        "sampling": asdict(critic.sampling),
        "chat": critic.chat,
    }
    store = TraceStore(file, about)
    prompts = critic_prompts(critic, model, sets)
    longest = max(map(len, prompts.values())) + critic.sampling.max_tokens
    if longest > limit:
        raise UserError(
            f"--critic {critic.model}: problem, response, template and trace have up to {longest:,} tokens, and its "
            f"context has {limit:,}: lower --critic-tokens {critic.sampling.max_tokens}, or --max-tokens of the actor"
        )
    asked = {str(number): key for number, key in enumerate(prompts) if key not in store.known}
    print(f"{critic.model}: {len(prompts):,} states, {len(prompts) - len(asked):,} of them are valued", flush=True)
    queue = deque(
        Request(number, prompts[key], sample_seed(critic.sampling.seed, *key, 0)) for number, key in asked.items()
    )
    sampling = critic.sampling
    sampling = Sampling(**asdict(sampling) | {"dtype": dtype if sampling.dtype == "auto" else sampling.dtype})
    settings = EngineSettings(str(model.folder), longest, sampling, critic.options, UNMARKED)

    def keep(done: Finished) -> None:
        store.add(Trace(*asked[done.id], read_value(done.response), done.tokens, done.response))

    drain(settings, logs, queue, keep, stop, unit="states")
    return [store.known[key] for key in prompts]


def found_critic(given: str, trace_tokens: int, *, chat: bool) -> Model:
    """A critic's model, as far as it can be known before there are states to be valued.

    Args:
        given: as it was named.
        trace_tokens: that it may write.
        chat: it is asked in its chat template.

    Raises:
        UserError: there is none, it is a training checkpoint, its tokenizer does not load, or no trace fits its
            context.
    """
    model = find_model(given, template=chat)
    if model.source is not None:
        raise UserError(f"--critic {given} is a training checkpoint: export it, and give the folder")
    try:
        load_tokenizer(str(model.folder))
    except UserError as error:
        raise UserError(f"--critic {given}: {str(error).removeprefix('--model ')}") from None
    limit, _ = context_and_dtype(model)
    if trace_tokens >= limit:
        raise UserError(f"--critic-tokens {trace_tokens}: the context of --critic {given} has {limit:,}: lower it")
    return model


def critic_prompts(critic: Critic, model: Model, sets: Mapping[str, StateSet]) -> dict[tuple[str, str], list[int]]:
    """By task and state: as tokens, those of the partial solution being the actor's own."""
    tokenizer = load_tokenizer(str(model.folder))
    chat = Template(str(model.folder), critic.sampling.thinking) if critic.chat else None

    def encode(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    same_tokens = load_tokenizer(critic.actor).get_vocab() == tokenizer.get_vocab()
    template, prompts = critic.asking.template, {}
    for task, one in sets.items():
        around = {}
        for name, prompt in one.prompts.items():
            head = template.head(problem_of(prompt), one.rate, critic.asking.model_size)
            around[name] = chat.around(head, template.tail) if chat else (encode(head), encode(template.tail))
        for state in one.states:
            before, behind = around[state.problem]
            partial = state.tokens if same_tokens else encode(state.text)
            prompts[task, state.id] = [*before, *partial, *behind]
    return prompts


class TraceStore:
    """Traces on disk; those of another critic or another question are thrown away.

    Args:
        file: to go on with, or new.
        about: what they are of.
    """

    def __init__(self, file: Path, about: Mapping[str, Any]) -> None:
        lines, self._writer = continued(file, about)
        self.known = {(line["task"], line["state"]): Trace(**line) for line in lines}

    def add(self, trace: Trace) -> None:
        """Keep what the critic has said of a state."""
        self.known[trace.task, trace.state] = trace
        self._writer.write(asdict(trace))
