"""What retries with guidance cannot go with, and guidance that is nowhere, are refused by setting and mend."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from omegaconf import DictConfig, OmegaConf

from pacs.composing import compose_run
from pacs.integration.checks.guided import guidance_problems, guided_problems, guided_warnings
from pacs.integration.checks.pacs import pacs_problems
from pacs.runs.settings import GuidedSettings

GUIDED, ROLLOUT = "run.rollouts.guided", "actor_rollout_ref.rollout"


def config_of(**changes: object) -> DictConfig:
    config = OmegaConf.create(
        {
            "trainer": {"v1": {"trainer_mode": "pacs"}},
            "method": {"update": {"correction": {"kind": None}}},
            "algorithm": {"filter_groups": {"enable": False, "metric": "score"}, "rollout_correction": {}},
            "actor_rollout_ref": {"rollout": {"n": 8, "agent": {"agent_loop_manager_class": None}}},
            "reward": {"reward_model": {"enable": False, "enable_resource_pool": False}},
            "run": {
                "rollouts": {"dars": {"schedule": None}, "guided": GuidedSettings(after="failed").model_dump()},
            },
        }
    )
    for key, value in changes.items():
        OmegaConf.update(config, key, value)
    return config


def test_what_it_needs_is_there() -> None:
    assert list(guided_problems(config_of())) == []
    pool = {"reward.reward_model": {"enable": True, "enable_resource_pool": True}}
    assert list(guided_problems(config_of(**pool))) == []
    by_reward = {"algorithm.filter_groups": {"enable": True, "metric": "reward"}}
    assert list(guided_problems(config_of(**by_reward))) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {f"{GUIDED}.text": "Again."},
            [f"{GUIDED}.text=Again.: the guidance has no place", "write {guidance}"],
        ),
        ({f"{GUIDED}.part": 0.3}, [f"{GUIDED}.part=0.3 is of guidance=solution alone"]),
        ({f"{GUIDED}.characters": 9}, [f"{GUIDED}.characters=9 is of guidance=error alone"]),
        (
            {"run.rollouts.dars.schedule": "equal"},
            [f"{GUIDED}.after=failed", "schedule=equal", "leave one of them out"],
        ),
        ({"algorithm.filter_groups.enable": True}, ["metric=score sees first responses alone", "set that to reward"]),
        (  # a number of one's own reward function stays that of the first response, too
            {"algorithm.filter_groups": {"enable": True, "metric": "acc"}},
            ["metric=acc sees first responses alone", "set that to reward"],
        ),
        ({"reward.reward_model.enable": True}, ["reward.reward_model.enable_resource_pool=true"]),
        ({f"{ROLLOUT}.agent.agent_loop_manager_class": "my.Manager"}, ["class=my.Manager", "set it to null"]),
    ],
)
def test_what_it_cannot_go_with_is_refused(changes: dict[str, object], said: list[str]) -> None:
    (problem,) = guided_problems(config_of(**changes))
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


def test_a_weight_by_the_sampler_s_probability_is_refused() -> None:
    """A retry's is of a prompt that it is not trained behind."""
    config, _ = compose_run("pacs", ["recipe=arithmetic", "method.token_weight.name=probability"])
    assert list(pacs_problems(config)) == []
    OmegaConf.update(config, f"{GUIDED}.after", "failed")
    (problem,) = pacs_problems(config)
    assert problem.startswith("method.token_weight.name=probability weighs a token by the probability")
    assert f"behind its guidance ({GUIDED}.after=failed): choose another weight" in problem
    OmegaConf.update(config, "method.token_weight.name", "entropy_top")
    assert list(pacs_problems(config)) == []


def test_what_nothing_would_read_is_refused() -> None:
    off = {f"{GUIDED}.after": None}
    assert list(guided_problems(config_of(**off, **{"run.rollouts.dars.schedule": "equal"}))) == []
    for name, value in (("retries", 2), ("share", 1.0), ("guidance", "error"), ("text", "{guidance}!")):
        (problem,) = guided_problems(config_of(**off, **{f"{GUIDED}.{name}": value}))
        assert problem.startswith(f"{GUIDED}.{name}={value} is not read without {GUIDED}.after")


def test_a_run_without_importance_weights_is_told_so() -> None:
    (said,) = guided_warnings(config_of())
    assert "which is biased; method.update.correction.kind=truncate weighs" in said
    assert list(guided_warnings(config_of(**{"method.update.correction.kind": "mask"}))) == []
    verls = {"trainer.v1.trainer_mode": "grpo"}
    (said,) = guided_warnings(config_of(**verls))
    assert "algorithm.rollout_correction.rollout_is=token weighs" in said
    assert list(guided_warnings(config_of(**verls, **{"algorithm.rollout_correction.rollout_is": "token"}))) == []
    assert list(guided_warnings(config_of(**{f"{GUIDED}.after": None}))) == []


def test_the_guidance_is_in_the_data(tmp_path: Path) -> None:
    files = [tmp_path / "one.parquet", tmp_path / "two.parquet"]
    for file, hint in zip(files, ("", "it is even"), strict=True):
        infos = [{"index": 0, "hint": None}, {"index": 1, "hint": hint}]
        pq.write_table(pa.Table.from_pylist([{"extra_info": info} for info in infos]), file)
    assert list(guidance_problems(config_of(), files)) == []
    (problem,) = guidance_problems(config_of(), files[:1])
    assert problem.startswith(
        f"{GUIDED}.guidance=hint: no row of data.train_files={files[0]} has a text extra_info.hint"
    )
    (problem,) = guidance_problems(config_of(**{f"{GUIDED}.guidance": "solution"}), files)
    assert "extra_info.solution" in problem
    assert list(guidance_problems(config_of(**{f"{GUIDED}.guidance": "error"}), files)) == []
    assert list(guidance_problems(config_of(**{f"{GUIDED}.after": None}), files)) == []
