"""What a method with a teacher (`method.teacher`) needs of a config, and of the teacher's folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from pacs.algorithm.distillation import Taught
from pacs.checkpoints.model_folder import model_problems
from pacs.integration.checks.models import is_hub_name
from pacs.integration.checks.prompts import tokenizer_of
from pacs.integration.checks.wording import spelled
from pacs.integration.exactness.vocabulary import other_tokens
from pacs.integration.schema import method_in
from pacs.verl_keys.config import method


def teacher_problem(given: Any) -> str | None:
    """What is wrong with a method's settings of its teacher."""
    if isinstance(given, Taught) and not given.teacher:
        return (
            "method.teacher is not set: name the folder of the model that teaches, or its name on the Hugging Face Hub "
            "(it needs the policy's vocabulary)."
        )
    return None


@spelled
def teacher_folder_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the teacher's files, a sentence each with the setting and the mend; none without one."""
    if method(config) != "pacs" or not isinstance(given := method_in(config), Taught):
        return
    folder = Path(given.teacher).expanduser()
    if not folder.is_dir():
        if not is_hub_name(given.teacher):
            yield "@method.teacher=: no such folder: name one that is there, or a Hugging Face id as Qwen/Qwen3-8B."
        return
    if problems := list(model_problems(folder, tokenizer=True, template=False)):
        yield from (f"@method.teacher= {problem}." for problem in problems)
        return
    policys = tokenizer_of(config)
    if policys is None:
        return
    from transformers import AutoTokenizer

    if others := other_tokens(policys, AutoTokenizer.from_pretrained(folder, local_files_only=True)):
        yield (
            f"@method.teacher=: its tokenizer has other numbers for {len(others):,} of the policy's "
            f"{len(policys.get_vocab()):,} tokens (the first: {others[0]!r}): take a teacher with the policy's "
            "vocabulary (of the same family, as a rule)."
        )
