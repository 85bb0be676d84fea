"""`pacs plan`: sound composition, sums, mends that mend, wrong input."""

import dataclasses
import importlib.util
import json
import sys
from pathlib import Path

import hydra
import pytest
import torch
from omegaconf import DictConfig, OmegaConf

from pacs import cli
from pacs.base.paths import config_dir
from pacs.composing import compose_run
from pacs.planning.architecture import PUBLISHED
from pacs.planning.devices import GPUS
from pacs.planning.generation import generation
from pacs.planning.memory import Phase, cache_bytes, cache_tokens
from pacs.planning.plan import Plan, make_plan
from pacs.planning.plan_text import full, heading, outline, training_line
from pacs.planning.timing import pass_flops, seconds, step_seconds
from pacs.planning.weight_sync import sync_bytes
from pacs.verl_keys import names
from pacs.verl_keys.names import CPU_CACHE
from pacs.verl_keys.workload import COMPILED_KERNELS
from tests.planning.test_architecture import SMALL, qwen3

ACTOR = "actor_rollout_ref.actor"


@pytest.fixture(scope="module")
def config() -> DictConfig:
    return compose_run("pacs", ["recipe=qwen3_8b"])[0]


def changed(config: DictConfig, *overrides: str) -> DictConfig:
    merged = OmegaConf.merge(config, OmegaConf.from_dotlist(list(overrides)))
    assert isinstance(merged, DictConfig)
    return merged


def plan(config: DictConfig, *overrides: str, hardware: str = "h200x8") -> Plan:
    return make_plan(changed(config, *overrides), hardware=hardware)


def phase(plan: Plan, name: str) -> Phase:
    return next(phase for phase in plan.phases if phase.name == name)


def test_the_state_is_sixteen_bytes_a_parameter_over_the_ranks(config: DictConfig) -> None:
    """float32 weights and gradients, two moments: 4 + 4 + 8."""
    for nodes in (1, 2):
        parts = phase(plan(config, f"trainer.nnodes={nodes}"), "update").parts
        state = parts["weights"] + parts["gradient"] + parts["Adam"]
        assert state == pytest.approx(16 * PUBLISHED["Qwen/Qwen3-8B"].parameters / (8 * nodes))


def test_engines_on_gpus_of_their_own_leave_room_and_work_during_the_update(config: DictConfig) -> None:
    apart = ("actor_rollout_ref.rollout.nnodes=1", "actor_rollout_ref.rollout.n_gpus_per_node=4")
    together, waits = plan(config), plan(config, *apart)
    assert "vLLM" not in phase(waits, "update").parts
    assert phase(waits, "update").total < phase(together, "update").total
    assert phase(waits, "generation").parts.keys() == {"vLLM", "CUDA, NCCL"}
    assert waits.seconds["generation"] > 1.5 * together.seconds["generation"]  # half of the engines
    assert waits.step_seconds == pytest.approx(sum(waits.seconds.values()))
    times = {"generation": 7.0, "policy pass": 2.0, "update": 6.0, "weight sync": 1.0}
    assert step_seconds(dataclasses.replace(waits.work, ahead=9), times) == 8 + 1
    assert step_seconds(dataclasses.replace(together.work, ahead=9), times) == 16
    assert heading(waits.work).splitlines()[0].endswith("8 x H200, and 4 for vLLM alone")


def test_the_engine_takes_its_share_and_no_more(config: DictConfig) -> None:
    made = plan(config)
    share = config.actor_rollout_ref.rollout.gpu_memory_utilization * GPUS["h200"].memory_bytes
    assert phase(made, "generation").parts["vLLM"] == pytest.approx(share)
    assert 0 < cache_bytes(made.work) < share


def test_activations_grow_with_the_budget_alone(config: DictConfig) -> None:
    small, large = (plan(config, f"{ACTOR}.ppo_max_token_len_per_gpu={n}") for n in (16384, 32768))
    kept = [phase(made, "update").parts["activations kept"] for made in (small, large)]
    assert kept == [16384 * 36 * 4096 * 2, 32768 * 36 * 4096 * 2]
    assert phase(small, "generation").total == phase(large, "generation").total


def test_a_second_stage_makes_more_rows_and_larger_groups(config: DictConfig) -> None:
    """Of 8 to 32 responses to a prompt 14 are assumed, and a group of 32 has to fit."""
    uniform, dars = plan(config), plan(config, "run.rollouts.dars.schedule=equal")
    assert (uniform.work.rows, dars.work.rows) == (1024 * 8, 1024 * 14)
    assert (uniform.work.strategy, dars.work.strategy) == ("grouped", "cached")
    assert dars.seconds["generation"] > uniform.seconds["generation"]
    assert "14,336 responses (14 to a prompt in the mean, assumed) of up to" in heading(dars.work)
    assert "8,192 responses of up to" in heading(uniform.work)


def test_groups_that_are_filtered_are_sampled_and_not_trained_on(config: DictConfig) -> None:
    plain, filtered = plan(config), plan(config, "algorithm.filter_groups.enable=true")
    assert plain.work.rows == filtered.work.rows == len(filtered.work.lengths.responses)
    assert len(filtered.work.sampled.responses) == 2 * 8192
    assert filtered.seconds["generation"] > 1.5 * plain.seconds["generation"]
    others = [{name: time for name, time in of.seconds.items() if name != "generation"} for of in (plain, filtered)]
    assert others[0] == others[1]
    assert "8,192 responses (of 16,384 that are sampled, assumed) of up to" in heading(filtered.work)


def test_completions_that_value_steps_take_time_and_are_not_trained_on(config: DictConfig) -> None:
    plain, valued = plan(config), plan(config, "run.rollouts.vine.completions=2", "run.rollouts.vine.most_steps=3")
    assert plain.work.rows == valued.work.rows == len(valued.work.lengths.responses)
    # Two of three steps have a response's own completions, of half its length.
    assert len(valued.work.sampled.responses) == 8192 * (1 + 2 * 2)
    halves = int(valued.work.lengths.responses.sum()) * 3
    assert int(valued.work.sampled.responses.sum()) == pytest.approx(halves, rel=1e-3)
    assert valued.seconds["generation"] > 1.5 * plain.seconds["generation"]
    others = [{name: time for name, time in of.seconds.items() if name != "generation"} for of in (plain, valued)]
    assert others[0] == others[1]
    assert "8,192 responses (and 32,768 completions of their steps, assumed) of up to" in heading(valued.work)


def test_a_teacher_has_a_pass_by_its_own_size() -> None:
    """In place of a reference model."""
    config = compose_run("distillation", ["recipe=qwen3_8b", "method.teacher=Qwen/Qwen3-8B"])[0]
    larger, smaller = plan(config), plan(config, "method.teacher=Qwen/Qwen3-4B")
    assert larger.work.reference == smaller.work.reference == "model"
    assert larger.seconds["reference pass"] > 1.6 * smaller.seconds["reference pass"]
    assert phase(larger, "reference pass").total > phase(smaller, "reference pass").total
    for name in ("policy pass", "update", "generation"):
        assert larger.seconds[name] == smaller.seconds[name]
        assert phase(larger, name).total == phase(smaller, name).total


def test_the_strategy_decides_whether_there_is_a_policy_pass(config: DictConfig) -> None:
    cached = plan(config, f"{ACTOR}.ppo_max_token_len_per_gpu=73727")
    grouped = plan(config)
    assert "policy pass" in cached.seconds
    assert "policy pass" not in grouped.seconds
    assert cached.work.strategy == "cached"
    assert grouped.work.strategy == "grouped"
    again = plan(config, f"{ACTOR}.ppo_max_token_len_per_gpu=73727", f"{ACTOR}.ppo_epochs=2")
    assert again.seconds["policy pass"] == 2 * cached.seconds["policy pass"]
    adam = f"{ACTOR}.fsdp_config.optimizer_offload=true"  # it is brought for the update, of which this pass is a part
    assert "Adam" in phase(plan(config, f"{ACTOR}.ppo_max_token_len_per_gpu=73727", adam), "policy pass").parts


def test_a_token_weight_that_reads_the_entropy_takes_a_pass_more(config: DictConfig) -> None:
    cached, weighed = f"{ACTOR}.ppo_max_token_len_per_gpu=73727", "method.token_weight.name=entropy_top"
    assert plan(config, cached, weighed).seconds["policy pass"] == 2 * plan(config, cached).seconds["policy pass"]
    assert plan(config, weighed).seconds["policy pass"] > 0
    assert "policy pass" not in plan(config, "method.token_weight.name=probability").seconds


def test_the_optimizer_s_own_memory_counts_where_passes_need_less() -> None:
    """Of one GPU: weights, gradient, two moments, and the roots of one of them."""
    one, eight = (compose_run("pacs", ["recipe=qwen3_8b", f"hardware=h200x{gpus}"])[0] for gpus in (1, 8))
    small = phase(plan(one, f"{ACTOR}.ppo_max_token_len_per_gpu=16384", hardware="h200x1"), "update")
    roots = "roots of Adam's moments"
    held = [small.parts[name] for name in ("weights", "gradient", roots)]
    assert held == [4 * PUBLISHED["Qwen/Qwen3-8B"].parameters] * 3
    assert not small.fits
    assert roots not in phase(plan(eight), "update").parts


def test_adam_on_a_gpu_takes_the_roots_of_all_second_moments_at_once() -> None:
    """By torch itself, with the implementation that it takes there (foreach)."""
    weights = [torch.zeros(2**16, requires_grad=True) for _ in range(8)]
    held = 8 * 2**16 * 4
    peaks = {}
    for foreach in (True, False):
        optimizer = torch.optim.AdamW(weights, foreach=foreach)
        for weight in weights:
            weight.grad = torch.ones_like(weight)
        optimizer.step()
        with torch.profiler.profile(profile_memory=True) as profile:
            optimizer.step()
        events = sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns())
        level = peak = 0
        for event in events:
            if event.name() == "[memory]":
                level += event.nbytes()
                peak = max(peak, level)
        peaks[foreach] = peak / held
    assert peaks[True] == pytest.approx(1, abs=0.1)
    assert peaks[False] < 0.5


def test_ppo_and_grpo_have_their_own_models_and_passes(config: DictConfig) -> None:
    grpo_overrides = ["trainer.v1.trainer_mode=grpo", "algorithm.adv_estimator=grpo"]
    grpo = plan(config, *grpo_overrides)
    assert list(grpo.seconds)[:3] == ["generation", "policy pass", "update"]
    ppo = plan(
        config,
        "trainer.v1.trainer_mode=ppo",
        "algorithm.adv_estimator=gae",
        "critic.enable=true",
        "critic.strategy=fsdp2",
        "critic.model.path=Qwen/Qwen3-8B",
    )
    assert {"values pass", "critic update"} < set(ppo.seconds)
    shape = PUBLISHED["Qwen/Qwen3-8B"]
    parts = phase(ppo, "critic update").parts
    assert parts["critic's weights"] + parts["critic's Adam"] == pytest.approx(12 * shape.critic_parameters / 8)
    assert phase(ppo, "update").total - phase(grpo, "update").total == pytest.approx(12 * shape.critic_parameters / 8)


def test_vllm_must_hold_a_sequence_of_all_its_positions(config: DictConfig) -> None:
    """It refuses to start else, however short the task's sequences are."""
    assert phase(plan(config), "generation").obstacle is None
    more = phase(plan(config, "actor_rollout_ref.rollout.max_model_len=9000000"), "generation").obstacle
    assert more is not None
    assert more.endswith("a sequence may have 9,000,000")


def test_time_follows_work_and_machines(config: DictConfig) -> None:
    one, eight = plan(config).work, plan(config, "trainer.nnodes=8").work
    assert pass_flops(one, one.policy) == pass_flops(eight, eight.policy)
    assert seconds(eight)["update"] < seconds(one)["update"]
    # A response of 8,192 tokens alone takes its time, however many engines there are.
    alone = 8192 * (2 * one.architecture.parameters / (0.6 * 4.8e12) + 2e-3)
    assert alone < generation(dataclasses.replace(one, ranks=8192)).seconds < generation(one).seconds
    assert sync_bytes(one) == pytest.approx(4 * one.architecture.parameters * 7 / 8)


@pytest.mark.parametrize(
    ("overrides", "hardware", "named"),
    [
        ([f"{ACTOR}.ppo_max_token_len_per_gpu=400000"], "h200x8", f"{ACTOR}.ppo_max_token_len_per_gpu="),
        (["actor_rollout_ref.rollout.gpu_memory_utilization=0.95"], "h200x8", "gpu_memory_utilization=0."),
        (["actor_rollout_ref.rollout.gpu_memory_utilization=0.2"], "h100x8", "gpu_memory_utilization=0."),
        (["actor_rollout_ref.model.enable_gradient_checkpointing=false"], "h200x8", "checkpointing=true"),
        (["actor_rollout_ref.model.use_fused_kernels=false"], "h100x8", "use_fused_kernels=true"),
    ],
)
def test_a_named_setting_mends(config: DictConfig, overrides: list[str], hardware: str, named: str) -> None:
    made = plan(config, *overrides, hardware=hardware)
    assert not made.fits
    mends = [(name, mend) for name, found in made.mends.items() for mend in found]
    assert any(named in mend for _, mend in mends)
    for name, mend in mends:
        assert phase(plan(config, *overrides, *mend.split(), hardware=hardware), name).fits, mend


def test_what_is_faster_and_fits_is_named(config: DictConfig) -> None:
    """Recomputation is left out where there is memory; each setting saves what it says, and fits with room."""
    overrides = [f"{ACTOR}.ppo_max_token_len_per_gpu=9216"]
    overrides += [f"{ACTOR}.fsdp_config.{part}_offload=true" for part in ("param", "optimizer")]
    overrides += ["actor_rollout_ref.rollout.gpu_memory_utilization=0.6"]
    made = plan(config, *overrides)
    assert {key.split(".")[-1] for key in made.gains} == {
        "enable_gradient_checkpointing=false",
        "param_offload=false",
        "optimizer_offload=false",
    }
    for setting, saved in made.gains.items():
        faster = plan(config, *overrides, setting)
        assert made.step_seconds - faster.step_seconds == pytest.approx(saved)
        assert saved > 0
        assert phase(faster, "update").total <= 0.85 * phase(faster, "update").limit
    # A quarter of an update is the pass that calculates activations again.
    (again,) = (saved for setting, saved in made.gains.items() if "checkpointing" in setting)
    assert again == pytest.approx(made.seconds["update"] / 4, rel=0.25)
    # At the recipe's own budget there is no room.
    assert not any("checkpointing" in setting for setting in plan(config).gains)


def test_the_plan_says_what_of_training_is_on_and_why(config: DictConfig) -> None:
    made = plan(config)
    line = training_line(made)
    update = phase(made, "update").total / 2**30
    without = phase(plan(config, f"{names.GRADIENT_CHECKPOINTING}=false"), "update").total / 2**30
    assert f"gradient checkpointing on (the update takes {update:.1f} GiB; off, {without:.1f} GiB)" in line
    assert "offload off: weights (3.8 GiB) and Adam (7.6 GiB) stay there" in line
    assert f"small kernels not compiled: in bf16 it would change rounding ({names.EXTERNAL_LIBRARY}=" in line
    assert line in full(made)
    turned = training_line(plan(config, f"{names.GRADIENT_CHECKPOINTING}=false", f"{names.OPTIMIZER_OFFLOAD}=true"))
    assert f"gradient checkpointing off (the update takes {without:.1f} GiB; on, {update:.1f} GiB)" in turned
    assert "offload on: Adam (7.6 GiB) leave the GPU to vLLM; offload off: weights (3.8 GiB) stay there" in turned


@pytest.mark.parametrize("value", ["{0}", "[a.module,{0}]"])
def test_the_plan_says_that_small_kernels_are_compiled(config: DictConfig, value: str) -> None:
    """By the module that verl imports, which is there."""
    assert importlib.util.find_spec(COMPILED_KERNELS)
    made = plan(config, f"{names.EXTERNAL_LIBRARY}={value.format(COMPILED_KERNELS)}")
    assert made.work.policy.compiled
    assert "small kernels compiled: " in training_line(made)
    assert made.seconds == plan(config).seconds
    assert not plan(config, f"{names.EXTERNAL_LIBRARY}=a.module").work.policy.compiled


def test_the_critics_budget_is_the_one_that_verl_reads() -> None:
    ppo = compose_run("ppo", ["recipe=qwen3_8b"])[0]
    key = "critic.ppo_infer_max_token_len_per_gpu"
    (mend,) = plan(ppo, f"{key}=400000").mends["critic update"]
    assert mend.startswith(f"{key}=")
    assert plan(ppo, f"{key}=400000", *mend.split()).fits


def test_the_largest_budget_that_fits_is_named(config: DictConfig) -> None:
    overrides = [f"{ACTOR}.ppo_max_token_len_per_gpu=400000"]
    mend = next(mend for mend in plan(config, *overrides).mends["update"] if "ppo_max_token_len" in mend)
    budget = int(mend.split("=")[1])
    assert not phase(plan(config, f"{ACTOR}.ppo_max_token_len_per_gpu={budget + 1024}"), "update").fits


def test_the_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    assert cli.main(["plan", "recipe=qwen3_8b", "--json", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "8.19 B parameters, 8 x H200" in printed
    assert "It fits." in printed
    assert ("makes a step faster" in printed) == bool(json.loads(file.read_text())["gains"])
    written = json.loads(file.read_text())
    for part in written["phases"]:
        assert part["total"] == pytest.approx(sum(part["parts"].values()))
        assert f"{part['total'] / 2**30:.2f}" in printed


def test_what_does_not_fit_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    overrides = [f"{ACTOR}.ppo_max_token_len_per_gpu=400000"]
    assert cli.main(["plan", "recipe=qwen3_8b", *overrides]) == 1
    assert "update does not fit: " in capsys.readouterr().out


def test_a_cpu_run_is_planned_without_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # a checkout may have the recipe's data
    qwen3(SMALL).save_pretrained(tmp_path)
    arguments = ["recipe=arithmetic", f"actor_rollout_ref.model.path={tmp_path}"]
    assert cli.main(["plan", *arguments]) == 0
    printed = capsys.readouterr().out
    assert "Time is not estimated for a CPU." in printed
    work = make_plan(compose_run("pacs", arguments)[0], hardware="cpu").work
    assert cache_tokens(work) == 2**30 // SMALL.kv_bytes_per_token(4)
    # A cache of 10 KiB has no room for a sequence.
    assert cli.main(["plan", *arguments, f"{CPU_CACHE}=0.00001"]) == 1
    assert f"holds 6 tokens, and a sequence may have 40: {CPU_CACHE}=2\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("overrides", "said"),
    [
        (["recipe=qwen3_8b"], "the fullest phase is the generation: "),
        (["recipe=qwen3_8b", f"{ACTOR}.ppo_max_token_len_per_gpu=400000"], "update does not fit: "),
        (
            ["recipe=qwen3_8b", "actor_rollout_ref.model.path=nobody/nothing"],
            "plan: none: actor_rollout_ref.model.path",
        ),
    ],
)
def test_the_outline_for_a_dry_run(
    overrides: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Inside Hydra's application, as `pacs train` makes it."""
    monkeypatch.setattr(sys, "argv", ["pacs train", *overrides])
    hydra.main(config_path=str(config_dir()), config_name="pacs", version_base=None)(
        lambda config: print(outline(config))
    )()
    printed = capsys.readouterr().out
    assert said in printed
    assert all(line.startswith(("plan: ", "update does")) for line in printed.splitlines())


def test_a_reference_that_is_the_policy_that_sampled_has_no_model_and_no_pass_of_the_first_mini_batch() -> None:
    """The paper's PACS, whose reference is kept for 20 steps, beside the default; and GRPO without a KL term."""
    kept, sampled, grpo = (
        make_plan(compose_run(name, ["recipe=qwen3_8b"])[0], hardware="h200x8").work
        for name in ("pacs_paper", "pacs", "grpo")
    )
    assert (kept.reference, sampled.reference, grpo.reference) == ("model", "policy", None)
    whole, part = (seconds(work)["reference pass"] for work in (kept, sampled))
    assert part / whole == pytest.approx(1 - 1 / sampled.mini_batches)
    one = make_plan(
        compose_run("pacs", ["recipe=qwen3_8b", "actor_rollout_ref.actor.ppo_mini_batch_size=1024"])[0],
        hardware="h200x8",
    ).work
    assert one.reference is None
    assert "reference pass" not in seconds(one)
    # A further epoch reads the first mini-batch's reference again.
    again = make_plan(
        compose_run("pacs", ["recipe=qwen3_8b", "actor_rollout_ref.actor.ppo_epochs=2"])[0], hardware="h200x8"
    ).work
    assert seconds(again)["reference pass"] == pytest.approx(whole)
