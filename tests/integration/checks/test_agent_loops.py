"""A file of agent loops of one's own is read before a run, as verl reads it in a worker."""

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from pacs.composing import compose_run
from pacs.integration.checks.verl_classes import class_problems

AGENT = "actor_rollout_ref.rollout.agent"


@pytest.mark.parametrize(
    ("text", "default", "said"),
    [
        ("- name: mine\n  _target_: own.Loop\n", "mine", None),
        ("- name: mine\n  _target_: own.Loop\n", "single_turn_agent", None),
        ("- name: mine\n  _target_: own.Loop\n", "mnie", "default_agent_loop=mnie: verl knows no such loop"),
        ("name: mine\n_target_: own.Loop\n", "mine", "it is to be YAML, a list of agent loops"),
        ("- name: mine\n", "mine", "it is to be YAML, a list of agent loops"),
        ("- [mine]\n", "mine", "it is to be YAML, a list of agent loops"),
        ("- {name: mine\n", "mine", "it is to be YAML, a list of agent loops"),
        ("mine", "mine", "it is to be YAML, a list of agent loops"),
        ("", "mine", "it is to be YAML, a list of agent loops"),
    ],
)
def test_a_file_of_ones_own(text: str, default: str, said: str | None, tmp_path: Path) -> None:
    file = tmp_path / "loops.yaml"
    file.write_text(text)
    config, _ = compose_run("pacs", ["recipe=arithmetic"])
    OmegaConf.update(config, f"{AGENT}.agent_loop_config_path", str(file))
    OmegaConf.update(config, f"{AGENT}.default_agent_loop", default)
    problems = [problem for problem in class_problems(config) if AGENT in problem]
    assert len(problems) == (said is not None)
    assert all(said is not None and said in problem for problem in problems)
