"""One stage of a seed, in the process that is asked for it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pacs.base.files import write_atomically
from pacs.base.terminal import say
from recipes.genac_arithmetic.kept import key_of
from recipes.genac_arithmetic.sizes import COMPARED, CRITICS, UNTOLD, Sizes


@dataclass(frozen=True)
class Job:
    """What is to be run. `pretraining` is the result of the seed's stage `critics`, for the arms."""

    stage: str
    seed: int
    sizes: Sizes
    weights: Path
    pretraining: dict[str, Any] | None = None


def run(job: Job) -> dict[str, Any]:
    """The result of a stage. The critics' weights are kept for the arms, and made again where they are gone."""
    import torch  # it takes seconds to import

    from recipes.genac_arithmetic.comparing import compared
    from recipes.genac_arithmetic.joint import joint
    from recipes.genac_arithmetic.pretraining import untold

    torch.set_num_threads(1)

    def tell(line: str) -> None:
        say(f"seed {job.seed}: {line}")

    if job.stage == CRITICS:
        return _critics(job, tell)
    if job.stage == UNTOLD:
        return untold(job.seed, job.sizes, tell)
    if job.stage == COMPARED:
        return compared(job.seed, job.sizes, tell)
    assert job.pretraining is not None
    weights = _weights(job, tell)
    return joint(job.stage, job.seed, job.sizes, job.pretraining, weights, tell)


def _critics(job: Job, tell: Any) -> dict[str, Any]:
    from safetensors.torch import save

    from recipes.genac_arithmetic.pretraining import critics

    result, weights = critics(job.seed, job.sizes, tell)
    flat = {f"{of}/{name}": value.contiguous() for of, each in weights.items() for name, value in each.items()}
    file = _file(job)
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, save(flat, metadata={"format": "pt"}))
    return result


def _weights(job: Job, tell: Any) -> dict[str, Any]:
    from safetensors.torch import load_file

    file = _file(job)
    if not file.exists():
        tell(f"{file} is not there: the critics are trained again")
        _critics(job, tell)
    weights: dict[str, Any] = {}
    for name, value in load_file(file).items():
        of, _, parameter = name.partition("/")
        weights.setdefault(of, {})[parameter] = value
    return weights


def _file(job: Job) -> Path:
    return job.weights / f"{key_of(CRITICS, job.seed, job.sizes)}.safetensors"
