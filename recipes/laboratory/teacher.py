"""The teacher of on-policy distillation: the policy of another run of the laboratory, as that has left it."""

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import torch
from transformers import AutoModelForCausalLM, PreTrainedModel

from recipes.laboratory.beginning import read_beginning
from recipes.laboratory.digests import code_digest, digest
from recipes.laboratory.learner import Learner
from recipes.laboratory.methods import method_named
from recipes.laboratory.rollouts import Rollouts
from recipes.laboratory.seconds import Clock
from recipes.laboratory.settings import Settings
from recipes.laboratory.starts import start_digest


def read_teacher(start: Path, settings: Settings, report: Callable[[str], None]) -> PreTrainedModel | None:
    """The teacher of a run, trained where no run has done that yet; None: the run has none.

    It is kept beside the start, under a digest of the start, of the teacher's settings and of the code.

    Args:
        start: of both.
        settings: of the run.
        report: is given a line for each ten steps of training.

    Raises:
        UserError: the start lacks something, or has fewer problems than are asked for.
        ValueError: the teacher has diverged.
    """
    if not settings.teacher:
        return None
    known = digest({"teacher": settings.teacher, "start": start_digest(start), "code": code_digest()})
    folder = start.parent / f"{start.name}-teacher-{known}"
    if not folder.is_dir():
        _save(_trained(start, Settings(**settings.teacher), report), folder)
    teacher: PreTrainedModel = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return teacher.eval()


def _trained(start: Path, settings: Settings, report: Callable[[str], None]) -> PreTrainedModel:
    method = method_named(settings.method, settings.options)
    begun = read_beginning(start, prompts=settings.prompts, split="train", problems=1)
    rollouts = Rollouts(begun, settings, method)
    learner = Learner(begun.policy, settings, method, begun.max_response_tokens, Clock())
    for step in range(1, settings.steps + 1):
        batch = rollouts.next()
        learner.step(step, batch)
        if step % 10 == 0 or step == settings.steps:
            report(f"teacher, step {step}/{settings.steps}: reward {batch.reward:.3f}")
    return begun.policy


def _save(teacher: PreTrainedModel, folder: Path) -> None:
    """Whole or not at all; where another run has saved the same one meanwhile, that stays."""
    written = Path(mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        teacher.save_pretrained(written)
        if not folder.is_dir():
            written.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    finally:
        shutil.rmtree(written, ignore_errors=True)
