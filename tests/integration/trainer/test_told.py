"""What agent loops tell of responses, as the trainer reads it."""

import torch
from omegaconf import OmegaConf

from pacs.integration.exchange import GUIDED, TURNS
from pacs.integration.trainer.told import guided_rows, tokens_of_other_tries, told_columns, with_told

RESCUED = {"retries": 1, "rescued": True, "tokens": 4}
LOST = {"retries": 1, "rescued": False, "tokens": 6}


def test_what_is_told_stands_beside_what_the_verifier_said() -> None:
    infos = [with_told({"reward_extra_info": {"score": 0.0}, GUIDED: each}) for each in (RESCUED, None, LOST)]
    assert infos[0] == {"score": 0.0, GUIDED: RESCUED, TURNS: None}
    assert with_told({}) == {GUIDED: None, TURNS: None}
    assert tokens_of_other_tries(infos) == 10
    sampled = torch.tensor([True, False, True, True, False])
    assert guided_rows(sampled, infos).tolist() == [True, False, False, False, False]
    config = OmegaConf.create({"run": {"rollouts": {"guided": {"after": None}}}})
    assert told_columns(infos, config) == {}
    config.run.rollouts.guided.after = "failed"
    columns = told_columns([*infos[:2], {TURNS: {"last": 3, "turns": 2}}], config)
    assert {name: values.tolist() for name, values in columns.items()} == {
        "turns": [1, 1, 2], "calls": [0, 0, 0], "failed": [0, 0, 0], "cut": [0, 0, 0],
        "retries": [1, 0, 0], "rescued": [1, 0, 0],
    }  # fmt: skip
