"""What an evaluation was made with: `settings.json`, and whether a start may add to it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pacs.base.errors import UserError
from pacs.base.files import inside, write_atomically
from pacs.evaluation.grading import NOT_RECORDED, OPTION, Grading, VerifierSettings, differences

FILE = "settings.json"
#: The part of the model's hash that every sample carries.
HASH_CHARS = 12


@dataclass(frozen=True)
class ModelSettings:
    """Which model was sampled.

    Attributes:
        name: as the command gave it.
        folder: that vLLM loaded.
        sha256: of the contents of its files.
        checkpoint: sha256 of the marker of the training checkpoint that it was merged from, if it was.
        run: of that training run: algorithm, data.seed, step, git_commit.
    """

    name: str
    folder: str
    sha256: str
    checkpoint: str | None = None
    run: Mapping[str, Any] | None = None

    @property
    def prefix(self) -> str:
        """The model's hash in every sample."""
        return self.sha256[:HASH_CHARS]


@dataclass(frozen=True)
class Sampling:
    """How it was sampled, and where answers begin; the defaults are the paper's.

    `reasoning` are the model's delimiters as the user or the model's run named them; None: they were found.
    """

    temperature: float = 0.6
    top_p: float = 0.95
    max_tokens: int = 8192
    thinking: bool = True
    token_entropy: bool = False
    dtype: str = "auto"
    seed: int = 0
    reasoning: list[list[str]] | None = None


#: As training samples, where a run sets nothing else.
AS_IN_TRAINING = Sampling(temperature=1.0, top_p=1.0)


@dataclass(frozen=True)
class TaskSettings:
    """Which problems, and how often.

    Attributes:
        data: parquet file in verl's schema.
        sha256: of the file.
        problems: how many it has.
        samples: of each problem.
        ks: of pass@k.
    """

    data: str
    sha256: str
    problems: int
    samples: int
    ks: tuple[int, ...]


@dataclass(frozen=True)
class Settings:
    """All that decides what is in an evaluation's folder, and the versions and the commit that first wrote to it.

    `grading` is None in the folder of a version that did not write it down.
    """

    model: ModelSettings
    sampling: Sampling
    tasks: Mapping[str, TaskSettings]
    versions: Mapping[str, str]
    git_commit: str | None = None
    grading: Grading | None = None

    @property
    def verifiers(self) -> VerifierSettings:
        """What the verifiers are called with."""
        return self.grading.verifiers if self.grading else {}

    def write(self, out: Path) -> None:
        """Write `settings.json`."""
        write_atomically(out / FILE, json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n")


def read_settings(out: Path) -> Settings:
    """What `settings.json` of an evaluation's folder says.

    Raises:
        UserError: If there is none, or it cannot be read.
    """
    file = out / FILE
    try:
        # Not by pydantic: it refuses the halves of surrogate pairs that a stranger's file may have.
        values = json.loads(file.read_text(encoding="utf-8"))
        tasks = {name: TaskSettings(**task | {"ks": tuple(task["ks"])}) for name, task in values["tasks"].items()}
        for name in tasks:
            inside(out, "samples", name)
        model, sampling = ModelSettings(**values["model"]), Sampling(**values["sampling"])
        grading = Grading(**values["grading"]) if values.get("grading") else None
        return Settings(model, sampling, tasks, values["versions"], values.get("git_commit"), grading)
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{out} is no evaluation (it has no {FILE}): give a folder of `pacs evaluate`") from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(f"{file} cannot be read ({error}): give another folder, or repair it") from error


def joined(old: Settings, new: Settings, out: Path) -> Settings:
    """The settings of a folder after a start with `new`, which may only add tasks and samples.

    Args:
        old: what the folder was made with.
        new: what is asked for now.
        out: the folder, for errors.

    Raises:
        UserError: If models, settings or data differ, or there would be fewer samples.
    """
    if old.model.sha256 != new.model.sha256:
        raise UserError(
            f"--out {out} has samples of another model ({old.model.name}, sha256 {old.model.prefix}; this one, "
            f"{new.model.name}, is {new.model.prefix}): give that model, or another --out"
        )
    was, is_now = asdict(old.sampling), asdict(new.sampling)
    differing = [f"{key} {was[key]}, not {is_now[key]}" for key in was if was[key] != is_now[key]]
    if differing:
        raise UserError(f"--out {out} was sampled with {', '.join(differing)}: give the same, or another --out")
    _check_grading(old, new, out)
    tasks = dict(old.tasks)
    for name, task in new.tasks.items():
        before = tasks.get(name)
        if before and before.sha256 != task.sha256:
            raise UserError(
                f"--out {out}: {name} was sampled from another data file ({before.data}, sha256 "
                f"{before.sha256[:HASH_CHARS]}; {task.data} is {task.sha256[:HASH_CHARS]}): give that, or another --out"
            )
        if before and before.samples > task.samples:
            raise UserError(
                f"--out {out} has {before.samples} samples a problem of {name}, and --samples says {task.samples}: "
                f"samples are only added: give --samples {name}={before.samples} or more, or another --out"
            )
        tasks[name] = task
    return replace(old, tasks=tasks)


def _check_grading(old: Settings, new: Settings, out: Path) -> None:
    """Raise `UserError` if what is added would be graded otherwise than what is there."""
    if new.grading is None:
        return
    again = f"`pacs evaluate grade {out}` grades them again"
    if old.grading is None:
        raise UserError(f"--out {out}: {NOT_RECORDED}: {again}; or give another --out")
    if found := list(differences(old.verifiers, new.verifiers)):
        said = ", ".join(f"{name} {was}, not {is_now}" for name, was, is_now in found)
        raise UserError(
            f"--out {out} was graded with {said}: give the same by {OPTION}, or another --out, or {again} with others"
        )
