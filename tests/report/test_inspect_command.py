"""`pacs inspect` on evidence written from real rows: one whose reference is not finite, seven rows in two groups."""

import math
from pathlib import Path

import pytest
import torch

from pacs import cli
from pacs.commands.inspect import EITHER, GROUP, POLICY, REFERENCE, ROLLOUT, cause_of
from pacs.integration import exchange
from pacs.integration.worker.not_finite import write_evidence
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.integration.worker.poison_case import ROWS, batch_of, loss_of, returned

NAN, INF = math.nan, math.inf
BAD = 6  # the row whose reference is not finite
PADDING = [row.uid is None for row in ROWS]


def run_command(*words: object) -> int:
    return cli.main(["inspect", *map(str, words)])


def evidence(folder: Path, *, poisoned: bool = True, tokenizer: bool = True) -> Path:
    batch = batch_of("grouped", {BAD: -INF} if poisoned else {})
    return write_evidence(
        folder,
        step=12,
        skipped_in_a_row=3,
        batch=batch,
        padding=PADDING,
        returned=returned(loss_of(batch, {})[2], [2.25, 3.5, NAN]),
        tokenizer=build_tokenizer(64) if tokenizer else None,
    )


def table_rows(printed: str) -> list[list[str]]:
    lines = printed.splitlines()
    return [line.split() for line in lines[next(i for i, line in enumerate(lines) if line.startswith("---")) + 1 :]]


def test_the_summary_says_what_was_not_finite(tmp_path, capsys):
    assert run_command(evidence(tmp_path)) == 0
    summary, _, _ = capsys.readouterr().out.partition("\n\n")
    group = sum(row.uid == ROWS[BAD].uid for row in ROWS)
    assert summary.splitlines() == [
        "step 12, by which 3 updates in a row were skipped, for their gradients were not finite",
        "gradient norms of its updates: 2.25, 3.5, nan (skipped: 2)",
        "learning rate: 0.001",
        "rows: 8, 1 of them padding; 7 count",
        f"rows that are not finite: {group}",
        "  1: the reference's log-probabilities (or with `cached` those of the scoring pass)",
        f"  {group - 1}: compared with a row of its group that is not finite",
    ]


def test_the_worst_rows_come_first(tmp_path, capsys):
    """The row itself, its group, then the others by the size of their log-ratio: 0.5 - 0.1 * row, a token."""
    assert run_command(evidence(tmp_path), "--rows", 7) == 0
    shown = table_rows(capsys.readouterr().out)
    group = [i for i, row in enumerate(ROWS) if row.uid == ROWS[BAD].uid]
    others = [i for i, row in enumerate(ROWS) if row.uid and i not in group]
    size = {i: abs(0.5 - 0.1 * i) * sum(row.mask) for i, row in enumerate(ROWS)}
    group.remove(BAD)
    first, *rows = [int(line[0]) for line in shown]
    assert first == BAD
    for part, members in ((rows[: len(group)], group), (rows[len(group) :], others)):
        assert sorted(part) == members
        assert [size[i] for i in part] == pytest.approx(sorted((size[i] for i in part), reverse=True))
    group_id = int(batch_of("grouped", {})["pacs_group_ids"][BAD])
    assert shown[0][1:4] == ["2", "reference", str(group_id)]
    assert "nan" in shown[0]
    assert shown[-1][2] == "–"


def test_as_many_rows_as_asked_for_and_no_padding_that_is_finite(tmp_path, capsys):
    file = evidence(tmp_path)
    for count, expected in ((2, 2), (100, 7)):
        assert run_command(file, "--rows", count) == 0
        assert len(table_rows(capsys.readouterr().out)) == expected


def test_a_row_in_full(tmp_path, capsys):
    assert run_command(evidence(tmp_path), "--row", BAD) == 0
    text = capsys.readouterr().out
    tokenizer = build_tokenizer(64)
    for needle in (
        f"row {BAD} of step 12\n",
        "update 2, not finite: the reference's log-probabilities",
        "  log_ratio nan\n",
        f"prompt:\n{tokenizer.decode(ROWS[BAD].prompt)}\n",
        f"response:\n{tokenizer.decode(ROWS[BAD].response)}\n",
        " ".join(map(str, ROWS[BAD].response)),
    ):
        assert needle in text


def test_without_a_tokenizer_there_are_token_ids(tmp_path, capsys):
    assert run_command(evidence(tmp_path, tokenizer=False), "--rows", 1) == 0
    assert f"[{ROWS[BAD].response[0]}" in capsys.readouterr().out


def test_rows_that_are_all_finite_are_said_to_be(tmp_path, capsys):
    assert run_command(evidence(tmp_path, poisoned=False)) == 0
    text = capsys.readouterr().out
    assert "rows that are not finite: 0\n" in text
    assert "every value of the skipped updates' rows is finite" in text


FINITE = {"log_ratio": 1.0, "score": 1.0, "loss": 1.0, "entropy": 1.0, "rollout_gap": 1.0, "rollout_gap_worst": 1.0}
GAP = {"rollout_gap": INF, "rollout_gap_worst": INF}
SCORED = {"log_ratio": NAN, "score": NAN, "loss": NAN}


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        (FINITE, None),
        (FINITE | SCORED | GAP | {"entropy": NAN}, POLICY),
        (FINITE | SCORED | GAP, POLICY),
        (FINITE | GAP | {"entropy": NAN}, POLICY),
        (FINITE | {"entropy": NAN}, POLICY),
        (FINITE | SCORED, REFERENCE),
        (SCORED, EITHER),
        (FINITE | {"score": NAN, "loss": NAN}, GROUP),
        (FINITE | GAP, ROLLOUT),
    ],
)
def test_the_cause_of_a_row(values, cause):
    assert cause_of(values) == cause


def test_each_row_is_listed_once_however_many_passes(tmp_path, capsys):
    """Two epochs: the pass that was not finite is the one that is shown."""
    batch = batch_of("grouped", {})
    clean = loss_of(batch, {})[2][exchange.TABLES]
    names, values = loss_of(batch_of("grouped", {BAD: -INF}), {})[2][exchange.TABLES]
    again = values.clone()
    again[names.index("update")] += 1
    step = returned({exchange.TABLES: clean}, [1.0, 1.0, 1.0, NAN])
    step[exchange.TABLES].append((names, again))
    file = write_evidence(tmp_path, step=1, skipped_in_a_row=1, batch=batch, padding=PADDING, returned=step)
    assert torch.load(file, weights_only=True)["passes"]["row"].shape == (16,)
    assert run_command(file, "--rows", 50) == 0
    shown = table_rows(capsys.readouterr().out)
    assert sorted(int(line[0]) for line in shown) == [i for i in range(8) if not PADDING[i]]
    assert shown[0][:3] == [str(BAD), "3", "reference"]
