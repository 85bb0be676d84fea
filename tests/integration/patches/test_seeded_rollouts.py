"""A response's seed depends on all that names the response, and on nothing else."""

from itertools import product
from pkgutil import resolve_name

import numpy as np

from pacs.base.moved_keys import with_new_keys
from pacs.integration.patches.agent_loops import Manager
from pacs.integration.patches.seeded_rollouts import response_seed

PROMPTS = [[{"role": "user", "content": "1+1"}], [{"role": "user", "content": "1+2"}]]


def test_every_response_has_a_seed_of_its_own() -> None:
    responses = list(product([0, 1], [1, 2], [False, True], PROMPTS, [0, 1, 2]))
    seeds = [response_seed(*response) for response in responses]
    assert len(set(seeds)) == len(responses)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert [response_seed(*response) for response in responses] == seeds


def test_a_prompt_that_a_step_comes_to_again_has_other_seeds_there() -> None:
    seeds = [response_seed(0, 1, False, PROMPTS[0], session, place) for place in (None, 0, 1) for session in (0, 1)]
    assert len(set(seeds)) == 6


def test_verls_numbers_are_those_of_python() -> None:
    """It hands numpy's on, and prompts as an array of messages."""
    messages = np.array(PROMPTS[0], dtype=object)
    as_verl = response_seed(7, np.int64(3), np.bool_(False), messages, np.int32(2))
    assert as_verl == response_seed(7, 3, False, PROMPTS[0], 2)


def test_a_class_of_ours_that_a_config_names_has_moved() -> None:
    """Else a run by the version before would have another agent-loop manager, and could not go on."""
    folders = ("compatibility", "patches")
    names = ("seeded_rollouts.SeededAgentLoopManager", "dars_rollouts.DarsAgentLoopManager", "agent_loops.Manager")
    for named in (f"pacs.integration.{folder}.{name}" for folder in folders for name in names):
        (now,) = with_new_keys({"manager": named}).values()
        assert resolve_name(now) is Manager
    assert with_new_keys({"manager": "my.rollouts.Manager"}) == {"manager": "my.rollouts.Manager"}
