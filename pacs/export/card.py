"""The model card, from what the run's folder and the base model's say. What is missing there is left out."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from pacs.algorithm import PacsConfig
from pacs.export.source import Source
from pacs.report.read import METRICS, Run, read_run
from pacs.rewards.of_run import KEY, reward_of

ALGORITHM, BASE_MODEL = "algorithm.adv_estimator", "actor_rollout_ref.model.path"
PACS = "PACS, RLVR as supervised learning ([arXiv 2509.02522](https://arxiv.org/abs/2509.02522))"
#: verl's settings that a reader asks for first.
VERL_SETTINGS = (
    "data.train_batch_size",
    "actor_rollout_ref.rollout.n",
    "actor_rollout_ref.rollout.temperature",
    "data.max_prompt_length",
    "data.max_response_length",
    "actor_rollout_ref.actor.ppo_mini_batch_size",
    "actor_rollout_ref.actor.optim.lr",
)
#: Of metrics.jsonl: what the training steps and the validations say of right answers.
SHOWN_METRICS = ("critic/score/mean", "val-core/*")


def model_card(source: Source, dtype: str) -> str:
    """Write README.md.

    Args:
        source: what is exported.
        dtype: name of the dtype of the weights.

    Returns:
        Markdown with a YAML head: `base_model`, `library_name`, `tags`, and the base model's licence if its folder has
        a README.md that names one.

    Raises:
        RunError: If metrics.jsonl or run.json of the run cannot be read.
    """
    step, algorithm, base = source.checkpoint.step, source.setting(ALGORITHM), source.setting(BASE_MODEL)
    head = ModelCardData(
        base_model=_base_model_name(base),
        library_name="transformers",
        tags=["rlvr", "verl", *([algorithm] if algorithm else [])],
        **_licence(base),
    )
    steps = source.setting("trainer.total_training_steps")
    about = {
        "base model": head.base_model,
        "algorithm": PACS if algorithm == "pacs" else algorithm,
        "step": f"{step} of {steps}" if steps else step,
        "training data": _file_names(source.setting("data.train_files")),
        "validation data": _file_names(source.setting("data.val_files")),
        "dtype of the weights": dtype,
    }
    run = read_run(source.run) if (source.run / METRICS).is_file() else None
    title = ", ".join(str(part) for part in (source.setting("trainer.experiment_name"), f"step {step}") if part)
    sections = [
        f"---\n{head.to_yaml()}\n---",
        f"# {title}",
        "The policy of a training run, written by `pacs export`.",
        _table(("", ""), about.items()),
        *_section("Settings", ("key", "value"), _settings(source)),
        *_section("Metrics", ("metric", "step", "value"), _metrics(run, step)),
        *_section("Versions at the run's last start", ("", ""), _versions(run)),
    ]
    return "\n\n".join(sections) + "\n"


def _base_model_name(path: str | None) -> str | None:
    """The name on the Hub, or of the folder: where it lay on the machine is of no use elsewhere."""
    if path is None:
        return None
    on_hub = re.fullmatch(r"[\w.-]+/[\w.-]+", path) and not Path(path).exists()
    return path if on_hub else Path(path).name


def _licence(path: str | None) -> dict[str, Any]:
    readme = Path(path or "", "README.md")
    if path is None or not readme.is_file():
        return {}
    head = ModelCard.load(readme).data.to_dict()
    return {key: head[key] for key in ("license", "license_name", "license_link") if key in head}


def _file_names(files: str | list[str] | None) -> str | None:
    """File and folder of each: `deepscaler/train.parquet`."""
    each = [files] if isinstance(files, str) else files or []
    return ", ".join("/".join(Path(file).parts[-2:]).lstrip("/") for file in each) or None


def _settings(source: Source) -> Iterator[tuple[str, str]]:
    ours = source.setting("pacs") if source.setting(ALGORITHM) == "pacs" else None
    if isinstance(ours, Mapping):
        for name in [field.name for field in fields(PacsConfig) if field.name in ours and field.name != "metrics"]:
            yield from _leaves(f"pacs.{name}", ours[name])
    for key in VERL_SETTINGS:
        if (value := source.setting(key)) is not None:
            yield key, _shown(value)
    if (reward := reward_of(source.setting(KEY))) is not None:
        yield KEY, reward.function or "by each row's verifier"
        yield from _leaves("reward.custom_reward_function.reward_kwargs", reward.settings or {})


def _leaves(key: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, below in value.items():
            yield from _leaves(f"{key}.{name}", below)
    else:
        yield key, _shown(value)


def _shown(value: Any) -> str:
    """As in YAML."""
    return value if isinstance(value, str) else json.dumps(value)


def _metrics(run: Run | None, last_step: int) -> Iterator[tuple[str, int, str]]:
    """The newest value of each that is not after the checkpoint's step."""
    if run is None:
        return
    for key in [key for pattern in SHOWN_METRICS for key in run.keys(pattern)]:
        points = [(step, value) for step, value in zip(*run.series(key), strict=True) if step <= last_step]
        if points:
            yield key, points[-1][0], f"{points[-1][1]:.4g}"


def _versions(run: Run | None) -> Iterator[tuple[str, Any]]:
    if run is not None:
        yield "git commit", run.info.get("git_commit")
        yield "python", run.info.get("python")
        yield from run.info.get("versions", {}).items()


def _section(title: str, header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> list[str]:
    table = _table(header, rows)
    return [f"## {title}", table] if table else []


def _table(header: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    """A table of the rows that have a value, or nothing."""
    known = [row for row in rows if row[-1] is not None]
    lines = [header, ("---",) * len(header), *known]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines) if known else ""
