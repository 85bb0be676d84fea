"""Batches on several nodes, under sequence parallelism and with several responses a prompt: what divides, tried out."""

from itertools import product

import pytest
from omegaconf import DictConfig, OmegaConf

from pacs.integration.checks.batch import batch_problems, rollout_problems

CONFIG = """
trainer: {device: cuda, nnodes: 1, n_gpus_per_node: 4}
data: {train_batch_size: 24, max_prompt_length: 100, max_response_length: 200, gen_batch_size: null}
actor_rollout_ref:
  actor:
    ppo_mini_batch_size: 24
    ppo_epochs: 1
    ulysses_sequence_parallel_size: 1
    fsdp_config: {ulysses_sequence_parallel_size: 1}
    use_dynamic_bsz: false
    ppo_micro_batch_size_per_gpu: 1
    ppo_max_token_len_per_gpu: 300
  rollout:
    n: 3
    log_prob_use_dynamic_bsz: ${..actor.use_dynamic_bsz}
    log_prob_micro_batch_size_per_gpu: 1
    log_prob_max_token_len_per_gpu: 300
    nnodes: 0
    n_gpus_per_node: 1
    tensor_model_parallel_size: 1
    data_parallel_size: 1
    pipeline_model_parallel_size: 1
    gpu_memory_utilization: 0.5
    max_model_len: null
    max_num_batched_tokens: 1000
    max_num_seqs: 100
    enable_chunked_prefill: true
    prompt_length: 100
    response_length: 200
  ref:
    log_prob_use_dynamic_bsz: ${..actor.use_dynamic_bsz}
    log_prob_micro_batch_size_per_gpu: 1
    log_prob_max_token_len_per_gpu: 300
"""
ACTOR, ROLLOUT = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"


def config_of(**changes: object) -> DictConfig:
    config = OmegaConf.create(CONFIG)
    for key, value in changes.items():
        OmegaConf.update(config, key, value)
    assert isinstance(config, DictConfig)
    return config


def keys_named(config: DictConfig) -> set[str]:
    """The first setting that each problem names."""
    return {problem.split("=")[0].split()[0] for problem in batch_problems(config)}


@pytest.mark.parametrize("n", [1, 2, 6])
@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("shared", [1, 2])
def test_a_mini_batch_is_dealt_out_to_the_ranks_of_all_nodes(nodes: int, shared: int, n: int) -> None:
    """Four GPUs a node, of which so many share a sequence; rows are dealt out one by one."""
    hands = 4 * nodes // shared
    for prompts in (1, 2, 3, 4, 6, 8, 12, 24):
        config = config_of(
            **{"trainer.nnodes": nodes, f"{ACTOR}.ulysses_sequence_parallel_size": shared, f"{ROLLOUT}.n": n},
            **{f"{ACTOR}.ppo_mini_batch_size": prompts},
        )
        dealt = [0] * hands
        for row in range(prompts * n):
            dealt[row % hands] += 1
        assert (len(set(dealt)) == 1) == (keys_named(config) == set()), prompts


@pytest.mark.parametrize("shared", [1, 2, 3, 4])
def test_ranks_that_share_a_sequence_divide_those_of_all_nodes(shared: int) -> None:
    for nodes in (1, 2, 3):
        config = config_of(**{"trainer.nnodes": nodes, f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size": shared})
        named = f"{ACTOR}.ulysses_sequence_parallel_size" in keys_named(config)
        assert named == (4 * nodes % shared != 0)


@pytest.mark.parametrize("part", ["actor.ppo", "rollout.log_prob", "ref.log_prob"])
def test_a_budget_holds_the_longest_row_of_the_ranks_that_share_it(part: str) -> None:
    """300 tokens of prompt and response; of short ones the 128 of verl's padding."""
    key = f"actor_rollout_ref.{part}_max_token_len_per_gpu"
    for shared, longest, budget in product(
        (1, 2, 4), (300, 128), (31, 32, 63, 64, 74, 75, 127, 128, 149, 150, 299, 300)
    ):
        config = config_of(
            **{f"{ACTOR}.use_dynamic_bsz": True, f"{ACTOR}.ulysses_sequence_parallel_size": shared, key: budget},
            **({} if longest == 300 else {"data.max_prompt_length": 10, "data.max_response_length": 20}),
        )
        assert (key in keys_named(config)) == (shared * budget < longest)


@pytest.mark.parametrize("packed", [True, False])
def test_padded_sequences_are_not_shared(packed: bool) -> None:
    """As verl's engine says in a worker that has started."""
    for shared in (1, 2):
        of_both = {f"actor_rollout_ref.{part}.use_remove_padding": packed for part in ("actor", "model")}
        config = config_of(**of_both, **{f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size": shared})
        said = list(batch_problems(config))
        assert any("packed sequences alone" in each for each in said) == (shared > 1 and not packed)


@pytest.mark.parametrize("name", ["use_remove_padding", "use_fused_kernels"])
def test_the_model_s_switch_is_the_one_that_is_read(name: str) -> None:
    """verl's worker takes it over from the model's section whatever the actor's says."""
    for actors, models in product((True, False), repeat=2):
        config = config_of(**{f"{ACTOR}.{name}": actors, f"actor_rollout_ref.model.{name}": models})
        assert (f"{ACTOR}.{name}" in keys_named(config)) == (actors != models)


@pytest.mark.parametrize("part", ["actor.ppo", "rollout.log_prob", "ref.log_prob"])
def test_micro_batches_divide_a_rank_s_part_of_a_mini_batch(part: str) -> None:
    """24 prompts of 3 responses on 2 nodes of 4 GPUs: 9 rows a rank, 18 where two share a sequence."""
    key = f"actor_rollout_ref.{part}_micro_batch_size_per_gpu"
    for shared, rows in ((1, 9), (2, 18)):
        for size in range(1, 20):
            config = config_of(**{"trainer.nnodes": 2, f"{ACTOR}.ulysses_sequence_parallel_size": shared, key: size})
            assert (key in keys_named(config)) == (rows % size != 0), (shared, size)


def test_an_engine_takes_all_kinds_of_parallelism_together() -> None:
    """Of 8 ranks on two nodes."""
    for tensor, data, pipeline in product((1, 2, 3, 4), repeat=3):
        config = config_of(
            **{"trainer.nnodes": 2, f"{ROLLOUT}.tensor_model_parallel_size": tensor},
            **{f"{ROLLOUT}.data_parallel_size": data, f"{ROLLOUT}.pipeline_model_parallel_size": pipeline},
        )
        assert bool(list(rollout_problems(config))) == (8 % (tensor * data * pipeline) != 0)


def test_engines_on_gpus_of_their_own_divide_the_training_ranks_too() -> None:
    """As verl's worker asserts while it builds."""
    apart = {f"{ROLLOUT}.nnodes": 1, f"{ROLLOUT}.n_gpus_per_node": 8}
    assert list(rollout_problems(config_of(**apart, **{f"{ROLLOUT}.tensor_model_parallel_size": 4}))) == []
    (problem,) = rollout_problems(config_of(**apart, **{f"{ROLLOUT}.tensor_model_parallel_size": 8}))
    assert f"{ROLLOUT}.tensor_model_parallel_size=8: engines of 8 GPUs cannot share 4 ranks" in problem
    assert "which verl asks also of engines on GPUs of their own: use a number that divides them." in problem
