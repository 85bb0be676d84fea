"""Every primary config with every recipe, model and machine: composed, checked, and held against the paper."""

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig, OmegaConf, open_dict
from transformers import Qwen3Config
from verl.utils.config import omega_conf_to_dataclass

from pacs import cli
from pacs.algorithm import METHODS
from pacs.algorithm.distillation import Taught
from pacs.base.paths import config_dir, verl_configs
from pacs.base.settings import flatten
from pacs.integration.checks.machine import how_to_prepare
from pacs.integration.checks.models import recipe_command
from pacs.integration.checks.run import check_run
from pacs.integration.schema import BASELINES, method_in
from pacs.integration.trainer.baselines import BaselineTrainer
from pacs.integration.trainer.method_trainer import MethodTrainer
from pacs.planning.architecture import PUBLISHED
from pacs.verl_keys.algorithm_changes import plain
from recipes.arithmetic_mixed import problems as arithmetic_mixed
from recipes.chain_sums import problems as chain_sums
from recipes.code_repair import problems as code_repair
from recipes.countdown import problems as countdown
from recipes.laboratory import questions
from recipes.laboratory.plan import fresh_run
from recipes.starts.task import Task
from tests.pairwise import pairwise

ROOT = Path(__file__).parents[1]
ALGORITHMS = ("pacs", "pacs_paper", *BASELINES)
TASKS = {task.name: task for task in (arithmetic_mixed.TASK, chain_sums.TASK, countdown.TASK)}
MODELS = ("qwen3_0_6b", "qwen3_1_7b", "qwen3_4b")
GPU_MACHINES = ("h200x1", "h200x8", "h200x64", "a100x8", "h100x8")
PAPER: dict[str, Any] = json.loads((files("pacs.paper") / "training.json").read_text())


@cache
def composed(algorithm: str, *overrides: str) -> DictConfig:
    if algorithm in ("distillation", "pacs_distilled"):  # nobody is taught by nobody
        overrides = (*overrides, "method.teacher=Qwen/Qwen3-14B")
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose(algorithm, overrides=list(overrides))


def options(group: str) -> set[str]:
    return {file.stem for file in (config_dir() / group).glob("*.yaml")}


def sound(config: DictConfig) -> None:
    """It passes our checks, verl's own, and verl's dataclasses of its parts (the model's would load the model)."""
    config = OmegaConf.create(OmegaConf.to_container(config, resolve=True))
    with open_dict(config):
        config.trainer.default_local_dir = str(Path(config.trainer.default_local_dir).absolute())
        config.run.dir = str(Path(config.run.dir).absolute())
    check_run(config)
    del config.critic.model
    worker = config.actor_rollout_ref
    for part in (
        worker.actor, worker.actor.optim, worker.actor.fsdp_config, worker.ref.fsdp_config, worker.rollout,
        worker.rollout.checkpoint_engine, config.algorithm, config.critic, config.critic.optim, config.critic.fsdp,
    ):  # fmt: skip
        assert not isinstance(omega_conf_to_dataclass(part), DictConfig)


def test_every_option_is_composed_below() -> None:
    assert options(".") >= set(ALGORITHMS)  # and methods of one's own
    assert options("hardware") == {"cpu", *GPU_MACHINES}
    others = {"arithmetic", "code_repair", "gsm8k", "math_smoke", "qwen3_4b", "qwen3_8b", "smoke", "spelled_sums"}
    assert options("recipe") == others | TASKS.keys() | {"genac_qwen3_8b"}
    families = {"llama3_2_1b", "llama3_2_3b", "qwen2_5_math_7b", "qwen3_4b_thinking", "r1_distill_1_5b"}
    assert options("model") == {"arithmetic_tiny", *MODELS, "qwen3_8b", *families}
    assert options("data") == {"arithmetic", "gsm8k", "math"}
    assert options("logging") == {"default", "mlflow", "swanlab", "wandb"}


@pytest.mark.parametrize("hardware", ["cpu", *GPU_MACHINES])
def test_the_smoke_is_sound_on_every_machine(hardware: str) -> None:
    sound(composed("pacs", "recipe=smoke", f"hardware={hardware}"))


#: Of runs on a CPU.
ON_A_CPU = {
    "arithmetic": ("recipe=arithmetic",),
    "math_smoke": ("recipe=math_smoke",),
    "math": ("recipe=arithmetic", "data=math", "data.max_response_length=256"),
}


@pytest.mark.parametrize(
    ("algorithm", "recipe"),
    [
        pytest.param(name, recipe, marks=() if place == i % len(ON_A_CPU) else pytest.mark.long)
        for i, name in enumerate(ALGORITHMS)
        for place, recipe in enumerate(ON_A_CPU)
    ],
)
def test_recipes_on_a_cpu_are_sound(algorithm: str, recipe: str) -> None:
    fewer = ("trainer.critic_warmup=1",) if algorithm == "vcppo" else ()  # a smoke run has few steps
    sound(composed(algorithm, *ON_A_CPU[recipe], *fewer))


@pytest.mark.parametrize("algorithm", ["pacs", "grpo"])
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_s_recipe_is_the_task_s(task: Task, algorithm: str) -> None:
    """Its files and lengths, and the settings that the laboratory compares methods with."""
    config = composed(algorithm, f"recipe={task.name}")
    sound(config)
    lengths = config.data.max_prompt_length, config.data.max_response_length
    assert lengths == (task.max_prompt_tokens, task.max_response_tokens)
    question = questions.read("methods")
    run = fresh_run(question, task.name, question.arms["grpo"], 1e-4, 0).settings
    actor = config.actor_rollout_ref.actor
    assert (config.trainer.total_training_steps, config.actor_rollout_ref.rollout.n) == (run.steps, run.responses)
    assert config.data.train_batch_size == run.prompts
    assert actor.ppo_mini_batch_size * run.updates_per_step == run.prompts
    assert actor.optim.clip_grad == run.clip_grad
    made = f"outputs/{task.name}"
    assert config.actor_rollout_ref.model.path == f"{made}/model"
    assert (config.data.train_files, config.data.val_files) == (f"{made}/train.parquet", f"{made}/test.parquet")
    for path in (config.actor_rollout_ref.model.path, config.data.train_files):
        assert recipe_command(Path(path)) == f"`python -m recipes.{task.name}.make --out {made}`"


@pytest.mark.parametrize("algorithm", ["pacs", "grpo"])
def test_code_repair_has_room_for_what_fails(algorithm: str) -> None:
    config = composed(algorithm, "recipe=code_repair")
    sound(config)
    task = code_repair.TASK
    lengths = config.data.max_prompt_length, config.data.max_response_length
    assert lengths == (task.max_prompt_tokens, task.max_response_tokens)
    for path in (config.actor_rollout_ref.model.path, config.data.train_files):
        assert recipe_command(Path(path)) == "`python -m recipes.code_repair.make --out outputs/code_repair`"


def in_turn(*others: Sequence[str], first: int = 0) -> list[Any]:
    """All pairs; what is tried always is each algorithm with one of each of the others, in turn from the `first`.

    The lengths of MODELS and GPU_MACHINES share no divisor, so that all their pairs are tried always, too.
    """
    always = [
        (name, *(other[(i + first) % len(other)] for other in others)) for i, name in enumerate(ALGORITHMS)
    ]  # fmt: skip
    more = [case for case in pairwise(ALGORITHMS, *others) if case not in always]
    return [*always, *(pytest.param(*case, marks=pytest.mark.long) for case in more)]


@pytest.mark.parametrize(("algorithm", "machine"), in_turn(GPU_MACHINES, first=1))
def test_recipes_on_gpus_are_sound(algorithm: str, machine: str) -> None:
    model = "qwen3_4b" if machine == "h200x1" else "qwen3_8b"
    sound(composed(algorithm, f"recipe={model}", f"hardware={machine}"))


@pytest.mark.parametrize(
    ("algorithm", "model"),
    [
        pytest.param(algorithm, model, marks=() if (algorithm == "ppo") == (i == 1) else pytest.mark.long)
        for algorithm in ("pacs", "grpo", "ppo")
        for i, model in enumerate(("qwen3_0_6b", "qwen3_1_7b"))
    ],
)
def test_gsm8k_is_sound(algorithm: str, model: str) -> None:
    config = composed(algorithm, "recipe=gsm8k", f"model={model}")
    sound(config)
    assert config.run.dir == f"outputs/gsm8k/{model}-{algorithm}"
    said = [how_to_prepare(config, Path(file)) for file in (config.data.train_files, config.data.val_files)]
    path, commands = config.actor_rollout_ref.model.path, (ROOT / "recipes/gsm8k/README.md").read_text()
    prepare = f"pacs data prepare gsm8k --out data/gsm8k --model {path} --max-prompt-length 512 --no-thinking"
    assert said[0].startswith(f"`{prepare}`")
    assert said[1] == "`pacs data prepare gsm8k_test --out data/gsm8k_test`"
    assert said[1].strip("`") in commands
    assert prepare.replace(path, "Qwen/Qwen3-0.6B") in commands


@pytest.mark.parametrize(("algorithm", "model", "machine"), in_turn(MODELS, GPU_MACHINES))
def test_every_model_on_every_machine_is_sound(algorithm: str, model: str, machine: str) -> None:
    sound(composed(algorithm, f"model={model}", f"hardware={machine}", "logging=wandb"))


@pytest.mark.parametrize(
    ("model", "logging"), [("qwen3_0_6b", "mlflow"), ("qwen3_1_7b", "swanlab"), ("qwen3_4b", "wandb")]
)
def test_models_and_loggers_are_sound(model: str, logging: str) -> None:
    config = composed("ppo", f"model={model}", f"logging={logging}")
    sound(config)
    assert config.critic.model.path == config.actor_rollout_ref.model.path
    assert config.trainer.logger == ["tensorboard", logging]


@pytest.mark.parametrize("model", PAPER["settings"]["model"])
@pytest.mark.parametrize("algorithm", PAPER["settings"]["algorithm"])
def test_the_paper_s_runs_have_its_settings(algorithm: str, model: str) -> None:
    settings = PAPER["settings"]
    wanted = settings["all"] | settings["algorithm"][algorithm] | settings["model"][model]
    config = composed(algorithm, f"recipe={model}")
    assert {key: OmegaConf.select(config, key) for key in wanted} == wanted


def test_what_departs_from_the_paper_is_in_the_docs() -> None:
    page = (ROOT / "docs/methods.md").read_text()
    config = composed("pacs", "recipe=qwen3_8b")
    for key, value in PAPER["not_ours"].items():
        assert OmegaConf.select(config, key) != value
        assert f"`{key}" in page


#: The algorithm block: all else is the same whatever the algorithm is.
ALGORITHM_BLOCK = (
    "trainer.v1.trainer_mode",
    "algorithm.adv_estimator",
    "algorithm.norm_adv_by_std_in_grpo",
    "algorithm.filter_groups.enable",
    "algorithm.lam",
    "run.critic.lam",
    "trainer.critic_warmup",
    "actor_rollout_ref.actor.clip_ratio",
    "actor_rollout_ref.actor.clip_ratio_low",
    "actor_rollout_ref.actor.clip_ratio_high",
    "actor_rollout_ref.actor.clip_ratio_c",
    "actor_rollout_ref.actor.policy_loss.loss_mode",
    "actor_rollout_ref.actor.policy_loss.kl_cov_ratio",
    "actor_rollout_ref.actor.policy_loss.ppo_kl_coef",
    "actor_rollout_ref.actor.loss_agg_mode",
    "actor_rollout_ref.actor.loss_scale_factor",
    "actor_rollout_ref.actor.optim.clip_grad",
    "actor_rollout_ref.rollout.gpu_memory_utilization",  # less where a critic's state is beside vLLM
    "reward.reward_manager.name",
    "reward.reward_kwargs.max_resp_len",
    "reward.reward_kwargs.overlong_buffer_cfg.enable",
    "reward.reward_kwargs.overlong_buffer_cfg.len",
    "reward.reward_kwargs.overlong_buffer_cfg.penalty_factor",
    "reward.reward_kwargs.overlong_buffer_cfg.log",
)
#: Named after the algorithm.
NAMES = (
    "trainer.experiment_name",
    "actor_rollout_ref.rollout.trace.experiment_name",
    "trainer.default_local_dir",
    "trainer.rollout_data_dir",
    "trainer.validation_data_dir",
    "run.dir",
)
#: Sections of one algorithm alone.
OF_PPO, OF_PACS = "critic.", "method."


def test_primary_configs_differ_in_the_algorithm_alone() -> None:
    leaves = [flatten(plain(composed(algorithm, "recipe=qwen3_8b"))) for algorithm in ALGORITHMS]
    differ = {key for one in leaves for key in one if any(other.get(key, "absent") != one[key] for other in leaves)}
    critic = {key for key in differ if key.startswith(OF_PPO)}
    own = {key for key in differ if key.startswith(OF_PACS)} - {*NAMES}
    assert differ - critic - own == {*ALGORITHM_BLOCK, *NAMES}
    # The critic's are read under PPO alone, and those of PACS are there under PACS alone.
    assert [flat["critic.enable"] for flat in leaves] == [algorithm in ("ppo", "vcppo") for algorithm in ALGORITHMS]
    assert {"critic.enable", "critic.model.path", "critic.ppo_infer_max_token_len_per_gpu"} <= critic
    assert own == {key for key in leaves[0] if key.startswith(OF_PACS)} - set(leaves[-1])


@pytest.mark.parametrize("algorithm", sorted({file.stem for file in config_dir().glob("*.yaml")} - {"genac"}))
def test_groups_are_filtered_with_every_algorithm(algorithm: str) -> None:
    """By the one switch, and by the verifier's own score; DAPO has it on. GenAC refuses it."""
    config = composed(algorithm, "recipe=arithmetic", "algorithm.filter_groups.enable=true")
    sound(config)
    trainer = (MethodTrainer if config.trainer.v1.trainer_mode == "pacs" else BaselineTrainer)(config)
    assert trainer.replay_buffer.sample == trainer.group_filter.sample
    assert (trainer.group_filter.settings.metric, trainer.group_filter.settings.max_num_gen_batches) == ("score", 10)
    assert composed(algorithm, "recipe=arithmetic").algorithm.filter_groups.enable == (algorithm == "dapo")


@pytest.mark.parametrize("name", METHODS)
def test_a_method_s_config_has_its_defaults(name: str) -> None:
    """A class that is used without its config, in a test or a program, is the same method."""
    made = method_in(composed(name, "recipe=qwen3_8b"))
    assert made == METHODS[name](**({"teacher": made.teacher} if isinstance(made, Taught) else {}))


def test_no_two_algorithms_share_a_folder() -> None:
    runs = [(algorithm, "qwen3_8b") for algorithm in ALGORITHMS]
    runs += [(algorithm, recipe) for algorithm in ("pacs", "grpo") for recipe in options("recipe") - {"qwen3_8b"}]
    folders = {composed(algorithm, f"recipe={recipe}").run.dir for algorithm, recipe in runs}
    assert len(folders) == len(runs)


def test_another_model_is_another_folder() -> None:
    assert composed("pacs", "recipe=qwen3_8b", "model=qwen3_4b").run.dir == "outputs/pacs/qwen3_4b-pacs"
    folders = {composed("pacs", f"model={model}").run.dir for model in options("model")}
    assert len(folders) == len(options("model"))


def test_the_trainers_are_those_of_their_names() -> None:
    from verl.trainer.ppo.v1 import get_trainer_cls

    assert get_trainer_cls("pacs") is MethodTrainer
    assert {get_trainer_cls(name) for name in BASELINES} == {BaselineTrainer}


LAUNCHERS = {
    f"train_qwen3_{size}{suffix}.sh": (algorithm, f"qwen3_{size}")
    for size in ("4b", "8b")
    for suffix, algorithm in (("", "pacs"), ("_grpo", "grpo"), ("_ppo", "ppo"))
} | {"train_qwen3_8b_genac.sh": ("genac", "qwen3_8b_base")}
#: The others are for --all.
FIRST_TRIED = ("train_qwen3_8b.sh",)


def test_there_are_launchers_of_the_paper_s_runs_alone() -> None:
    assert {file.name for file in (ROOT / "scripts").glob("train_*.sh")} == LAUNCHERS.keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    "launcher",
    [pytest.param(name, marks=() if name in FIRST_TRIED else pytest.mark.long) for name in LAUNCHERS],
)
def test_launchers_say_what_they_would_run(launcher: str, tmp_path: Path) -> None:
    """On a model folder here, so that none is looked for on the network; the data is missing."""
    algorithm, model_name = LAUNCHERS[launcher]
    shape = PUBLISHED[f"Qwen/Qwen3-{model_name.split('_')[1].upper()}"]
    config = Qwen3Config(**asdict(shape), max_position_embeddings=40960, architectures=["Qwen3ForCausalLM"])
    config.save_pretrained(tmp_path / "model")
    model = f"actor_rollout_ref.model.path={tmp_path / 'model'}"
    done = subprocess.run(
        ["bash", ROOT / "scripts" / launcher, "--dry-run", model],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    remarks = done.stdout
    assert f"run: {model_name}-{algorithm}, " in remarks
    assert (
        "data.val_files=data/math500/test.parquet: missing: `pacs data prepare math500 --out data/math500`" in remarks
    )
    command = f"pacs data prepare deepscaler --out data/deepscaler --model {tmp_path / 'model'}"
    assert f"data.train_files=data/deepscaler/train.parquet: missing: `{command}`" in remarks
    assert f"plan: {algorithm}" in remarks
    assert "plan: the fullest phase is the generation: " in remarks
    assert "the config is sound, but on this machine the run would stop" in done.stderr
    assert "trainer.n_gpus_per_node=8, but this machine has" in done.stderr


def test_a_launcher_refuses_the_environment_of_another_checkout(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    done = subprocess.run(
        ["bash", "scripts/train_qwen3_8b.sh", "--dry-run"],
        cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert f"has the pacs of {ROOT}, not of {tmp_path}:" in done.stderr


def test_a_launcher_knows_its_checkout_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "linked").symlink_to(ROOT)
    done = subprocess.run(
        ["bash", "-c", "source scripts/lib/env.sh && pacs_activate"],
        cwd=tmp_path / "linked", env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def environment() -> dict[str, str]:
    """With `pacs` on the path, as after activating this Python's environment."""
    import os

    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def test_the_command_that_prepares_data_can_be_given() -> None:
    config = composed("pacs", "recipe=qwen3_8b", "data.max_prompt_length=512")
    commands = [how_to_prepare(config, Path(config.data[key])) for key in ("train_files", "val_files")]
    _, first, after = commands[0].split("`")
    assert first.endswith("--model Qwen/Qwen3-8B --max-prompt-length 512")
    assert "evaluation sets" in after
    for command in (first, commands[1].strip("`")):
        cli.parse(*cli.find(shlex.split(command)[1:]))


def test_a_recipe_s_own_settings_of_the_algorithm_count(tmp_path: Path) -> None:
    (tmp_path / "recipe").mkdir()
    (tmp_path / "recipe" / "mine.yaml").write_text("# @package _global_\nmethod:\n  beta: 0.25\n")
    searched = f"hydra.searchpath=[file://{verl_configs()},file://{tmp_path}]"
    assert composed("pacs", "recipe=mine", searched).method.beta == 0.25
    assert composed("pacs", "recipe=mine", searched, "method.beta=2").method.beta == 2
