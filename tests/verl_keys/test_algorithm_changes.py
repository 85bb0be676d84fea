import copy
import functools
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

from pacs.base.paths import config_dir
from pacs.base.settings import flatten
from pacs.verl_keys import algorithm_changes as config_changes
from pacs.verl_keys.algorithm_changes import COUNTS, DOES_NOT_COUNT, SWITCHES, algorithm_changes, counts, plain

RECIPES = ("arithmetic", "qwen3_8b")
OPTIM = "actor_rollout_ref__actor__optim__"


@functools.cache
def composed(*overrides: str) -> Any:
    """A config as `pacs train` composes it."""
    with initialize_config_dir(str(config_dir()), version_base=None):
        return compose("pacs", overrides=list(overrides))


@functools.cache
def _arithmetic() -> Any:
    return OmegaConf.to_container(composed("recipe=arithmetic"), resolve=True)


def config(**changes: Any) -> dict[str, Any]:
    """The resolved config of recipe=arithmetic with changes by key, with __ for the dot."""
    whole: dict[str, Any] = copy.deepcopy(_arithmetic())
    for key, value in changes.items():
        *sections, name = key.split("__")
        section = whole
        for part in sections:
            section = section.setdefault(part, {})
        section[name] = value
    return whole


@functools.cache
def all_leaves() -> dict[str, Any]:
    """Of all recipes, and of the algorithm that has a section of its own."""
    with initialize_config_dir(str(config_dir()), version_base=None):
        genac = flatten(plain(compose("genac", overrides=["recipe=arithmetic"])))
    return genac | {
        key: value for recipe in RECIPES for key, value in flatten(plain(composed(f"recipe={recipe}"))).items()
    }


def lies_in(key: str, section: str) -> bool:
    return key == section or key.startswith(f"{section}.")


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_key_is_decided(recipe):
    undecided = [
        key
        for key in flatten(plain(composed(f"recipe={recipe}")))
        if not any(lies_in(key, section) for section in (*COUNTS, *DOES_NOT_COUNT))
    ]
    assert undecided == []


def test_the_table_names_nothing_that_is_not_there():
    """A part may stand for several sections; one of them has it."""
    tables = COUNTS | DOES_NOT_COUNT
    assert [section for section in tables if not any(lies_in(key, section) for key in all_leaves())] == []
    sections: dict[tuple[str, ...], list[str]] = {}
    for section, parts in tables.items():
        sections.setdefault(parts, []).append(section)
    missing = [
        part
        for parts, owners in sections.items()
        for part in parts
        if not any(lies_in(key, f"{section}.{part}") for section in owners for key in all_leaves())
    ]
    assert missing == []
    assert [switch for switch in SWITCHES.values() if switch not in all_leaves()] == []
    assert [key for key in config_changes.LENGTH if key not in all_leaves()] == []


def keys(*sections: tuple[str, str]) -> list[str]:
    """Full keys, of sections and what is in each."""
    return [f"{section}.{name}".lstrip(".") for section, names in sections for name in names.split()]


ALGORITHM = keys(
    ("", """
        model_engine custom_reward_function.path reward_model.reward_manager distillation.enabled
        distillation.distillation_loss.loss_mode skip.rollout_tq.enable skip.rollout.action
    """),
    ("method", """
        beta estimator objective weight_scope normalize_by_length policy_gradient_term single_class_groups
    """),
    ("method.reference", """
        reset_every reset_at_saturation reset_at_log_ratio reset_optimizer warmup_steps
    """),
    ("algorithm", """
        adv_estimator gamma use_kl_in_reward kl_ctrl.kl_coef rollout_correction.rollout_is
        filter_groups.enable norm_adv_by_std_in_grpo
    """),
    ("data", """
        train_files train_max_samples train_batch_size gen_batch_size shuffle seed max_prompt_length
        max_response_length filter_overlong_prompts truncation prompt_key reward_fn_key tokenizer
        custom_cls.path tool_config_path
    """),
    ("actor_rollout_ref.model", """
        path tokenizer_path custom_chat_template lora_rank lora.rank external_lib trust_remote_code
    """),
    ("actor_rollout_ref.actor.optim", """
        lr betas clip_grad weight_decay lr_warmup_steps lr_scheduler_type optimizer
    """),
    ("actor_rollout_ref.actor", """
        ppo_mini_batch_size ppo_epochs shuffle data_loader_seed loss_agg_mode clip_ratio clip_ratio_low
        policy_loss.loss_mode use_kl_loss kl_loss_coef entropy_coeff
    """),
    ("actor_rollout_ref.actor.fsdp_config", """
        model_dtype dtype mixed_precision mixed_precision.reduce_dtype qat.enable
    """),
    ("actor_rollout_ref.ref", """
        fsdp_config.model_dtype
    """),
    ("actor_rollout_ref.rollout", """
        n temperature top_p top_k do_sample ignore_eos seed full_determinism dtype quantization name
        prompt_length response_length multi_turn.max_assistant_turns agent.default_agent_loop
        over_sample_rate
    """),
    ("critic", """
        enable optim.lr ppo_mini_batch_size cliprange_value fsdp.model_dtype model.path
        model.trust_remote_code
    """),
    ("reward", """
        custom_reward_function.path custom_reward_function.name reward_manager.name reward_model.enable
        reward_model.model_path sandbox_fusion.memory_limit_mb
    """),
    ("trainer", """
        v1.trainer_mode v1.sampler.max_off_policy_threshold critic_warmup use_v1 total_training_steps
        total_epochs
    """),
)  # fmt: skip

MEANS = keys(
    ("method", "metrics.entropy_every metrics.old_log_prob_every update.strategy"),
    ("run", """
        dir sample_groups
        faults.skipped_updates faults.no_progress_seconds faults.verifier_errors resume.accept_changes rollouts.seeded
    """),
    ("data", """
        val_files val_max_samples val_batch_size validation_shuffle dataloader_num_workers use_shm
        filter_overlong_prompts_workers
    """),
    ("actor_rollout_ref", """
        hybrid_engine nccl_timeout
    """),
    ("actor_rollout_ref.model", """
        override_config.attn_implementation enable_gradient_checkpointing use_fused_kernels
        fused_kernel_options.impl_backend use_remove_padding use_liger use_shm
    """),
    ("actor_rollout_ref.actor", """
        strategy use_dynamic_bsz use_torch_compile ppo_micro_batch_size_per_gpu ppo_max_token_len_per_gpu
        rollout_n grad_clip calculate_entropy ulysses_sequence_parallel_size checkpoint.save_contents
        profiler.tool_config.nsys.discrete
    """),
    ("actor_rollout_ref.actor.optim", """
        total_training_steps
    """),
    ("actor_rollout_ref.actor.fsdp_config", """
        fsdp_size param_offload optimizer_offload reshard_after_forward seed use_torch_compile
    """),
    ("actor_rollout_ref.ref", """
        log_prob_micro_batch_size_per_gpu fsdp_config.param_offload
    """),
    ("actor_rollout_ref.rollout", """
        gpu_memory_utilization tensor_model_parallel_size max_num_seqs max_num_batched_tokens enforce_eager
        max_model_len
        enable_prefix_caching calculate_log_probs val_kwargs.temperature agent.num_workers
        trace.experiment_name checkpoint_engine.update_weights_bucket_megabytes prometheus.served_model_name
        n_gpus_per_node
    """),
    ("critic", """
        ppo_micro_batch_size_per_gpu fsdp.param_offload model.use_shm profiler.tool
    """),
    ("reward", """
        num_workers reward_model.n_gpus_per_node reward_model.rollout.gpu_memory_utilization
    """),
    ("", """
        reward_model.num_workers sandbox_fusion.max_concurrent distillation.nnodes
        transfer_queue.backend.SimpleStorage.num_data_storage_units global_profiler.steps
        ray_kwargs.ray_init.num_cpus ray_kwargs.ray_init.runtime_env.env_vars.OMP_NUM_THREADS
    """),
    ("trainer", """
        n_gpus_per_node nnodes device balance_batch logger project_name experiment_name save_freq test_freq
        val_before_train default_local_dir max_actor_ckpt_to_keep resume_mode resume_from_path
        rollout_data_dir v1.separate_async.hybrid_rollout.enable_switch
    """),
)  # fmt: skip


def test_what_is_the_algorithm():
    assert [key for key in ALGORITHM if not counts(key)] == []


def test_what_is_not_the_algorithm():
    assert [key for key in MEANS if counts(key)] == []


def test_the_pinned_keys_are_the_configs_own():
    leaves = [*all_leaves(), "actor_rollout_ref.actor.fsdp_config.mixed_precision"]
    assert [key for key in (*ALGORITHM, *MEANS) if key not in leaves] == []


@pytest.mark.parametrize(
    "key", ["method.temperature_of_labels", "method.update.order", "run.rollouts.dropped", "of_another_version.key"]
)
def test_a_key_that_is_new_counts(key):
    assert counts(key)
    change = {key.replace(".", "__"): 3}
    assert algorithm_changes(config(), config(**change)) == [f"{key}: not set in the checkpoint, 3 now"]
    assert algorithm_changes(config(**change), config()) == [f"{key}: 3 in the checkpoint, not set now"]


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_same_run_has_not_changed_however_it_was_stored(recipe, tmp_path):
    now = composed(f"recipe={recipe}")
    (tmp_path / "config.yaml").write_text(OmegaConf.to_yaml(now, resolve=True))
    stored = OmegaConf.load(tmp_path / "config.yaml")
    assert algorithm_changes(stored, now) == []
    assert algorithm_changes(OmegaConf.to_container(stored), stored) == []


def test_changes_are_sentences():
    changes = {"method__estimator": "none", "method__reference__reset_every": None, OPTIM + "lr": 1e-6}
    assert algorithm_changes(config(), config(**changes)) == [
        "actor_rollout_ref.actor.optim.lr: 0.0001 in the checkpoint, 1e-06 now",
        "method.reference.reset_every: 1 in the checkpoint, null now",
        "method.estimator: rloo in the checkpoint, none now",
    ]


def test_what_does_not_count_may_change():
    overrides = (
        "trainer.n_gpus_per_node=8",
        "trainer.nnodes=4",
        "trainer.save_freq=1",
        "trainer.experiment_name=other",  # and with it the run's folder and what is in it
        "trainer.resume_mode=resume_path",
        "method.update.strategy=cached",
        "method.metrics.entropy_every=null",
        "run.resume.accept_changes=true",
        "data.val_files=[other.parquet]",
        "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=4096",
        "actor_rollout_ref.rollout.tensor_model_parallel_size=2",
    )
    before, now = composed("recipe=arithmetic"), composed("recipe=arithmetic", *overrides)
    assert now.run.dir != before.run.dir
    assert algorithm_changes(before, now) == []


def test_a_cpu_run_differs_from_a_gpu_run_by_its_precision_alone():
    """Of what hardware= sets: the rest is kernels, memory and ranks."""
    changes = algorithm_changes(composed("recipe=arithmetic"), composed("recipe=arithmetic", "hardware=h200x8"))
    assert {change.split(":")[0].rpartition(".")[2] for change in changes} == {
        "param_dtype",
        "reduce_dtype",
        "buffer_dtype",
        "dtype",
    }


def test_null_and_not_there_are_the_same():
    assert algorithm_changes(config(), config(run__new=None)) == []
    assert algorithm_changes({"data": {"a": None, "b": {}}}, {"data": {}}) == []


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (1e-6, 0.000001), ([1, 2], [1.0, 2])])
def test_numbers_are_compared_as_numbers(one, other):
    assert algorithm_changes({"pacs": {"beta": one}}, {"pacs": {"beta": other}}) == []


def test_a_section_where_a_value_was_and_the_reverse():
    assert algorithm_changes({"pacs": {"a": 1}}, {"pacs": {"a": {"b": 2}}}) == [
        "pacs.a.b: not set in the checkpoint, 2 now",
        "pacs.a: 1 in the checkpoint, not set now",
    ]


CRITIC = {"critic__optim__lr": 1.0, "critic__ppo_epochs": 7}


def test_the_critic_counts_where_there_is_one():
    assert algorithm_changes(config(), config(**CRITIC)) == []
    one = {"critic__enable": True}
    assert len(algorithm_changes(config(**one), config(**one, **CRITIC))) == 2
    assert len(algorithm_changes(config(), config(**one, **CRITIC))) == 3
    assert len(algorithm_changes(config(**one, **CRITIC), config())) == 3
    # null: as verl has it, with GAE.
    unset = {"critic__enable": None}
    assert algorithm_changes(config(**unset), config(**unset, **CRITIC)) == []
    gae = unset | {"algorithm__adv_estimator": "gae"}
    assert len(algorithm_changes(config(**gae), config(**gae, **CRITIC))) == 2


@pytest.mark.parametrize(
    ("switch", "change"),
    [
        ("distillation__enabled", "distillation__distillation_loss__topk"),
        ("reward__reward_model__enable", "reward__reward_model__model_path"),
        ("algorithm__filter_groups__enable", "algorithm__filter_groups__max_num_gen_batches"),
    ],
)
def test_what_is_switched_off_does_not_count(switch, change):
    assert algorithm_changes(config(), config(**{change: 77})) == []
    (sentence,) = algorithm_changes(config(**{switch: True}), config(**{switch: True, change: 77}))
    assert sentence.startswith(change.replace("__", "."))


LONGER = {"trainer__total_training_steps": 40, "trainer__total_epochs": 7}


@pytest.mark.parametrize(
    "settings",
    [{}, {OPTIM + "lr_warmup_steps": 5}, {OPTIM + "lr_warmup_steps": 5, OPTIM + "lr_warmup_steps_ratio": 0.1}],
)
def test_a_run_may_be_made_longer_where_the_learning_rate_is_constant(settings):
    assert algorithm_changes(config(**settings), config(**settings, **LONGER)) == []


@pytest.mark.parametrize(
    "settings",
    [
        {OPTIM + "lr_scheduler_type": "cosine"},
        {OPTIM + "warmup_style": "cosine"},
        {OPTIM + "lr_warmup_steps_ratio": 0.1},
        {"critic__enable": True, "critic__optim__lr_scheduler_type": "cosine"},
    ],
)
def test_the_length_counts_where_the_learning_rate_follows_it(settings):
    assert algorithm_changes(config(**settings), config(**settings, **LONGER)) == [
        "trainer.total_training_steps: 20 in the checkpoint, 40 now"
    ]
    by_epochs = settings | {"trainer__total_training_steps": None}
    assert algorithm_changes(config(**by_epochs), config(**by_epochs, trainer__total_epochs=7)) == [
        "trainer.total_epochs: 1000 in the checkpoint, 7 now"
    ]


def test_a_path_may_be_written_otherwise(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.parquet").touch()
    (tmp_path / "data" / "other.parquet").touch()
    (tmp_path / "link").symlink_to("data")

    def changes(before: object, now: object) -> int:
        return len(algorithm_changes(config(data__train_files=before), config(data__train_files=now)))

    absolute = str(tmp_path / "data" / "train.parquet")
    for written in ("data/train.parquet", "./data/../data/train.parquet", "~/data/train.parquet", "link/train.parquet"):
        assert changes(absolute, written) == changes(written, absolute) == 0
        assert changes([absolute, "data/other.parquet"], [written, "link/other.parquet"]) == 0
    assert changes(absolute, "data/other.parquet") == 1
    assert changes([absolute], [absolute, absolute]) == 1
    assert changes(["data/train.parquet", "data/other.parquet"], ["data/other.parquet", "data/train.parquet"]) == 1


def test_text_that_is_no_path_is_compared_as_it_is():
    template = "actor_rollout_ref__model__custom_chat_template"
    long = "{{ messages }}" * 1000
    assert algorithm_changes(config(**{template: long}), config(**{template: long})) == []
    assert len(algorithm_changes(config(**{template: long}), config(**{template: long + "\n"}))) == 1
    assert len(algorithm_changes(config(**{template: "~nobody_here/x"}), config(**{template: "~/x"}))) == 1


def test_paths_of_the_recipes_are_the_same_from_the_checkout(monkeypatch):
    monkeypatch.chdir(Path(config_dir()).parent)
    absolute = str(Path("outputs/arithmetic/model").absolute())
    assert algorithm_changes(config(), config(actor_rollout_ref__model__path=absolute)) == []


def test_settings_of_a_token_weight_count_where_it_is_chosen() -> None:
    """Else a run by a version without it could not go on."""
    before = {"method": {"token_weight": {"name": None}}}
    now = {"method": {"token_weight": {"name": None, "steer": {"least": 0.8}, "era": {"stride": 4}}}}
    assert algorithm_changes(before, now) == []
    now["method"]["token_weight"]["name"] = "steer"
    assert [change.split(":")[0] for change in algorithm_changes(before, now)] == [
        "method.token_weight.name",
        "method.token_weight.steer.least",
    ]


def test_a_run_by_a_version_before_did_what_stands_for_it() -> None:
    now = {"run": {"balance_rewards": False, "turns": {"graded": "last"}, "rlpr": {"mask_answer": True}}}
    assert algorithm_changes({"run": {}}, now) == []
    now["run"]["balance_rewards"] = True
    assert algorithm_changes({"run": {}}, now) == ["run.balance_rewards: false in the checkpoint, true now"]


@pytest.mark.parametrize("engine", ["actor_rollout_ref.rollout", "genac.critic.rollout"])
def test_a_run_of_before_goes_on_without_a_key_that_had_no_effect(engine: str) -> None:
    before = OmegaConf.create()
    OmegaConf.update(before, f"{engine}.engine_kwargs.vllm.stream_interval", 1_000_000, force_add=True)
    assert algorithm_changes(before, {}) == []
