"""A run of the stack, measured as the laboratory measures its own: by the same program, on the same problems."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from omegaconf import OmegaConf
from transformers import AutoModelForCausalLM

from pacs.base.errors import UserError
from pacs.base.files import read_json
from pacs.checkpoints.source import Source, find_source
from pacs.export.folder import export
from pacs.integration.launch.input_hashes import input_changes
from pacs.report import read_run
from pacs.verl_keys.names import POLICY_PATH
from recipes.laboratory.beginning import read_beginning
from recipes.laboratory.evaluation import Evaluation, evaluate
from recipes.laboratory.starts import start_digest

LR = "actor_rollout_ref.actor.optim.lr"
#: What `pacs sweep` may vary of the runs that are measured: what else differs, a record does not say.
SWEPT = {"algorithm", "data.seed"}


def key(run: Mapping[str, Any], recipe: str) -> dict[str, Any]:
    """What tells a run of a sweep from all others: its task, method and seed.

    Args:
        run: as the sweep's results.json has it.
        recipe: of the sweep.

    Raises:
        UserError: the sweep varies something else, too.
    """
    if more := run["settings"].keys() - SWEPT:
        raise UserError(
            f"{run['name']}: its sweep varies {', '.join(sorted(more))}, too: give one of methods and seeds"
        )
    return {"task": recipe, "method": run["algorithm"], "seed": run["seed"]}


def measure(run: Path, step: int, evaluation: Evaluation, seed: int) -> dict[str, Any]:
    """Evaluate a run's last checkpoint as the laboratory evaluates a policy at its end.

    Args:
        run: its folder, whose model, training and test problems are a start's (`recipes/starts`), still as they were.
        step: its last.
        evaluation: what of: the laboratory's question says so.
        seed: of the samples.

    Returns:
        `evaluation`, what `recipes.laboratory.evaluation.evaluate` returns; `start`, the digest of weights and
        problems that the run began with; `lr`; and `tokens`, all that were generated to train.

    Raises:
        UserError: the run has no whole checkpoint of that step, or its start is not there, or another by now.
    """
    source = find_source(run)
    if source.checkpoint.step != step:
        why = "".join(f" ({problem})" for problem in source.passed_over)
        raise UserError(f"{run}: its newest whole checkpoint is of step {source.checkpoint.step}, not {step}{why}")
    start = _start(source)
    begun = read_beginning(start, prompts=1, split=evaluation.split, problems=evaluation.problems)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        export(source, model, "float32")
        policy = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32).eval()
    measured = evaluate(
        policy,
        begun.tokenizer,
        begun.evaluated,
        samples=evaluation.samples,
        max_tokens=begun.max_response_tokens,
        seed=seed,
    )
    return {
        "start": start_digest(start),
        "lr": source.setting(LR),
        "tokens": int(sum(read_run(run).series("pacs/response_tokens/generated_sum").values)),
        "evaluation": measured,
    }


def _start(source: Source) -> Path:
    start = Path(source.setting(POLICY_PATH)).parent
    if "task" not in (read_json(start / "manifest.json") or {}):
        raise UserError(
            f"{source.run}: its model, {POLICY_PATH}={source.setting(POLICY_PATH)}, is not there as part of a start of "
            "the laboratory: run this where the sweep ran, or make the start again (recipes/README.md)"
        )
    for change in input_changes(source.checkpoint.folder, OmegaConf.create(dict(source.config))):
        raise UserError(f"{source.run}: {change}: make the start again as it was")
    return start
