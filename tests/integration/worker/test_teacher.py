"""A teacher is built as the policy is, but of its own model, and without the policy's adapters."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from pacs.integration.worker import teacher
from pacs.integration.worker.teacher import OF_THE_PATH, worker_of


@dataclass
class Model:
    path: str = "policy"
    lora_rank: int = 8
    hf_config_path: Any = "policy"
    tokenizer_path: Any = "policy"
    local_path: Any = "policy"
    local_hf_config_path: Any = "policy"
    local_tokenizer_path: Any = "policy"
    hf_config: Any = "policy's"
    generation_config: Any = "policy's"
    tokenizer: Any = "policy's"
    processor: Any = "policy's"
    architectures: Any = "policy's"
    custom_chat_template: Any = "policy's"


@dataclass
class Config:
    model_config: Model = field(default_factory=Model)


def test_the_teacher_has_its_own_path_and_no_adapters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(teacher, "MethodTrainingWorker", lambda config: config)
    monkeypatch.setattr(teacher, "other_tokens", lambda ours, theirs: [])
    worker = worker_of("theirs").__new__(worker_of("theirs"))
    made = worker.ref_worker_cls(Config()).model_config
    assert (made.path, made.lora_rank) == ("theirs", 0)
    assert all(getattr(made, name) is None for name in OF_THE_PATH)
