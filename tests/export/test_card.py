"""The model card says what the run's folder says, and nothing else."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from omegaconf import OmegaConf

from pacs.base.errors import UserError
from pacs.base.files import file_sha256
from pacs.checkpoints.folder import seal
from pacs.checkpoints.source import find_source
from pacs.evaluation.results import card_section, find_evaluations
from pacs.export.card import model_card
from pacs.verl_keys import names
from tests.export.conftest import STEP, checkpoint_of, run_config
from tests.export.exporting import run_command

INFO = {
    "started": "2026-01-02T03:04:05+00:00",
    "git_commit": "c0ffee+",
    "python": "3.11.7",
    "versions": {"verl": "0.9.1", "torch": "2.13.0"},
}
METRICS = [
    {"step": 0, "val-core/math500/reward/mean@8": 0.25},
    {"step": 5, "critic/score/mean": 0.5, "val-core/math500/reward/mean@8": 0.75, "val-aux/math500/reward/std@8": 0.1},
    {"step": 6, "critic/score/mean": 0.61234567, "actor/entropy": 0.3},
    {"step": 7, "actor/entropy": 0.2},
    {"step": 8, "critic/score/mean": 0.99, "val-core/math500/reward/mean@8": 0.99},
]


def write_run(run: Path, base: object, *overrides: str, algorithm: str = "pacs", metrics: list[dict] = METRICS) -> None:
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in metrics))
    (run / "run.json").write_text(json.dumps(INFO))
    (run / "config.yaml").write_text("trainer: {experiment_name: of a later start}")
    (checkpoint_of(run) / "config.yaml").write_text(run_config(base, *overrides, algorithm=algorithm))
    seal(checkpoint_of(run), step=STEP, ranks=1)


def card_of(run: Path, out: Path) -> tuple[dict, list[list[str]], str]:
    """The head, the cells of all tables' rows, and the whole text."""
    assert run_command(run, "--out", out) == 0
    text = (out / "README.md").read_text()
    _, head, body = text.split("---\n", 2)
    rows = [re.split(r" *\| *", line)[1:-1] for line in body.splitlines() if line.startswith("|")]
    return yaml.safe_load(head), rows, text


def test_it_says_what_the_run_says(run: Path, tmp_path: Path):
    write_run(
        run,
        "Qwen/Qwen3-8B",
        "trainer.experiment_name=mine",
        "data.train_files=[/somewhere/deepscaler/train.parquet,dapo.parquet]",
        "data.val_files=/somewhere/math500/test.parquet",
        "method.beta=0.5",
        "method.reference.reset_every=null",
        "method.metrics.entropy_every=3",
    )
    head, rows, text = card_of(run, tmp_path / "out")
    assert head == {"base_model": "Qwen/Qwen3-8B", "library_name": "transformers", "tags": ["rlvr", "verl", "pacs"]}
    assert "# mine, step 7\n" in text
    for row in (
        ["base model", "Qwen/Qwen3-8B"],
        ["step", "7 of 20"],
        ["training data", "deepscaler/train.parquet, dapo.parquet"],
        ["validation data", "math500/test.parquet"],
        ["dtype of the weights", "float32"],
        ["method.beta", "0.5"],
        ["method.estimator", "rloo"],
        ["method.reference.reset_every", "null"],
        ["method.reference.reset_optimizer", "false"],
        ["actor_rollout_ref.rollout.n", "8"],
        ["actor_rollout_ref.actor.optim.lr", "0.0001"],
        ["critic/score/mean", "6", "0.6123"],
        ["val-core/math500/reward/mean@8", "5", "0.75"],
        ["git commit", "c0ffee+"],
        ["python", "3.11.7"],
        ["verl", "0.9.1"],
        ["torch", "2.13.0"],
    ):
        assert row in rows
    assert [cells for cells in rows if cells[0].startswith(("val-", "actor/"))] == [
        ["val-core/math500/reward/mean@8", "5", "0.75"]
    ]
    assert [
        "algorithm",
        "PACS, RLVR as supervised learning ([arXiv 2509.02522](https://arxiv.org/abs/2509.02522))",
    ] in rows
    # No path of the machine, and no setting that trains nothing.
    assert [word for word in ("somewhere", str(run), "run_dir", "entropy_every", "later start") if word in text] == []


def test_another_algorithm_has_no_settings_of_pacs(run: Path, tmp_path: Path):
    write_run(run, "Qwen/Qwen3-8B", "trainer.experiment_name=5", "data.val_files='a|b/test.parquet'", algorithm="grpo")
    head, rows, text = card_of(run, tmp_path / "out")
    assert head["tags"] == ["rlvr", "verl", "grpo"]
    assert ["algorithm", "GRPO ([arXiv 2402.03300](https://arxiv.org/abs/2402.03300))"] in rows
    assert ["data.train_batch_size", "64"] in rows
    assert "| validation data | a\\|b/test.parquet |\n" in text
    assert "method.beta" not in text
    assert "# 5, step 7\n" in text


@pytest.mark.parametrize(
    ("readme", "said"),
    [
        (None, {}),
        ("# A model\n\nlicense: none of these lines\n", {}),
        ("---\nlibrary_name: transformers\n---\n# A model\n", {}),
        (
            "---\nlicense: other\nlicense_name: mine\nlicense_link: https://example.com/LICENSE\n---\n# A model\n",
            {"license": "other", "license_name": "mine", "license_link": "https://example.com/LICENSE"},
        ),
    ],
)
def test_a_licence_only_if_the_base_model_names_one(run: Path, tmp_path: Path, readme: str | None, said: dict):
    base = tmp_path / "models" / "My-Base"
    base.mkdir(parents=True)
    if readme is not None:
        (base / "README.md").write_text(readme)
    write_run(run, base)
    head, rows, text = card_of(run, tmp_path / "out")
    assert {key: value for key, value in head.items() if "license" in key} == said
    # Hugging Face's metadata wants a name of the Hub; the folder's path is of this machine.
    assert "base_model" not in head
    assert ["base model", "My-Base, a folder that is on no Hub"] in rows
    assert str(tmp_path) not in text


def test_a_checkpoint_without_its_run_says_nothing_of_it(run: Path, tmp_path: Path):
    write_run(run, "Qwen/Qwen3-8B")
    alone = shutil.copytree(checkpoint_of(run), tmp_path / "elsewhere" / "global_step_7")
    (alone / "config.yaml").unlink()
    seal(alone, step=STEP, ranks=1)
    head, rows, text = card_of(alone, tmp_path / "out")
    assert head == {"library_name": "transformers", "tags": ["rlvr", "verl"]}
    assert [row for row in rows if row[0] and row[0] != "---"] == [
        ["step", "7"],
        ["dtype of the weights", "bfloat16"],
    ]
    assert re.findall("^#.*", text, re.MULTILINE) == ["# step 7"]


def test_a_broken_line_of_the_metrics_is_named(run: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture):
    write_run(run, "Qwen/Qwen3-8B")
    (run / "metrics.jsonl").write_text('{"step": 1}\nbroken\n{"step": 2}\n')
    assert run_command(run, "--out", tmp_path / "out") == 0
    assert "metrics.jsonl:2: dropped" in caplog.text


def test_the_settings_are_keys_of_a_real_run(template: Path):
    """What the card asks for exists in a run's config."""
    config = OmegaConf.load(checkpoint_of(template / "run") / "config.yaml")
    keys = [
        names.METHOD, names.POLICY_PATH, names.SAMPLING_DTYPE, names.TRAIN_FILES,
        names.VALIDATION_FILES, *names.ON_THE_CARD, "method.beta",
    ]  # fmt: skip
    assert [key for key in keys if OmegaConf.select(config, key) is None] == []


def test_it_says_how_the_run_graded(run: Path, tmp_path: Path):
    key = "reward.custom_reward_function"
    write_run(run, "Qwen/Qwen3-8B", f"+{key}.reward_kwargs.math.timeout_seconds=5")
    _, rows, _ = card_of(run, tmp_path / "out")
    assert [key, "by each row's verifier"] in rows
    assert [f"{key}.reward_kwargs.math.timeout_seconds", "5"] in rows
    write_run(run, "Qwen/Qwen3-8B", f"{key}.path=/somewhere/mine.py", f"+{key}.reward_kwargs.password=hunter2")
    _, rows, text = card_of(run, tmp_path / "other")
    assert [key, "compute_score of mine.py"] in rows
    assert "hunter2" not in text
    assert "somewhere" not in text


@pytest.mark.parametrize(
    ("algorithm", "words"),
    [("ppo", "PPO"), ("grpo", "GRPO"), ("dr_grpo", "Dr. GRPO"), ("dapo", "DAPO"), ("rloo", "RLOO"), ("pacs", "PACS")],
)
def test_the_method_is_the_one_that_was_run(algorithm: str, words: str, run: Path):
    """verl's estimator is gae for PPO, and grpo for Dr. GRPO and DAPO."""
    write_run(run, "Qwen/Qwen3-8B", algorithm=algorithm)
    card = model_card(find_source(run), "float32")
    assert yaml.safe_load(card.split("---\n")[1])["tags"] == ["rlvr", "verl", algorithm]
    assert re.search(rf"^\| algorithm \| {words}[ ,]", card, re.MULTILINE)


def test_pass_at_k_of_the_validation(run: Path):
    """Ours in place of verl's mean, which is pass@1 under another name."""
    ours = {"pacs/validation/math500/pass@1": 0.7, "pacs/validation/math500/pass@8": 0.9}
    write_run(run, "Qwen/Qwen3-8B", metrics=[{"step": 5, "val-core/math500/reward/mean@8": 0.7, **ours}])
    card = model_card(find_source(run), "float32")
    assert "| pacs/validation/math500/pass@8 | 5 | 0.9 |" in card
    assert "val-core" not in card


def test_pass_at_k_of_the_checkpoints_own_evaluations(run: Path, tmp_path: Path):
    write_run(run, "Qwen/Qwen3-8B")
    marker = file_sha256(checkpoint_of(run) / "complete.json")
    for folder, checkpoint, name in (
        (run / "evaluation" / "step_7", marker, "beside"),
        (run / "evaluation" / "step_9", "of another step", "of_another_step"),
        (tmp_path / "given", marker, "given"),
        (tmp_path / "foreign", None, "foreign"),
    ):
        folder.mkdir(parents=True)
        shares = {"mean": 0.5, "low": 0.25, "high": 0.75}
        task = {
            "task": name, "samples": 16, "problems": [{"id": "a", "gold": "b", "n": 16, "right": 8}],
            "accuracy": shares, "pass_at": {"1": shares, "8": shares | {"mean": 0.995}}, "maj_at": {},
            "statuses": {"correct": 0.5}, "truncated": 0.0, "mean_tokens": 3.0, "mean_tokens_right": 3.0,
            "mean_tokens_wrong": 3.0, "seconds": None, "tokens_per_second": None,
        }  # fmt: skip
        settings = {"model": {"checkpoint": checkpoint}, "sampling": {"temperature": 0.6, "max_tokens": 24}}
        (folder / "results.json").write_text(json.dumps({"settings": settings, "tasks": [task]}))
    source = find_source(run)
    found = find_evaluations(source, [tmp_path / "given"])
    card = re.sub(" +", " ", model_card(source, "float32", list(map(card_section, found))))
    assert "| beside | 1 | 16 | 50.00 [25.00, 75.00] | 99.50 [25.00, 75.00] |" in card
    assert "| given | 1 | 16 |" in card
    assert "temperature 0.6, max_tokens 24" in card
    assert "of_another_step" not in card
    with pytest.raises(UserError, match="foreign is of another model"):
        find_evaluations(source, [tmp_path / "foreign"])


def test_the_base_model_in_the_hubs_cache_has_its_name_there(run: Path):
    write_run(run, "/home/me/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/0123abc")
    card = model_card(find_source(run), "float32")
    assert yaml.safe_load(card.split("---\n")[1])["base_model"] == "Qwen/Qwen3-8B"
    assert "/home/me" not in card


def test_no_secret_of_a_verifier_s_settings_is_published(run: Path):
    key = "reward.custom_reward_function"
    write_run(run, "Qwen/Qwen3-8B", f"+{key}.reward_kwargs.math.judge_token=hunter2")
    card = model_card(find_source(run), "float32")
    assert "hunter2" not in card
    assert f"| {key}.reward_kwargs.math.judge_token | (not shown) |" in card
