"""What the verifier reference_probability and the filter by standard deviations ask of config, data and model."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import OmegaConf

from pacs.base.files import file_sha256
from pacs.data.baseline import Baseline, Baselines, baseline_file, write_baselines
from pacs.data.rates import problem_key
from pacs.data.sources import INSTRUCTIONS
from pacs.evaluation.model import model_sha256
from pacs.integration.checks.grading import Grading
from pacs.integration.checks.rlpr import note_measured_model, reference_problems, rlpr_problems
from pacs.runs.settings import RlprSettings

NAME, OPENS = "reference_probability", "\\boxed{"
ARGUMENTS = f"reward.custom_reward_function.reward_kwargs.{NAME}"
ANSWERS = ["a lot", "none"]


def config(**changes: object) -> Any:
    made = OmegaConf.create(
        {
            "trainer": {"v1": {"trainer_mode": "pacs"}},
            "method": {"name": "pacs"},
            "data": {"prompt_key": "prompt", "custom_cls": {"path": None}, "apply_chat_template_kwargs": {}},
            "algorithm": {"filter_groups": {"enable": False}},
            "reward": {
                "custom_reward_function": {"path": "pkg://pacs.rewards.registry", "reward_kwargs": {}},
                "reward_model": {"enable": False, "enable_resource_pool": False},
            },
            "actor_rollout_ref": {
                "model": {"path": "my/model"},
                "rollout": {"n": 8, "agent": {"agent_loop_manager_class": None}},
            },
            "run": {"rlpr": RlprSettings().model_dump(), "reward": {"total": None}},
        }
    )
    for key, value in changes.items():
        OmegaConf.update(made, key, value)
    return made


FILTER, WEIGHT = {"run.rlpr.std_filter.share": 0.5}, {"run.rlpr.answer_weight": 1.0}


def test_what_they_need_is_there() -> None:
    unscaled = {"run.rollouts.dars": {"schedule": "equal", "scale": False}}
    at_1 = {"actor_rollout_ref.rollout.temperature": 1.0}
    for changes in ({}, FILTER, WEIGHT | at_1, FILTER | WEIGHT, WEIGHT | unscaled, {f"{ARGUMENTS}.opens": "<answer>"}):
        assert list(rlpr_problems(config(**changes))) == []
    graded_there = {"reward.reward_model": {"enable": True, "enable_resource_pool": True}}
    assert list(rlpr_problems(config(**FILTER, **graded_there))) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({f"{ARGUMENTS}.opens": " "}, [f"{ARGUMENTS}.opens= ", "opens nothing", "<answer>"]),
        ({"run.rlpr.std_filter.decay": 0.9}, ["std_filter.decay=0.9 is not read without run.rlpr.std_filter.share"]),
        ({"run.rlpr.std_filter.first_step": 2}, ["first_step=2 is not read without", "RLPR: 0.5"]),
        (FILTER | {"actor_rollout_ref.rollout.n": 1}, ["share=0.5", "rollout.n=1) has no standard deviation"]),
        (FILTER | {"algorithm.filter_groups.enable": True}, ["filter_groups.enable=true", "leave one of them out"]),
        (FILTER | {"reward.reward_model.enable": True}, ["reward.reward_model.enable_resource_pool=true"]),
        (WEIGHT | {"trainer.v1.trainer_mode": "grpo"}, ["answer_weight=1.0", "grpo", "pacs.algorithm.aggregated.Grpo"]),
        (WEIGHT | {"run.rlpr.mask_answer": False}, ["run.rlpr.mask_answer=false", "set mask_answer=true"]),
        (WEIGHT | {"actor_rollout_ref.rollout.enable_rollout_routing_replay": True}, ["has no experts of tokens"]),
        (WEIGHT | {"actor_rollout_ref.rollout.temperature": 0.7}, ["rollout.temperature=0.7", "that at 1", "either"]),
        (
            WEIGHT | {"run.rollouts.dars": {"schedule": "equal", "scale": True}},
            ["run.rollouts.dars.scale=true", "either"],
        ),
    ],
)
def test_what_they_cannot_go_with_is_refused(changes: dict[str, object], said: list[str]) -> None:
    (problem,) = rlpr_problems(config(**changes))
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


def write(file: Path, answers: list[str], verifier: str = NAME) -> Path:
    rows = [
        {
            "prompt": [{"role": "user", "content": f"how much {number}"}],
            "reward_model": {"ground_truth": answer},
            "extra_info": {"index": number, "verifier": verifier},
        }
        for number, answer in enumerate(answers)
    ]
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file


def measure(file: Path, answers: list[str], **changes: object) -> None:
    keys = [problem_key([{"role": "user", "content": f"how much {i}"}], answer) for i, answer in enumerate(answers)]
    about = {"data_sha256": file_sha256(file), "model": "measured/model", "model_sha256": "", "opens": OPENS}
    about |= {"thinking": True, "dtype": "float32", "made_by": {}} | changes
    write_baselines(baseline_file(file), Baselines(**about, problems=[Baseline(key, "", 0.5) for key in keys]))  # type: ignore[arg-type]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = write(tmp_path / "train.parquet", ANSWERS)
    measure(file, ANSWERS)
    return file


def problems(file: Path, **changes: object) -> list[str]:
    return list(reference_problems(config(**changes), [("data.train_files", file)]))


def test_data_with_baselines_is_fine(data: Path) -> None:
    assert problems(data) == []
    # Prepared anew with the same problems, or with fewer.
    write(data, ANSWERS[:1])
    assert problems(data) == []
    baseline_file(data).unlink()
    assert problems(data, **{f"{ARGUMENTS}.baseline": False}) == []


def test_retries_are_graded_by_no_such_verifier(data: Path) -> None:
    guided = {"run.rollouts": {"guided": {"after": "failed"}}}
    (problem,) = problems(data, **guided)
    assert "by which no retry is graded" in problem
    assert "leave out run.rollouts.guided.after=failed" in problem
    # Of a validation there are none.
    assert list(reference_problems(config(**guided), [("data.val_files", data)])) == []


def test_data_without_baselines_is_refused_with_the_command(data: Path) -> None:
    baseline_file(data).unlink()
    (problem,) = problems(data)
    assert f"run `pacs data baseline my/model --data {data} --opens '\\boxed{{'`" in problem
    assert f"or set ++{ARGUMENTS}.baseline=false" in problem
    baseline_file(data).write_text("{}\n")
    assert "is not what `pacs data baseline` writes" in problems(data)[0]


def test_baselines_of_others_are_refused(data: Path) -> None:
    assert "behind \\boxed{, and" in problems(data, **{f"{ARGUMENTS}.opens": "<answer>"})[0]
    (problem,) = problems(data, **{"data.apply_chat_template_kwargs.enable_thinking": False})
    assert "enable_thinking=true" in problem
    assert "--no-thinking" in problem
    write(data, [*ANSWERS, "all"])
    assert "lacks 1 of the 3 problems" in problems(data)[0]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"actor_rollout_ref.rollout.agent.agent_loop_manager_class": "my.Manager"}, ["my.Manager", "leave it out"]),
        ({"run.rollouts.vine.completions": 9}, ["run.rollouts.vine.completions=9", "set it to null"]),
        ({"method.weight_scope": "batch"}, ["lie between 0 and 1", "set run.reward.total=threshold"]),
        ({"method.name": "nft"}, ["nft trains on right and wrong", "a method that takes numbers"]),
        ({"method.reference": {"reset_every": None, "reset_at_saturation": 0.9}}, ["reset_at_saturation=0.9"]),
        ({"data.custom_cls.path": "mine.py"}, ["data.custom_cls.path=mine.py", f"++{ARGUMENTS}.baseline=false"]),
    ],
)
def test_what_such_rows_cannot_go_with_is_refused(data: Path, changes: dict[str, object], said: list[str]) -> None:
    problem = problems(data, **changes)[0]
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


def test_what_trains_on_numbers_or_has_a_threshold_is_not_refused(data: Path) -> None:
    for changes in (
        {"method.name": "nft", "run.reward.total": "threshold"},
        {"method.name": "gvpo"},
        {"trainer.v1.trainer_mode": "grpo"},
    ):
        assert problems(data, **changes) == []


def test_our_own_managers_are_not_refused(data: Path) -> None:
    manager = "pacs.integration.patches.seeded_rollouts.SeededAgentLoopManager"
    assert problems(data, **{"actor_rollout_ref.rollout.agent.agent_loop_manager_class": manager}) == []


def test_settings_that_no_row_reads_are_refused(tmp_path: Path) -> None:
    other = write(tmp_path / "sums.parquet", ANSWERS, verifier="math")
    assert problems(other) == []
    for changes, key in (
        ({"run.rlpr.mask_answer": False}, "run.rlpr.mask_answer=false is not read"),
        (WEIGHT, "run.rlpr.answer_weight=1.0 is not read"),
        ({f"{ARGUMENTS}.baseline": False}, f"{ARGUMENTS}="),
    ):
        (problem,) = problems(other, **changes)
        assert key in problem
        assert f"no row of the data is graded by the verifier {NAME}" in problem
    assert problems(other, **FILTER) == []  # of any verifier
    assert len(problems(write(tmp_path / "mine.parquet", ANSWERS), **WEIGHT, **OWN)) == 1


OWN = {"reward.custom_reward_function.path": "mine.py"}


def test_baselines_of_another_model_are_told_of(data: Path, tmp_path: Path) -> None:
    said: list[str] = []
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    made = config(**{"actor_rollout_ref.model.path": str(folder)})
    note_measured_model(made, [("data.train_files", data)], said.append)
    (warning,) = said
    assert warning.startswith("warning: ")
    assert "is by another model (measured/model, sha256" in warning
    measure(data, ANSWERS, model_sha256=model_sha256(folder))
    note_measured_model(made, [("data.train_files", data)], said.append)
    note_measured_model(config(), [("data.train_files", data)], said.append)
    assert len(said) == 1


def test_a_prompt_is_to_ask_for_what_opens_an_answer() -> None:
    asks = INSTRUCTIONS[NAME]
    found = Grading({}).ask(NAME, asks, "a lot", {})
    assert found is not None
    assert found.read
    other = Grading({NAME: {"opens": "<answer>"}})
    found = other.ask(NAME, asks, "a lot", {})
    assert found is not None
    assert not found.read
    assert other.reads(NAME) == "what follows the last <answer>"
    # It is never the mend of another verifier's.
    mended = Grading({}).ask("exact_match", "Answer in <answer> </answer> tags.", "a lot", {})
    assert mended is not None
    assert NAME not in mended.mend
