"""What ends a run for updates that are not finite, and the file it leaves."""

import math
from pathlib import Path

import pytest
import torch
import transfer_queue as tq
from hydra import compose, initialize_config_dir
from verl.trainer.ppo.v1.trainer_base import KVBatchMeta

from pacs.base.errors import UserError
from pacs.base.paths import config_dir
from pacs.integration import exchange
from pacs.integration.strategy import Choice
from pacs.integration.trainer import update as step
from pacs.integration.trainer.method_trainer import MethodTrainer
from pacs.integration.worker.not_finite import BATCH_FIELDS, PoisonError, SkippedUpdates, read_evidence, write_evidence
from pacs.metrics.reduce import update_metrics
from recipes.arithmetic.tokenizer import build_tokenizer
from tests.integration.worker.poison_case import ROWS, batch_of, loss_of, returned

NAN, INF = math.nan, math.inf
#: In a group of both classes.
POISONED = 1
ITS_GROUP = [i for i, row in enumerate(ROWS) if row.uid == ROWS[POISONED].uid]
PADDING = [row.uid is None for row in ROWS]


def test_skipped_updates_in_a_row_are_counted_across_steps() -> None:
    skipped = SkippedUpdates(3)
    assert not skipped.add([1.0, NAN, 2.0, NAN])
    assert skipped.in_a_row == 1
    assert not skipped.add([INF])
    assert not skipped.add([])
    assert skipped.in_a_row == 2
    assert skipped.add([-INF, NAN])
    assert skipped.most == 4


def test_an_update_that_is_made_begins_the_count_anew() -> None:
    skipped = SkippedUpdates(2)
    assert not any(skipped.add(norms) for norms in ([NAN, 0.0], [NAN, 1.0, NAN], [3.0]))
    assert (skipped.in_a_row, skipped.most) == (0, 1)
    assert SkippedUpdates(1).add([1.0, NAN])
    assert SkippedUpdates(2).add([NAN, NAN, 1.0])  # within a step, although its last update was made


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("strategy", ["grouped", "cached"])
def test_a_log_probability_that_is_not_finite_is_nan_in_the_gradient(strategy: str, value: float) -> None:
    """Of the policy, in the gradient pass; at log pi = -inf the surrogate's own gradient would be finite."""
    loss, gradient, metrics = loss_of(batch_of(strategy, {}), {POISONED: value})
    assert loss.isnan()
    assert gradient.isnan().any()
    names, values = metrics[exchange.TABLES]
    active = update_metrics([dict(zip(names, values, strict=True))])["pacs/rows/not_finite_count"]
    assert active == (len(ITS_GROUP) if strategy == "grouped" else 1)


@pytest.mark.parametrize("strategy", ["grouped", "cached"])
def test_padding_that_is_not_finite_is_harmless(strategy: str) -> None:
    row = PADDING.index(True)
    loss, gradient, metrics = loss_of(batch_of(strategy, {row: NAN}), {row: NAN})
    clean_loss, clean_gradient, clean_metrics = loss_of(batch_of(strategy, {}), {})
    assert torch.equal(loss, clean_loss)
    assert torch.equal(gradient, clean_gradient)
    assert gradient.abs().max() > 0
    assert torch.equal(metrics[exchange.TABLES][1], clean_metrics[exchange.TABLES][1])


def test_the_evidence_is_what_was_seen(tmp_path: Path) -> None:
    batch = batch_of("grouped", {POISONED: INF})
    table = loss_of(batch, {})[2]
    tokenizer = build_tokenizer(64)
    file = write_evidence(
        tmp_path,
        step=12,
        skipped_in_a_row=3,
        batch=batch,
        padding=PADDING,
        returned=returned(table, [2.0, NAN, INF]),
        tokenizer=tokenizer,
    )
    assert file == tmp_path / "poison/step_12.pt"
    assert list(file.parent.iterdir()) == [file]
    evidence = read_evidence(file)
    assert (evidence.step, evidence.skipped_in_a_row, evidence.learning_rate) == (12, 3, 1e-3)
    assert [str(norm) for norm in evidence.gradient_norms] == ["2.0", "nan", "inf"]
    assert [prompt.tolist() for prompt in evidence.prompts] == [row.prompt for row in ROWS]
    assert [response.tolist() for response in evidence.responses] == [row.response for row in ROWS]
    assert evidence.response_texts == [tokenizer.decode(row.response) for row in ROWS]
    assert evidence.prompt_texts == [tokenizer.decode(row.prompt) for row in ROWS]
    assert evidence.response_tokens.tolist() == [sum(row.mask) for row in ROWS]
    assert evidence.padding.tolist() == PADDING
    for name, field in {"labels": "pacs_labels", "weights": "pacs_coefficients", "group_ids": "pacs_group_ids"}.items():
        assert torch.equal(getattr(evidence, name), batch[field])
    names, values = table[exchange.TABLES]
    assert tuple(evidence.passes) == names
    for column, expected in zip(evidence.passes.values(), values, strict=True):
        assert torch.equal(column.nan_to_num(-7), expected.nan_to_num(-7))
    assert torch.nonzero(evidence.passes["log_ratio"].isnan()).flatten().tolist() == [POISONED]
    assert torch.nonzero(evidence.passes["score"].isnan()).flatten().tolist() == ITS_GROUP


def test_evidence_that_cannot_be_written_to_its_end_leaves_the_former(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = batch_of("grouped", {POISONED: INF})
    about = {"step": 1, "batch": batch, "padding": PADDING, "returned": returned(loss_of(batch, {})[2], [NAN])}
    file = write_evidence(tmp_path, skipped_in_a_row=3, **about)
    assert read_evidence(file).response_texts == []

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_evidence(tmp_path, skipped_in_a_row=9, **about)
    assert list(file.parent.iterdir()) == [file]
    assert read_evidence(file).skipped_in_a_row == 3


def test_a_file_that_calls_the_active_rows_counted_is_read(tmp_path: Path) -> None:
    batch = batch_of("grouped", {POISONED: INF})
    about = {"step": 1, "batch": batch, "padding": PADDING, "returned": returned(loss_of(batch, {})[2], [NAN])}
    file = write_evidence(tmp_path, skipped_in_a_row=3, **about)
    fields = torch.load(file)
    active = fields["counted"] = fields.pop("active")
    torch.save(fields, file)
    assert torch.equal(read_evidence(file).active, active)


@pytest.mark.parametrize("content", [None, b"", b"not a file of torch's", "another", "a tensor", "half"])
def test_another_file_is_refused(content: bytes | str | None, tmp_path: Path) -> None:
    file = tmp_path / "step_1.pt"
    if content == "another":
        torch.save({"model": torch.zeros(2)}, file)
    elif content == "a tensor":
        torch.save(torch.zeros(2), file)
    elif content == "half":
        torch.save({"step": torch.zeros(2000)}, file)
        file.write_bytes(file.read_bytes()[:3000])
    elif isinstance(content, bytes):
        file.write_bytes(content)
    with pytest.raises(UserError, match=r"step_1.pt (cannot be read: No such file|is not what a run wrote)"):
        read_evidence(file)


GROUPED = Choice("grouped", "")


@pytest.fixture
def pacs_trainer(tmp_path: Path) -> MethodTrainer:
    with initialize_config_dir(str(config_dir()), version_base=None):
        config = compose("pacs", overrides=["recipe=arithmetic", f"run.dir={tmp_path}"])
    config.method.reference.reset_every = None
    config.method.reference.reset_at_saturation = 0.01
    config.method.reference.reset_at_log_ratio = 1e-6
    made = MethodTrainer(config)
    made.global_steps, made.tokenizer = 5, build_tokenizer(64)
    return made


def test_the_run_stops_at_the_limit_with_the_evidence(
    pacs_trainer: MethodTrainer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The TransferQueue, which needs Ray, is replaced by its one batch; tests of real runs go through it."""
    batch = batch_of("grouped", {POISONED: INF})
    table = loss_of(batch, {})[2]
    keys = [f"{row.uid}_0_{i}" for i, row in enumerate(ROWS)]
    meta = KVBatchMeta(partition_id="train", keys=keys, tags=[{"is_padding": padding} for padding in PADDING])

    def get(keys: list[str], partition_id: str, select_fields: list[str]) -> object:
        assert (keys, partition_id) == (meta.keys, "train")
        return batch.select(*select_fields)

    monkeypatch.setattr(tq, "kv_batch_get", get)
    step.stop_at_poison(pacs_trainer, meta, returned(table, [1.0, NAN]))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(PoisonError) as caught:
        step.stop_at_poison(pacs_trainer, meta, returned(table, [NAN, NAN]))
    file = tmp_path / "poison/step_5.pt"
    assert str(caught.value) == (
        "3 updates in a row were skipped, for their gradients were not finite, the last of them in step 5; "
        f"what that step saw is in {file} (look at it with `pacs inspect {file}`)"
    )
    assert read_evidence(file).padding.tolist() == PADDING
    assert set(BATCH_FIELDS) <= set(batch.keys())


def test_no_reset_fires_on_what_is_not_finite(pacs_trainer: MethodTrainer) -> None:
    """Both thresholds are tiny; every row that counts has a log-ratio of inf, or is in such a row's group."""
    firsts = {row.uid: i for i, row in reversed(list(enumerate(ROWS))) if row.uid and any(row.mask)}
    table = loss_of(batch_of("grouped", dict.fromkeys(firsts.values(), -INF)), {})[2]
    metrics = step.log(pacs_trainer, GROUPED, returned(table, [NAN]))
    assert metrics["pacs/rows/not_finite_count"] == 7
    assert metrics["pacs/gradient/skipped_count"] == 1
    step.reset(pacs_trainer, metrics)
    assert metrics["pacs/reference/reset_count"] == 0
    assert pacs_trainer.reference.events == []
    clean = step.log(pacs_trainer, GROUPED, returned(loss_of(batch_of("grouped", {}), {})[2], [1.0]))
    assert clean["pacs/log_ratio/sequence_mean"] > 1e-6  # what would fire
