"""Real runs of `pacs train`: Ray, FSDP2, vLLM, weight sync, checkpoint, resume."""

import json
import re
import stat
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from statistics import fmean

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from pacs.checkpoints.folder import METRICS, read_checkpoint
from pacs.metrics.registry import find
from tests.integration.real_run import RESET_EVERY, SECRET, STEPS, RealRun, equal

pytestmark = pytest.mark.slow

RESETS = [step for step in range(1, STEPS + 1) if step % RESET_EVERY == 0]


def test_every_step_is_logged_once_in_order(run: RealRun) -> None:
    trained = [line["step"] for line in run.steps() if "timing_s/step" in line]
    assert trained == list(range(1, STEPS + 1))


def test_the_console_is_a_page_and_says_what_to_do_next(run: RealRun) -> None:
    """Ten steps here, each of them saved; all that the processes have said is in the run's folder."""
    lines = run.starts[0].log.read_text().splitlines()
    assert len(lines) <= 60
    shown = "\n".join(lines)
    stages = ["starting Ray", "data loaded", "training worker ready", "vLLM ready", "step 0/10: pacs/validation"]
    wanted = [f"pacs: the run's folder is {run.folder}", *stages, "step 1/10: pass rate", "step 10/10"]
    places = [shown.index(words) for words in wanted]
    assert places == sorted(places)
    assert re.search(r"^ +\d:\d\d:\d\d  step 9/10: .*, s/step [\d.]+, about \d+ s left$", shown, re.MULTILINE)
    assert shown.count("the reference is now the policy") == len(RESETS)
    assert shown.count(": saved as ") == STEPS
    assert lines[-1].endswith(f"pacs report {run.folder} --out {run.folder}/report")
    said = run.starts[0].said
    assert len(said.splitlines()) > 10 * len(lines)
    # verl prints the config in pieces, and Ray makes a line of each that it reads before the next is written.
    pieces = [line.partition(")")[2] for line in said.splitlines() if "(PacsTaskRunner pid=" in line]
    printed = "".join(re.sub(r"^\S* ", "", piece) for piece in pieces)
    assert "{'actor_rollout_ref': {'actor': {" in printed


def test_training_changes_the_weights(task: Path, run: RealRun) -> None:
    initial = load_file(task / "model" / "model.safetensors")
    assert not equal(run.policy(1), initial)
    assert not equal(run.policy(2), run.policy(1))


def test_vllm_samples_from_the_policy_that_is_trained(run: RealRun) -> None:
    for line in run.steps():
        if "timing_s/step" in line:
            assert line["pacs/rollout_gap/worst_max"] < 1e-4


def test_the_reference_is_the_initial_policy_until_it_is_reset(task: Path, run: RealRun) -> None:
    initial = load_file(task / "model" / "model.safetensors")
    assert equal(run.reference(1), initial)
    assert equal(run.reference(2), initial)
    assert [line["step"] for line in run.steps() if line.get("pacs/reference/reset_count")] == RESETS


def test_the_checkpoint_keeps_the_schedule(run: RealRun) -> None:
    def state(step: int) -> dict:
        return json.loads((run.checkpoints / f"global_step_{step}/reference.json").read_text())

    assert state(2) == {"is_policy": False, "events": []}
    event = {"step": RESET_EVERY, "trigger": "reset_every", "value": RESET_EVERY}
    assert state(RESET_EVERY) == {"is_policy": True, "events": [event]}
    assert state(RESET_EVERY + 2) == {"is_policy": False, "events": [event]}


def test_a_checkpoint_has_what_its_step_measured(run: RealRun) -> None:
    for step, line in enumerate(run.steps()[1:], start=1):
        saved = json.loads((run.checkpoints / f"global_step_{step}/{METRICS}").read_text())
        later = {key for key in line if key not in saved}
        assert all(key == "step" or key.startswith(("timing", "val", "pacs/validation")) for key in later), later
        same = [key for key in saved if not key.startswith(("timing", "perf"))]
        assert len(same) > 60
        assert {key: saved[key] for key in same} == {key: line[key] for key in same}


def test_a_reference_is_stored_once(run: RealRun) -> None:
    """At first, and after the reset of step 3; there the reference is the policy, which the checkpoint holds."""
    checkpoints = {step: read_checkpoint(run.checkpoints / f"global_step_{step}") for step in range(1, 6)}
    assert checkpoints[RESET_EVERY].reference is None
    assert checkpoints[1].reference == checkpoints[2].reference
    assert checkpoints[4].reference == checkpoints[5].reference
    assert {folder.name[:6] for folder in (run.checkpoints / "references").iterdir()} == {
        f"step_{step}" for step in (0, *RESETS)
    }


def test_every_logged_key_is_in_the_registry(run: RealRun) -> None:
    keys = {key for line in run.steps() for key in line} - {"step"}
    assert len(keys) > 80
    assert sorted(key for key in keys if find(key) is None) == []


def test_a_validation_logs_pass_at_k_of_the_samples_it_wrote(run: RealRun) -> None:
    right = defaultdict(list)
    for line in (run.folder / "samples/validation/0.jsonl").read_text().splitlines():
        sample = json.loads(line)
        right[sample["uid"].split("_")[0]].append(sample["score"] == 1)
    assert [len(samples) for samples in right.values()] == [4] * 4
    logged = {key: value for key, value in run.steps()[0].items() if key.startswith("pacs/validation/")}
    assert logged == {
        f"pacs/validation/sums/pass@{k}": pytest.approx(
            fmean(any(drawn) for samples in right.values() for drawn in combinations(samples, k))
        )
        for k in (1, 2, 4)
    }
    assert run.steps()[0]["val-core/sums/reward/mean@4"] == logged["pacs/validation/sums/pass@1"]


def test_each_step_takes_only_the_passes_it_needs(run: RealRun) -> None:
    lines = {line["step"]: line for line in run.steps() if "timing_s/step" in line}
    for line in lines.values():
        assert "timing_s/old_log_prob" not in line
        assert line["pacs/update/cached_fraction"] == line["timing_s/policy_pass"] == 0
        assert line["timing_s/reference_pass"] > 0
        assert "timing_s/ref" not in line


def test_adam_forgets_at_the_reset_alone(run: RealRun) -> None:
    def moments(step: int) -> int:
        file = run.checkpoints / f"global_step_{step}/actor/optim_world_size_1_rank_0.pt"
        return len(torch.load(file, weights_only=False)["state"])

    assert moments(RESET_EVERY - 1) > 0
    assert moments(RESET_EVERY) == 0
    assert moments(RESET_EVERY + 1) > 0


def test_the_learning_rate_warms_up_after_the_reset_alone(run: RealRun) -> None:
    rates = {line["step"]: line["pacs/update/learning_rate_mean"] for line in run.steps() if "timing_s/step" in line}
    assert [rates[step] / rates[1] for step in (2, 3, 4, 5)] == pytest.approx([1, 1, 0.5, 1])


def test_the_reference_is_the_policy_of_the_reset_after_it(run: RealRun) -> None:
    assert equal(run.reference(5), run.policy(RESET_EVERY))
    assert not equal(run.policy(5), run.policy(4))
    assert run.steps()[-1]["pacs/log_ratio/sequence_mean"] != 0


def test_a_secret_reaches_the_run_and_is_shown_nowhere(run: RealRun) -> None:
    """It is in config.yaml and its copies alone, which are their owner's; the reward, in a worker of Ray's, had it."""
    files = [file for file in run.folder.rglob("*") if file.is_file()]
    holders = {file for file in files if SECRET.encode() in file.read_bytes()}
    assert holders == {file for file in files if file.name == "config.yaml"}
    assert len(holders) == 1 + STEPS
    assert {stat.S_IMODE(file.stat().st_mode) for file in holders} == {0o600}
    assert "PARITY_TOKEN" in (run.folder / "run.json").read_text()
    assert "vllm" in run.printed.lower()
    assert SECRET not in run.printed
    validation = (run.folder / "samples/validation/0.jsonl").read_text().splitlines()
    assert all(json.loads(line)["predicted"].endswith(f" {len(SECRET)}") for line in validation)


def test_the_folder_tells_what_was_run(run: RealRun) -> None:
    about = json.loads((run.folder / "run.json").read_text())
    assert about["versions"]["verl"] == "0.9.1"
    assert "reset_every: 3" in (run.folder / "config.yaml").read_text()
    assert list((run.folder / "tensorboard").glob("events.*"))
    samples = [json.loads(line) for line in (run.folder / "samples/train/5.jsonl").read_text().splitlines()]
    assert len(samples) == 16  # four groups of four
    assert {"input", "output", "score", "gts"} <= samples[0].keys()
    assert not (run.checkpoints / "global_step_4/transfer_queue").exists()  # the mark of an asynchronous trainer


@pytest.mark.long
def test_two_ranks_train_on_torn_and_uneven_groups_without_a_reference_model(task: Path, tmp_path: Path) -> None:
    """Prompts with one to four responses, as failed rollouts leave them, in micro-batches smaller than a group.

    Groups are filled up, one alone is dropped, `auto` scores them first; with K=1 the reference is always the policy.
    """
    table = pq.read_table(task / "data.parquet")
    sizes = [1 + i % 4 for i in range(table.num_rows)]
    pq.write_table(table.append_column("__rollout_n__", pa.array(sizes)), tmp_path / "uneven.parquet")
    run = RealRun(task, tmp_path / "run")
    printed = run.train(
        f"data.train_files={tmp_path / 'uneven.parquet'}",
        "trainer.total_training_steps=2",
        "trainer.n_gpus_per_node=2",
        "trainer.val_before_train=false",
        "run.sample_groups=16",
        "method.reference.reset_every=1",
        "method.metrics.old_log_prob_every=2",
        "method.metrics.entropy_every=3",
        "actor_rollout_ref.actor.use_dynamic_bsz=false",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
    )
    assert "step 1: update strategy cached: actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2" in printed
    lines = run.steps()
    assert [line["step"] for line in lines] == [1, 2]
    for line in lines:
        assert line["pacs/rollout_gap/worst_max"] < 1e-4
        assert line["pacs/rows/alone_count"] > 0
        trained = line["pacs/rows/correct_count"] + line["pacs/rows/wrong_count"]
        sampled = (tmp_path / f"run/samples/train/{line['step']}.jsonl").read_text().splitlines()
        assert trained + line["pacs/rows/alone_count"] == len(sampled)
        assert len(sampled) < 16 * 4
        assert line["actor/grad_norm"] > 0
        assert line["pacs/update/cached_fraction"] == 1
        assert line["pacs/reference/reset_count"] == 1
        # The second mini-batch of each step is compared with the policy as it was before the first.
        assert line["pacs/log_ratio/sequence_std"] > 0
        # verl's own gap, over all rows, where its pass was asked for.
        assert ("training/rollout_probs_diff_max" in line) == (line["step"] == 2)
        # The update's own entropy was asked for at step 3; verl's pass brings one with it.
        assert ("actor/entropy" in line) == (line["step"] == 2)
    assert not (run.checkpoints / "references").exists()
