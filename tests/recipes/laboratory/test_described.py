"""What a page says that its arms are: what the file says."""

from pathlib import Path

import pytest

from recipes.laboratory import described, questions
from tests.recipes.laboratory.cells import row
from tests.recipes.laboratory.made import QUESTION, ask

MORE = """\
  two: {method: grpo, updates_per_step: 2, steps: 4, lr_from: better/grpo}
  given: {lr: [2.0e-4], options: {beta: 0.5, normalize_by_length: true}, compare_with: two}
"""


def test_what_each_arm_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    question = ask(tmp_path, monkeypatch, QUESTION.replace("prompts: 2", "prompts: 2, clip_grad: 0.5") + MORE)
    table = described.arms(question)
    assert row(table, "never") == ["pacs", "reference.reset_every null", "–"]
    assert row(table, "grpo") == ["grpo", "–", "–"]
    assert row(table, "two") == ["grpo", "–", "updates_per_step 2, lr_from better/grpo"]
    assert row(table, "given") == ["pacs", "beta 0.5, normalize_by_length true", "lr 0.0002"]
    said = described.common(question, "countdown")
    for words in ("steps 4", "clip_grad 0.5", "staleness 0", "evaluate_every 2", "all begin at the same weights"):
        assert words in said
    assert "Evaluated on 6 problems (test), with 16 samples each at the end and 8 before it." in said


def test_a_task_s_page_says_what_is_otherwise_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = QUESTION.replace("[countdown]", "[countdown, chain_sums]") + "task_settings: {chain_sums: {prompts: 1}}\n"
    question = ask(tmp_path, monkeypatch, text)
    assert "prompts 2," in described.common(question, "countdown")
    assert "prompts 1," in described.common(question, "chain_sums")


def test_options_that_are_common_are_each_arm_s_that_has_none_of_its_own() -> None:
    table = described.arms(questions.read("settings"))
    never = "reference.reset_every null, reference.reset_optimizer true"
    assert row(table, "as_it_is")[1] == never
    assert row(table, "beta_3")[1] == f"beta 3, {never}"
    assert row(table, "one_update")[1:] == [never, "updates_per_step 1"]
