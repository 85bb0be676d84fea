"""The paper's numbers: whether its own tables agree with each other as they stand here."""

import json
from statistics import fmean

import pytest

from pacs.base.errors import UserError
from pacs.evaluation.reported import FILE, remarks, reported, reported_names

BENCHMARKS = ["math500", "amc23", "aime24", "aime25", "beyondaime"]


@pytest.mark.parametrize("name", json.loads(FILE.read_text())["table_1_pass_at_1"]["rows"])
def test_the_mean_of_table_1_is_that_of_its_benchmarks(name: str) -> None:
    column = reported(name)
    mean = json.loads(FILE.read_text())["table_1_pass_at_1"]["rows"][name][-1]
    assert 100 * fmean(column.pass_at[task][1] for task in BENCHMARKS) == pytest.approx(mean, abs=0.0101)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Qwen3-4B", "Qwen3-4B Base"),
        ("Qwen3-8B", "Qwen3-8B Base"),
        ("PACS-4B", "Qwen3-4B PACS"),
        ("PACS-8B", "Qwen3-8B PACS"),
    ],
)
def test_the_tables_agree_on_pass_at_1(one: str, other: str) -> None:
    """But for the last digit: MATH500 of Qwen3-4B is 91.01 in one, 91.0 in the other."""
    for task in BENCHMARKS:
        assert reported(one).pass_at[task][1] == pytest.approx(reported(other).pass_at[task][1], abs=1.01e-4)


@pytest.mark.parametrize("name", reported_names())
def test_every_column_is_a_pass_at_k(name: str) -> None:
    column = reported(name)
    assert column.source == "arXiv 2509.02522v2"
    assert column.tables
    for values in column.pass_at.values():
        assert all(0 < value <= 1 for value in values.values())
        assert list(values) == sorted(values)
        assert list(values.values()) == sorted(values.values())


def test_a_number_of_each_table() -> None:
    assert reported("LIMO").pass_at["amc23"] == {1: 0.8061}
    assert reported("Qwen3-8B GRPO").pass_at["aime25"][64] == 0.7739
    assert reported("Qwen3-4B PACS with score GRPO").pass_at["beyondaime"][4] == 0.3995
    assert reported("Qwen3-8B PACS").pass_at["gpqa_diamond"] == {1: 0.5246}
    assert reported("Qwen3-8B Base").pass_at["livecodebench"] == {1: 0.3106}


def test_how_they_were_measured_is_said() -> None:
    assert any("128 samples a problem" in remark for remark in remarks())


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UserError, match=r"^the paper reports nothing under 'qwen3 8b pacs'\. Did you mean Qwen3-8B"):
        reported("qwen3 8b pacs")
    with pytest.raises(UserError, match=r"under '~'\. `--reported list` shows the names"):
        reported("~")
