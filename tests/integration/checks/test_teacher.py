"""A teacher that cannot teach is refused by its setting and the mend."""

import json
import shutil
from pathlib import Path

import pytest
from omegaconf import OmegaConf
from transformers import AutoTokenizer

from pacs.algorithm import method_of
from pacs.integration.checks.teacher import teacher_folder_problems, teacher_problem
from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    tokenizer = build_tokenizer(64)
    build_model(tokenizer, seed=0).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def problems(policy: Path, teacher: str, name: str = "distillation", trainer: str = "pacs") -> list[str]:
    model = {"path": str(policy), "tokenizer_path": None, "trust_remote_code": False, "custom_chat_template": None}
    config = {
        "data": {},
        "trainer": {"v1": {"trainer_mode": trainer}},
        "actor_rollout_ref": {"model": model},
        "method": {"name": name, "teacher": teacher} if name != "pacs" else {"name": name},
    }
    return list(teacher_folder_problems(OmegaConf.create(config)))


def test_the_policys_own_folder_could_teach_it(model: Path) -> None:
    assert problems(model, str(model)) == []
    assert problems(model, "Qwen/Qwen3-32B") == []
    assert problems(model, "nowhere at all", name="pacs") == []
    assert problems(model, "nowhere at all", trainer="grpo") == []


def test_a_folder_that_is_not_there_or_has_no_model_is_named(model: Path, tmp_path: Path) -> None:
    for folder in ("nowhere", "/not/there"):
        (problem,) = problems(model, folder)
        assert problem.startswith(f"method.teacher={folder}: no such folder")
    (problem, *_) = problems(model, str(tmp_path))
    assert problem.startswith(f"method.teacher={tmp_path}")
    assert "config.json" in problem


def test_another_vocabulary_is_refused(model: Path, tmp_path: Path) -> None:
    """Of the same tokens by other numbers: the first two are changed for each other."""
    teacher = shutil.copytree(model, tmp_path / "teacher")
    saved = json.loads((teacher / "tokenizer.json").read_text())
    vocabulary = saved["model"]["vocab"]
    first, second = sorted(vocabulary, key=vocabulary.get)[5:7]
    vocabulary[first], vocabulary[second] = vocabulary[second], vocabulary[first]
    (teacher / "tokenizer.json").write_text(json.dumps(saved))
    assert AutoTokenizer.from_pretrained(teacher).get_vocab() != AutoTokenizer.from_pretrained(model).get_vocab()
    (problem,) = problems(model, str(teacher))
    assert "its tokenizer has other numbers for 2 of the policy's" in problem
    assert "take a teacher with the policy's vocabulary" in problem


def test_a_method_without_its_teacher_is_told_to_name_one() -> None:
    for name in ("distillation", "pacs_distilled"):
        assert "method.teacher is not set" in str(teacher_problem(method_of({"name": name})))
        assert teacher_problem(method_of({"name": name, "teacher": "folder"})) is None
    assert teacher_problem(method_of({"name": "pacs"})) is None
