"""Real runs of `pacs train`: Ray, FSDP2, vLLM, weight sync, checkpoint, resume."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from pacs.metrics import find
from recipes.arithmetic.model import build_model
from recipes.arithmetic.tokenizer import build_tokenizer

pytestmark = pytest.mark.slow

RESET_EVERY = 3


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An untrained tiny Qwen3 and single-digit sums."""
    folder = tmp_path_factory.mktemp("task")
    tokenizer = build_tokenizer(4096)
    build_model(tokenizer, seed=0).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    rows = [
        {
            "data_source": "sums",
            "prompt": [{"role": "user", "content": f"{a}+{b}"}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(a + b)},
            "extra_info": {"index": 10 * a + b, "split": "train"},
        }
        for a in range(10)
        for b in range(10)
    ]
    pq.write_table(pa.Table.from_pylist(rows), folder / "data.parquet")
    return folder


def train(task: Path, run: Path, *overrides: str) -> str:
    command = [
        sys.executable, "-m", "pacs", "train", "recipe=arithmetic",
        f"actor_rollout_ref.model.path={task / 'model'}",
        f"data.train_files={task / 'data.parquet'}",
        f"data.val_files={task / 'data.parquet'}",
        "data.val_max_samples=16",
        f"reward.custom_reward_function.path={Path(__file__).with_name('parity_reward.py')}",
        f"pacs.run_dir={run}",
        f"pacs.reference.reset_every={RESET_EVERY}",
        "pacs.reference.reset_optimizer=true",
        f"pacs.reference.warmup_steps={0 if 'pacs.reference.reset_every=1' in overrides else 1}",
        "data.train_batch_size=16",
        "data.max_response_length=16",
        "actor_rollout_ref.rollout.n=4",
        "actor_rollout_ref.actor.ppo_mini_batch_size=8",
        "trainer.save_freq=1",
        "trainer.test_freq=-1",
        "trainer.max_actor_ckpt_to_keep=null",
        *overrides,
    ]  # fmt: skip
    env = {key: value for key, value in os.environ.items() if key != "VERL_PLATFORM"}
    result = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=560)
    assert result.returncode == 0, result.stdout[-6000:]
    return result.stdout


def steps(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def policy(run: Path, step: int) -> dict[str, torch.Tensor]:
    file = run / f"checkpoints/global_step_{step}/actor/model_world_size_1_rank_0.pt"
    return {name: value.full_tensor() for name, value in torch.load(file, weights_only=False).items()}


def reference(run: Path, step: int) -> dict[str, torch.Tensor]:
    return torch.load(run / f"checkpoints/global_step_{step}/reference/reference_world_size_1_rank_0.pt")


def equal(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    assert a.keys() == b.keys()
    return all(torch.equal(a[name], b[name]) for name in a)


@pytest.fixture(scope="module")
def run(task: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three steps, after which the reference is reset, and a second start in the same folder that goes on to five."""
    # FSDP state dicts hold DTensors, which need a process group to be read.
    torch.distributed.init_process_group("gloo", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
    folder = tmp_path_factory.mktemp("run")
    train(task, folder, "trainer.total_training_steps=3")
    printed = train(task, folder, "trainer.total_training_steps=5")
    assert "setting global step to 3" in printed
    yield folder
    torch.distributed.destroy_process_group()


def test_every_step_is_logged_once_in_order_across_the_resume(run: Path) -> None:
    trained = [line["step"] for line in steps(run) if "timing_s/step" in line]
    assert trained == [1, 2, 3, 4, 5]


def test_training_changes_the_weights(task: Path, run: Path) -> None:
    initial = load_file(task / "model" / "model.safetensors")
    assert not equal(policy(run, 1), initial)
    assert not equal(policy(run, 2), policy(run, 1))


def test_vllm_samples_from_the_policy_that_is_trained(run: Path) -> None:
    for line in steps(run):
        if "timing_s/step" in line:
            assert line["pacs/rollout_gap/worst_max"] < 1e-4


def test_the_reference_is_the_initial_policy_until_it_is_reset(task: Path, run: Path) -> None:
    initial = load_file(task / "model" / "model.safetensors")
    assert equal(reference(run, 1), initial)
    assert equal(reference(run, 2), initial)
    assert [line["step"] for line in steps(run) if line.get("pacs/reference/reset_count")] == [RESET_EVERY]


def test_the_checkpoint_keeps_the_schedule(run: Path) -> None:
    def state(step: int) -> dict:
        return json.loads((run / f"checkpoints/global_step_{step}/reference/state.json").read_text())

    assert state(2) == {"is_policy": False, "events": []}
    event = {"step": RESET_EVERY, "trigger": "reset_every", "value": RESET_EVERY}
    assert state(RESET_EVERY) == {"is_policy": True, "events": [event]}
    assert state(RESET_EVERY + 2) == {"is_policy": False, "events": [event]}
    # Where the reference is the policy, the checkpoint does not hold it twice.
    assert not list((run / f"checkpoints/global_step_{RESET_EVERY}/reference").glob("*.pt"))


def test_every_logged_key_is_in_the_registry(run: Path) -> None:
    keys = {key for line in steps(run) for key in line} - {"step"}
    assert len(keys) > 80
    assert sorted(key for key in keys if find(key) is None) == []


def test_each_step_takes_only_the_passes_it_needs(run: Path) -> None:
    lines = {line["step"]: line for line in steps(run) if "timing_s/step" in line}
    for line in lines.values():
        assert "timing_s/old_log_prob" not in line
        assert line["pacs/update/cached_fraction"] == line["timing_s/policy_pass"] == 0
        assert line["timing_s/reference_pass"] > 0
        assert "timing_s/ref" not in line


def test_adam_forgets_at_the_reset_alone(run: Path) -> None:
    def moments(step: int) -> int:
        file = run / f"checkpoints/global_step_{step}/actor/optim_world_size_1_rank_0.pt"
        return len(torch.load(file, weights_only=False)["state"])

    assert moments(RESET_EVERY - 1) > 0
    assert moments(RESET_EVERY) == 0
    assert moments(RESET_EVERY + 1) > 0


def test_the_learning_rate_warms_up_after_the_reset_alone(run: Path) -> None:
    """The reset of step 3 was made before the run was cut off, the warm-up step 4 after it went on."""
    rates = {line["step"]: line["pacs/update/learning_rate_mean"] for line in steps(run) if "timing_s/step" in line}
    assert [rates[step] / rates[1] for step in (2, 3, 4, 5)] == pytest.approx([1, 1, 0.5, 1])


def test_a_resumed_run_has_its_reference_and_its_place(run: Path) -> None:
    # Made anew from the model, the reference would be the initial policy; the next reset comes after step 6.
    assert equal(reference(run, 5), policy(run, RESET_EVERY))
    assert not equal(policy(run, 5), policy(run, 4))
    assert steps(run)[-1]["pacs/log_ratio/sequence_mean"] != 0


def test_the_folder_tells_what_was_run(run: Path) -> None:
    about = json.loads((run / "run.json").read_text())
    assert about["versions"]["verl"] == "0.9.1"
    assert "reset_every: 3" in (run / "config.yaml").read_text()
    assert list((run / "tensorboard").glob("events.*"))
    samples = [json.loads(line) for line in (run / "samples/train/5.jsonl").read_text().splitlines()]
    assert len(samples) == 16  # four groups of four
    assert {"input", "output", "score", "gts"} <= samples[0].keys()
    assert not (run / "checkpoints/global_step_4/transfer_queue").exists()  # the mark of an asynchronous trainer


def test_two_ranks_train_on_torn_and_uneven_groups_without_a_reference_model(task: Path, tmp_path: Path) -> None:
    """Prompts with one to four responses, as failed rollouts leave them, in micro-batches smaller than a group.

    Groups are filled up, one alone is dropped, `auto` scores them first; with K=1 the reference is always the policy.
    """
    table = pq.read_table(task / "data.parquet")
    sizes = [1 + i % 4 for i in range(table.num_rows)]
    pq.write_table(table.append_column("__rollout_n__", pa.array(sizes)), tmp_path / "uneven.parquet")
    printed = train(
        task,
        tmp_path / "run",
        f"data.train_files={tmp_path / 'uneven.parquet'}",
        "trainer.total_training_steps=2",
        "trainer.n_gpus_per_node=2",
        "trainer.val_before_train=false",
        "pacs.sample_groups=16",
        "pacs.reference.reset_every=1",
        "pacs.metrics.old_log_prob_every=2",
        "pacs.metrics.entropy_every=3",
        "actor_rollout_ref.actor.use_dynamic_bsz=false",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
    )
    assert "step 1: update strategy cached: actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2" in printed
    lines = steps(tmp_path / "run")
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
    reference = tmp_path / "run/checkpoints/global_step_2/reference"
    assert [file.name for file in reference.iterdir()] == ["state.json"]
