"""The model card, from what the run's folder and the base model's say. What is missing there is left out."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard, ModelCardData

from pacs.base.markdown import cell
from pacs.base.run_folder import RunFolder
from pacs.base.settings import shown
from pacs.base.terminal import visible
from pacs.checkpoints.source import Source
from pacs.rewards.configured import reward_of
from pacs.runs.read import Run, read_run
from pacs.verl_keys import names
from pacs.verl_keys.metrics import SCORE, VALIDATION

#: The methods by their primary configs: in words, and the paper.
METHODS = {
    **dict.fromkeys(("pacs", "pacs_paper", "pacs_authors"), ("PACS, RLVR as supervised learning", "2509.02522")),
    "ppo": ("PPO", "1707.06347"),
    "vcppo": ("VC-PPO", "2503.01491"),
    "vineppo": ("VinePPO", "2410.01679"),
    "genac": ("GenAC", "2604.10701"),
    "grpo": ("GRPO", "2402.03300"),
    "dr_grpo": ("Dr. GRPO", "2503.20783"),
    "dapo": ("DAPO", "2503.14476"),
    "rloo": ("RLOO", "2402.14740"),
}
#: A model of the Hub in the cache of huggingface_hub.
IN_CACHE = re.compile(r"models--([\w.-]+?)--([\w.-]+)/snapshots/")
#: Of metrics.jsonl: what the validations say of right answers; verl's where scores are other than 0 and 1.
PASS_AT_K, VERL_VALIDATION = "pacs/validation/*/pass@*", f"{VALIDATION}*"


def model_card(source: Source, dtype: str, evaluations: Sequence[str] = ()) -> str:
    """Write README.md.

    Args:
        source: what is exported.
        dtype: name of the dtype of the weights.
        evaluations: of the checkpoint, a section in Markdown each.

    Returns:
        Markdown with a YAML head: `base_model` where that is a model of the Hub, `library_name`, `tags`, and the base
        model's licence if its folder has a README.md that names one. No path of the machine, and no secret.

    Raises:
        UserError: If metrics.jsonl or run.json of the run cannot be read.
    """
    step, method = source.checkpoint.step, method_of(source)
    base = source.setting(names.POLICY_PATH if source.part == "actor" else names.CRITIC_PATH)
    what = "policy" if source.part == "actor" else "critic, which scores partial responses,"
    head = ModelCardData(
        base_model=_hub_id(base),
        library_name="transformers",
        tags=["rlvr", "verl", *([method] if method else [])],
        **_licence(base),
    )
    steps = source.setting(names.TOTAL_STEPS)
    about = {
        "base model": head.base_model or (f"{Path(base).name}, a folder that is on no Hub" if base else None),
        "algorithm": _method_in_words(method),
        "step": f"{step} of {steps}" if steps else step,
        "training data": _file_names(source.setting(names.TRAIN_FILES)),
        "validation data": _file_names(source.setting(names.VALIDATION_FILES)),
        "dtype of the weights": dtype,
    }
    run = read_run(source.run) if (RunFolder(source.run).metrics).is_file() else None
    title = ", ".join(str(part) for part in (source.setting(names.RUN_NAME), f"step {step}") if part)
    sections = [
        f"---\n{head.to_yaml()}\n---",
        f"# {title}",
        f"The {what} of a training run, written by `pacs export`.",
        _table(("", ""), about.items()),
        *_section("Settings", ("key", "value"), _settings(source)),
        *evaluations,
        *_section("Metrics", ("metric", "step", "value"), _metrics(run, step)),
        *_section("Versions at the run's last start", ("", ""), _versions(run)),
    ]
    return visible("\n\n".join(sections)) + "\n"


def method_of(source: Source) -> str | None:
    """The primary config that was run; of PACS's trainer the import path of a method that is not ours."""
    method: str | None = source.setting(names.METHOD)
    return str(source.setting("method.name") or method) if method == "pacs" else method


def _method_in_words(method: str | None) -> str | None:
    if method not in METHODS:
        return method
    words, paper = METHODS[method]
    return f"{words} ([arXiv {paper}](https://arxiv.org/abs/{paper}))"


def _hub_id(path: str | None) -> str | None:
    """The model's name on the Hub, also of a snapshot in its cache; None of another folder."""
    if path is None:
        return None
    if cached := IN_CACHE.search(path):
        return "/".join(cached.groups())
    return path if re.fullmatch(r"[\w.-]+/[\w.-]+", path) and not Path(path).exists() else None


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
    if isinstance(method := source.setting("method"), Mapping):
        yield from shown({"method": {name: value for name, value in method.items() if name != "metrics"}}).items()
    for key in names.ON_THE_CARD:
        if (value := source.setting(key)) is not None:
            yield from shown({key: value}).items()
    if (reward := reward_of(source.setting(names.REWARD_FUNCTION))) is not None:
        yield names.REWARD_FUNCTION, reward.function or "by each row's verifier"
        yield from shown({names.REWARD_ARGUMENTS: reward.settings or {}}).items()


def _metrics(run: Run | None, last_step: int) -> Iterator[tuple[str, int, str]]:
    """The newest value of each that is not after the checkpoint's step."""
    if run is None:
        return
    for key in [*run.keys(SCORE), *(run.keys(PASS_AT_K) or run.keys(VERL_VALIDATION))]:
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
    return "\n".join(f"| {' | '.join(map(cell, line))} |" for line in lines) if known else ""
