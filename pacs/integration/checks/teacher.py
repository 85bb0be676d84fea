"""What a method with a teacher (`method.teacher`) needs of a config, and of the teacher's folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from pacs.algorithm.distillation import Taught
from pacs.integration.checks.models import named_problems, vocabulary_problems
from pacs.integration.checks.prompts import tokenizer_of
from pacs.integration.checks.wording import spelled
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
    named = "@method.teacher="
    if problems := list(named_problems(given.teacher, named, template=False)):
        yield from problems
    elif Path(given.teacher).expanduser().is_dir() and (policys := tokenizer_of(config)) is not None:
        mend = "take a teacher with the policy's vocabulary (of the same family, as a rule)"
        yield from vocabulary_problems(policys, given.teacher, named, mend)
