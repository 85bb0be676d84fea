"""Plans at other than the usual settings: engines of several GPUs, several nodes, shared sequences, more epochs."""

import re
from dataclasses import replace
from math import ceil

import numpy as np
import pytest
from omegaconf import DictConfig, OmegaConf

from pacs.planning.architecture import PUBLISHED
from pacs.planning.calibration import beside, calibrated
from pacs.planning.devices import GPUS, find_device
from pacs.planning.fixes import find_mends
from pacs.planning.generation import generation
from pacs.planning.lengths import Lengths
from pacs.planning.measured import MEASURED
from pacs.planning.memory import cache_bytes, cache_tokens, full_sequences, phases
from pacs.planning.plan import make_plan
from pacs.planning.plan_text import run_hours, verdict
from pacs.planning.read_config import read_workload
from pacs.planning.timing import pass_flops, pass_seconds, saved_bytes, seconds, update_seconds
from pacs.planning.weight_sync import sync_bytes, weight_sync_seconds
from pacs.planning.workload import Workload

ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
PARAMETERS = PUBLISHED["Qwen/Qwen3-8B"].parameters
CRITIC = PUBLISHED["Qwen/Qwen3-8B"].critic_parameters
#: 16 responses to 4 prompts.
FEW = Lengths(np.array([40, 70, 100, 130]), np.arange(100, 1700, 100), "chosen")
#: Bytes a second, by the data sheets and what is assumed to be had of them.
NEIGHBOURS, NODES, HOST, DISK = 0.7 * 450e9, 0.7 * 50e9, 0.7 * 64e9, 2e9


#: What the plan reads of a run of GRPO on one node of eight GPUs, and of PPO's critic. No run is composed here: that
#: takes ten seconds, and `test_plan.py` does.
CONFIG = """
data: {max_prompt_length: 1024, max_response_length: 8192, train_batch_size: 1024}
trainer:
  {device: cuda, nnodes: 1, n_gpus_per_node: 8, total_training_steps: 300, save_freq: 10, v1: {trainer_mode: grpo}}
algorithm: {adv_estimator: grpo, use_kl_in_reward: false}
actor_rollout_ref:
  model: &model
    path: Qwen/Qwen3-8B
    enable_gradient_checkpointing: true
    use_fused_kernels: true
    use_remove_padding: true
    lora_rank: 0
    lora: {merge: false}
  actor:
    strategy: fsdp2
    use_kl_loss: false
    ppo_mini_batch_size: 256
    ppo_epochs: 1
    use_dynamic_bsz: true
    ppo_max_token_len_per_gpu: 73728
    ppo_micro_batch_size_per_gpu: null
    ulysses_sequence_parallel_size: 1
    fsdp_config: &fsdp
      model_dtype: fp32
      fsdp_size: -1
      param_offload: false
      optimizer_offload: false
      offload_policy: false
      ulysses_sequence_parallel_size: 1
  rollout:
    n: 8
    nnodes: 0
    n_gpus_per_node: 8
    tensor_model_parallel_size: 1
    gpu_memory_utilization: 0.6
    dtype: bfloat16
    max_num_seqs: 512
    max_num_batched_tokens: 16384
    enable_prefix_caching: true
    max_model_len: null
    free_cache_engine: true
    agent: {num_workers: 8}
    checkpoint_engine: {update_weights_bucket_megabytes: 2048}
    log_prob_use_dynamic_bsz: true
    log_prob_max_token_len_per_gpu: 73728
critic:
  enable: false
  strategy: fsdp2
  model: *model
  fsdp: *fsdp
  use_dynamic_bsz: true
  ppo_infer_max_token_len_per_gpu: 73728
"""
PPO = ["trainer.v1.trainer_mode=ppo", "algorithm.adv_estimator=gae", "critic.enable=true"]


def config_of(*overrides: str) -> DictConfig:
    merged = OmegaConf.merge(OmegaConf.create(CONFIG), OmegaConf.from_dotlist(list(overrides)))
    assert isinstance(merged, DictConfig)
    return merged


def step_of(*overrides: str) -> Workload:
    return read_workload(config_of(*overrides), GPUS["h200"])


def parts_of(work: Workload, name: str) -> dict[str, float]:
    return next(phase.parts for phase in phases(work) if phase.name == name)


def test_two_gpus_of_an_engine_share_its_work_and_its_cache() -> None:
    one, two = (step_of(f"{ROLLOUT}.tensor_model_parallel_size={size}") for size in (1, 2))
    # The memory of both, less the weights once, less what each has for itself: 2.5 GiB, and the trial step's tensors.
    engine = two.engine
    trial = 2 * engine.batched_tokens * (2 * 4096 + 3 * 12288 / 2) + 8 * engine.max_sequences * 151936
    free = 2 * (engine.memory_share * GPUS["h200"].memory_bytes - 2.5 * 2**30 - trial) - 2 * PARAMETERS
    assert cache_tokens(two) == pytest.approx(free / (2 * 36 * 1024 * 2), abs=2)
    assert full_sequences(two) == min(cache_tokens(two) // (1024 + 8192), engine.max_sequences)
    few = [generation(replace(work, lengths=FEW)) for work in (one, two)]
    assert [len(done.engines) for done in few] == [8, 4]
    assert [done.tokens for done in few] == [FEW.responses.sum()] * 2
    # Of the same rows: half of the reading, or of the operations, and half of the prompts'; the host is not shared.
    for fast in ({}, {"bytes_per_second": 1e18}, {"flops": 1e30}):
        alone, shared = (
            generation(replace(work, lengths=FEW, ranks=ranks, device=replace(work.device, **fast)))
            for work, ranks in ((one, 1), (two, 2))
        )
        host = 2e-3 * FEW.responses.max()
        assert shared.seconds - host == pytest.approx((alone.seconds - host) / 2)


#: It has 12 heads, two of keys and values, 28 layers, and 128 numbers a head.
TWO_HEADS = "actor_rollout_ref.model.path=deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B"


def test_each_gpu_of_an_engine_has_one_head_of_keys_and_values_at_least() -> None:
    """Of four GPUs each holds and reads as much of the cache as of two (vLLM's `ModelConfig.get_num_kv_heads`)."""
    four = step_of(TWO_HEADS, f"{ROLLOUT}.tensor_model_parallel_size=4")
    head = 2 * 28 * 128 * 2
    assert cache_tokens(four) == cache_bytes(four) // head
    fast = replace(four, lengths=FEW, ranks=4, device=replace(four.device, flops=1e30))
    before = [
        FEW.prompts[row // 4] + token for row, tokens in enumerate(FEW.responses.tolist()) for token in range(tokens)
    ]
    read = 1600 * 2 * four.architecture.parameters / 4 + float(np.sum(before)) * head
    assert generation(fast).seconds == pytest.approx(1600 * 2e-3 + read / (0.6 * 4.8e12))


def test_no_engine_is_named_whose_gpus_would_share_a_head() -> None:
    """Eight GPUs alone have room; 16 heads go into eight parts, and 12 do not."""
    away = [f"{ACTOR}.fsdp_config.{part}_offload=true" for part in ("param", "optimizer")]
    work = step_of(TWO_HEADS, *away)
    tight = replace(work, device=replace(work.device, memory_bytes=4.4e9 / 0.6))
    more = replace(tight, architecture=replace(tight.architecture, num_attention_heads=16))
    named = []
    for each in (tight, more):
        (phase,) = [phase for phase in phases(each) if phase.name == "generation"]
        named.append([mend for mend in find_mends(each, phase) if "tensor_model_parallel_size" in mend])
    assert named == [[], [f"{ROLLOUT}.tensor_model_parallel_size=8"]]


def test_an_engine_whose_gpus_would_share_a_head_is_an_obstacle() -> None:
    """vLLM refuses to start (`ModelConfig.verify_with_parallel_config`)."""
    made = make_plan(config_of(TWO_HEADS, f"{ROLLOUT}.tensor_model_parallel_size=8"), hardware="h200x8")
    assert not made.fits
    assert "generation does not fit: vLLM cannot share 12 heads among the 8 GPUs of an engine: " in verdict(made)
    assert made.mends["generation"] == [f"{ROLLOUT}.tensor_model_parallel_size=2"]


def test_what_a_plan_has_and_the_measured_step_had_not_changes_no_rate() -> None:
    """LoRA, partial rollouts, a critic that writes text, an engine that keeps its memory."""
    near = step_of("actor_rollout_ref.model.path=Qwen/Qwen3-0.6B")
    adapters = replace(near, policy=replace(near.policy, adapters=10**7))
    others = {
        "adapters": adapters,
        "ahead": replace(near, ahead=512, max_staleness=3),
        "judge": replace(near, judge=near, asked=near),
        "awake": replace(near, engine=replace(near.engine, frees_memory=False)),
    }
    for step in MEASURED:
        rates = seconds(beside(near, step))
        assert {name: seconds(beside(other, step)) for name, other in others.items()} == dict.fromkeys(others, rates)
    # Three passes in place of four: frozen weights have no gradient.
    assert calibrated(adapters)["update"] == pytest.approx(calibrated(near)["update"] * 3 / 4, rel=0.01)


def test_an_engine_of_two_gpus_needs_room_for_half_of_its_new_weights() -> None:
    one, two = (parts_of(step_of(f"{ROLLOUT}.tensor_model_parallel_size={size}"), "weight sync") for size in (1, 2))
    assert one["vLLM"] - two["vLLM"] == pytest.approx(2 * PARAMETERS / 2)


def test_what_goes_between_nodes_goes_at_the_speed_of_their_network() -> None:
    one, two = (step_of(f"trainer.nnodes={nodes}") for nodes in (1, 2))
    assert weight_sync_seconds(one)["gathering"] == pytest.approx(4 * PARAMETERS * 7 / 8 / NEIGHBOURS)
    assert weight_sync_seconds(two)["gathering"] == pytest.approx(4 * PARAMETERS * 15 / 16 / NODES)
    assert (two.ranks, two.policy.shards, len(generation(replace(two, lengths=FEW)).engines)) == (16, 16, 16)


def test_a_copy_on_every_node_is_shared_by_its_ranks_alone() -> None:
    """With `fsdp_size=8` each of two nodes has a whole model, also where there are more nodes."""
    work = step_of("trainer.nnodes=2", f"{ACTOR}.fsdp_config.fsdp_size=8")
    assert parts_of(work, "update")["weights"] == 4 * PARAMETERS / 8
    assert sync_bytes(work) == 4 * PARAMETERS * 7 / 8
    # An update that half of the state would fit: more nodes have more copies, and no smaller ones.
    few = replace(work.policy, micro_batch_tokens=1024, forward_tokens=1024)
    tight = replace(work, device=replace(work.device, memory_bytes=18 * 2**30), policy=few)
    (phase,) = [phase for phase in phases(tight) if phase.name == "update"]
    assert not phase.fits
    assert not [mend for mend in find_mends(tight, phase) if "nnodes" in mend]
    wide = step_of(f"{ACTOR}.fsdp_config.fsdp_size=64")
    assert wide.policy.shards == 8


def test_more_nodes_are_named_as_how_many_there_are_then() -> None:
    """Of two it takes 20.0 GiB, of four 16.2, of eight 14.3: less of a state that more ranks share."""
    work = step_of("trainer.nnodes=2", f"{ACTOR}.ppo_max_token_len_per_gpu=9216")
    small = replace(
        work,
        device=replace(work.device, memory_bytes=16.5 * 2**30),
        policy=replace(work.policy, micro_batch_tokens=1024, forward_tokens=1024),
    )
    (phase,) = [phase for phase in phases(small) if phase.name == "update"]
    assert [mend for mend in find_mends(small, phase) if "nnodes" in mend] == ["trainer.nnodes=4"]
    more = [step_of(f"trainer.nnodes={nodes}") for nodes in (2, 4)]
    there = [
        replace(small, nodes=each.nodes, ranks=each.ranks, policy=replace(small.policy, shards=each.ranks))
        for each in more
    ]
    assert [{phase.name: phase.fits for phase in phases(each)}["update"] for each in there] == [False, True]


def test_a_pass_multiplies_each_token_with_those_before_it() -> None:
    """Token by token, on two nodes; reading the weights of the others takes less."""
    work = replace(step_of("trainer.nnodes=2"), lengths=FEW, rows=16)
    shape = work.architecture
    rows = [FEW.prompts[row // 4] + FEW.responses[row] for row in range(16)]
    by_token = sum(shape.forward_flops_per_token(seen) for row in rows for seen in range(row))
    assert pass_flops(work, work.policy) == pytest.approx(by_token, rel=1e-3)
    fast = replace(work, device=replace(work.device, link_bytes_per_second=1e18), nodes=1)
    # Beside the products, 1,000 bytes for each of the 36 x 4096 numbers of each token.
    small = sum(rows) * 36 * 4096 * 1000 / (16 * 4.8e12)
    assert pass_seconds(fast, fast.policy) == pytest.approx(by_token / (16 * 989e12 * 0.45) + small, rel=1e-3)
    slow = replace(work, policy=replace(work.policy, forward_tokens=500))
    passes = ceil(sum(rows) / 16 / 500)
    assert passes > 1
    assert pass_seconds(slow, slow.policy) == pytest.approx(passes * 2 * PARAMETERS * 15 / 16 / NODES)
    from_host = replace(slow, device=replace(work.device, host_bytes_per_second=1e9))
    assert pass_seconds(from_host, slow.policy, from_host=True) == pytest.approx(passes * 4 * PARAMETERS / 16 / 0.7e9)


def test_an_update_passes_three_times_over_each_row_in_every_epoch() -> None:
    work = step_of(f"{ACTOR}.ppo_epochs=3")
    checkpointed = work.policy
    plain = replace(checkpointed, checkpointed=False)
    flops, small = pass_flops(work, plain), work.lengths.rows.sum() * 36 * 4096 * 1000 / (8 * 4.8e12)
    for model, passes in ((plain, 3), (checkpointed, 4)):
        assert model.checkpointed == (passes == 4)
        assert update_seconds(work, model) == pytest.approx(3 * passes * (flops / (8 * 989e12 * 0.40) + small))
    # State that is kept on the host comes and goes: weights, and two moments.
    for field, copies in (("weights_offloaded", 2), ("optimizer_offloaded", 4)):
        moved = update_seconds(work, replace(plain, **{field: True})) - update_seconds(work, plain)
        assert moved == pytest.approx(copies * 4 * PARAMETERS / 8 / HOST)


def test_an_update_s_traffic_is_that_of_its_micro_batches() -> None:
    """Weights of 2 bytes twice, gradients of 4 once, in each micro-batch of each mini-batch of each epoch."""
    work = step_of("trainer.nnodes=2", f"{ACTOR}.ppo_epochs=2", f"{ACTOR}.ppo_mini_batch_size=256")
    assert work.mini_batches == 4
    slow = replace(work, lengths=FEW, policy=replace(work.policy, micro_batch_tokens=100))
    tokens = int(np.repeat(FEW.prompts, 4).sum() + FEW.responses.sum())
    micro_batches = 2 * 4 * ceil(tokens / 16 / 4 / 100)
    wanted = micro_batches * (2 * 2 + 4) * PARAMETERS * 15 / 16 / NODES
    assert update_seconds(slow, slow.policy) == pytest.approx(wanted)


def test_a_mini_batch_that_is_not_full_is_one_more() -> None:
    assert step_of(f"{ACTOR}.ppo_mini_batch_size=300").mini_batches == 4


def test_a_save_counts_by_its_share_of_the_steps() -> None:
    """Weights and two moments, in float32, of all that is trained."""
    work = replace(step_of("trainer.save_freq=7"), lengths=FEW)
    assert seconds(work)["save"] == pytest.approx(12 * PARAMETERS / DISK / 7)
    assert "save" not in seconds(replace(step_of("trainer.save_freq=-1"), lengths=FEW))
    assert saved_bytes(step_of(*PPO)) == 12 * (PARAMETERS + CRITIC)


def test_every_copy_is_saved() -> None:
    """verl's ranks each write their own part, also where eight of 64 share a model: a checkpoint has eight of it."""
    work = step_of("trainer.nnodes=8", f"{ACTOR}.fsdp_config.fsdp_size=8")
    assert saved_bytes(work) == 8 * 12 * PARAMETERS
    assert saved_bytes(step_of("trainer.nnodes=8")) == 12 * PARAMETERS


def test_the_run_s_hours_are_those_of_its_steps() -> None:
    made = make_plan(config_of("trainer.total_training_steps=900", "trainer.nnodes=2"), hardware="h200x8")
    hours = run_hours(made)
    assert hours == pytest.approx(900 / 3600 * sum(made.seconds.values()))
    said = re.search(r"900 steps: about ([\d,]+) hours, ([\d,]+) GPU hours", verdict(made))
    assert said is not None
    assert [int(number.replace(",", "")) for number in said.groups()] == [round(hours), round(16 * hours)]


def test_ranks_that_share_a_sequence_have_a_part_of_it_each() -> None:
    """Four rows of 9,216 tokens on each four of eight ranks: a rank has a quarter of four rows."""
    shared = [f"{ACTOR}.ulysses_sequence_parallel_size=4", f"{ACTOR}.ppo_mini_batch_size=2", f"{ROLLOUT}.n=4"]
    work = step_of(*shared, f"{ACTOR}.ppo_max_token_len_per_gpu=100000")
    assert work.policy.micro_batch_tokens == 9216
    assert step_of(*shared, f"{ACTOR}.ppo_max_token_len_per_gpu=5000").policy.micro_batch_tokens == 5000
    fixed = step_of(*shared, f"{ACTOR}.use_dynamic_bsz=false", f"{ACTOR}.ppo_micro_batch_size_per_gpu=3")
    assert fixed.policy.micro_batch_tokens == 3 * 9216 // 4
    # A budget that is lowered still holds a rank's part of the longest row, 2,304 tokens, and no more is asked of it.
    for tokens, named in ((3072, [f"{ACTOR}.ppo_max_token_len_per_gpu=3072"]), (2048, [])):
        lowered = replace(work, policy=replace(work.policy, micro_batch_tokens=tokens))
        enough = next(phase.total for phase in phases(lowered) if phase.name == "update")
        tight = replace(work, device=replace(work.device, memory_bytes=enough))
        (phase,) = [phase for phase in phases(tight) if phase.name == "update"]
        assert not phase.fits
        assert [mend for mend in find_mends(tight, phase) if "ppo_max_token_len_per_gpu" in mend] == named


def test_a_step_of_the_critic_and_of_the_policy_each_has_its_own_state() -> None:
    """What is kept on the host is there in the phases that use it."""
    away = ["critic.fsdp.optimizer_offload=true", "critic.fsdp.param_offload=true"]
    work = step_of(*PPO, *away)
    state = 4 * CRITIC / 8
    assert {name: parts_of(work, name).get("critic's Adam") for name in ("critic update", "update", "values pass")} == {
        "critic update": 2 * state,
        "update": None,
        "values pass": None,
    }
    assert "critic's weights" not in parts_of(work, "update")
    assert parts_of(work, "values pass")["critic's weights"] == state
    assert parts_of(work, "save")["critic's weights"] == state
    assert seconds(replace(work, lengths=FEW))["values pass"] > 0


def test_a_cpu_s_memory_is_shared_by_the_ranks_of_a_machine() -> None:
    """0.7 GiB a process: nine of the run, and each rank's own."""
    config = config_of("trainer.device=cpu", "trainer.n_gpus_per_node=2")
    one, two = (find_device("cpu", "cpu", None, ranks).memory_bytes for ranks in (1, 2))
    assert two == one / 2
    work = read_workload(config, find_device("cpu", "cpu", None, 2))
    assert 2 * parts_of(work, "update")["processes"] == pytest.approx((9 + 2) * 0.7 * 2**30)
