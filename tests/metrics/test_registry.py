"""Every key is documented: ours by declaration, verl's by what verl's own functions return."""

import re
from typing import Any, get_args

import numpy as np
import pytest
import torch

from pacs.integration.trainer.run_log import CONSOLE
from pacs.metrics.ours import METRICS, STATUSES, SUFFIXES, Metric
from pacs.metrics.reduce import (
    OPTIONAL_UPDATE_COLUMNS,
    REDUCERS,
    UPDATE_COLUMNS,
    batch_metrics,
    update_metrics,
)
from pacs.report.panels import PANELS
from pacs.report.run_groups import RESET
from pacs.rewards.math import Status
from tests.metrics.page import find


def declare(name: str, **options: Any) -> Metric:
    return Metric(name, "column", "the rows", **options)


def test_a_name_of_ours_says_how_it_is_reduced_and_one_of_verls_does_not() -> None:
    assert all(metric.suffix in SUFFIXES for metric in METRICS)
    assert all(metric.name.startswith("pacs/") != bool(metric.reduced_by) for metric in METRICS)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_is_known_after_a_slash_and_a_line(suffix: str) -> None:
    for name in (f"pacs/x/{suffix}", f"pacs/x/y_{suffix}"):
        assert declare(name).suffix == suffix


def test_every_suffix_is_computed() -> None:
    assert {*REDUCERS, "per_token"} == set(SUFFIXES)


def test_every_metric_of_a_column_is_computed() -> None:
    """One that names a column or rows that no table has would be left out without a word."""
    rows, some = torch.tensor([1.0, 0.0, 1.0, 0.0]), torch.ones(4)
    table = dict.fromkeys(UPDATE_COLUMNS | OPTIONAL_UPDATE_COLUMNS, some) | {"correct": rows}
    table |= dict.fromkeys(("update", "guided"), 0 * some)
    batch = dict.fromkeys(("score", "tokens", "truncated"), rows)
    computed = update_metrics([table]) | batch_metrics(
        group=torch.zeros(4, dtype=torch.int64),
        alone=torch.zeros(4),
        fingerprints=torch.zeros(4, dtype=torch.int64),
        status=["correct"] * 4,
        unfinished=[0.0] * 4,
        first=torch.ones(4, dtype=torch.bool),
        vine=torch.ones(4, 4),
        told=dict.fromkeys(("turns", "calls", "failed", "cut", "retries", "rescued"), some),
        **batch,
    )
    assert {re.sub(r"bin_\d+", "bin_*", name) for name in computed} == {metric.name for metric in METRICS}


def test_a_name_goes_before_a_family() -> None:
    assert find("critic/score/mean") == "critic/score/mean"
    assert find("critic/score/max") == "critic/score/*"
    assert find("val-core/math500/acc/mean@8") == "val-core/*"
    assert find("timing_s/gen") == "timing_s/gen"
    assert find("timing_s/anything") == "timing_s/*"
    assert find("val-core/*") == "val-core/*"


@pytest.mark.parametrize("key", ["pacs/loss", "pacs/residual", "critic/score", "actor/entropy_mean", "mean", ""])
def test_an_unknown_key_has_no_entry(key: str) -> None:
    assert find(key) is None


def test_the_statuses_are_those_of_our_verifier() -> None:
    assert set(STATUSES) == set(get_args(Status))
    verified = [metric.name for metric in METRICS if metric.name.startswith("pacs/verifier/")]
    assert verified == [f"pacs/verifier/{status}_fraction" for status in (*STATUSES, "other")]


def test_what_is_shown_is_known() -> None:
    """The console's and the report's keys."""
    panels = [*PANELS, *(panel.graded for panel in PANELS if panel.graded)]
    shown = [RESET, *(key for panel in panels for key in panel.metrics), *(key for _, key, _ in CONSOLE)]
    assert [key for key in shown if find(key) is None] == []


def test_what_verl_returns_is_known() -> None:
    """verl's own functions on two responses of three tokens, as its trainer calls them."""
    from verl import DataProto
    from verl.trainer.ppo import metric_utils
    from verl.trainer.ppo.rollout_corr_helper import compute_offpolicy_metrics
    from verl.utils.debug.metrics import calculate_debug_metrics
    from verl.utils.seqlen_balancing import log_seqlen_unbalance

    tokens = torch.rand(2, 3)
    mask = torch.ones(2, 3)
    names = ("token_level_scores", "token_level_rewards", "advantages", "returns", "values", "old_log_probs")
    batch = DataProto.from_dict(
        tensors=dict.fromkeys(names, tokens)
        | {"rollout_log_probs": tokens + 0.1, "response_mask": mask, "attention_mask": torch.ones(2, 5)}
        | {"prompts": torch.ones(2, 2), "responses": torch.ones(2, 3)},
        non_tensors={"__num_turns__": np.array([2, 2]), "tool_call_counts": np.array([0, 1])},
        meta_info={"global_token_num": [5, 5]},
    )
    stages = ["step", "gen", "reward", "old_log_prob", "ref", "values", "adv", "update_critic", "update_actor"]
    seconds = dict.fromkeys([*stages, "update_weights", "save_checkpoint", "testing"], 1.0)
    returned = [
        *metric_utils.compute_data_metrics(batch, use_critic=True),
        *metric_utils.compute_timing_metrics(batch, seconds),
        *metric_utils.compute_throughout_metrics(batch, seconds, n_gpus=1),
        *calculate_debug_metrics(batch),
        *log_seqlen_unbalance([3, 4], [[0], [1]], prefix="global_seqlen"),
        *(f"rollout_corr/{name}" for name in compute_offpolicy_metrics(tokens, tokens, mask)),
    ]
    assert len(returned) > 60
    assert [key for key in returned if find(key) is None] == []
