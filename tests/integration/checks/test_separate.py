"""What engines on GPUs of their own cannot go with is refused, each by its setting and the mend."""

import pytest
from omegaconf import DictConfig, OmegaConf

from pacs.composing import compose_run
from pacs.integration.checks.separate import separate_problems, separate_warnings
from pacs.integration.launch.launcher import TRANSFERS, check

AHEAD, ROLLOUT, MODEL = "run.rollouts.partial.ahead", "actor_rollout_ref.rollout", "actor_rollout_ref.model"
NODES, GPUS = f"{ROLLOUT}.nnodes", f"{ROLLOUT}.n_gpus_per_node"


def composed(algorithm: str = "pacs", /, **changes: object) -> DictConfig:
    config, _ = compose_run(algorithm, ["recipe=arithmetic"])
    for key, value in changes.items():
        OmegaConf.update(config, key, value, force_add=True)
    return config


def problems(algorithm: str = "pacs", /, **changes: object) -> list[str]:
    return list(separate_problems(composed(algorithm, **{NODES: 1, **changes})))


@pytest.mark.parametrize("algorithm", ["pacs", "grpo", "ppo"])
def test_what_it_needs_is_there(algorithm: str) -> None:
    assert problems(algorithm) == []
    assert problems(algorithm, **{NODES: 2, GPUS: 4, f"{ROLLOUT}.tensor_model_parallel_size": 8}) == []
    assert problems(algorithm, **{NODES: 0, "run.rollouts.dars.schedule": "equal"}) == []
    judge = {"enable": True, "enable_resource_pool": True}
    assert problems(algorithm, **{"reward.reward_model": judge}) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({NODES: -1}, [f"{NODES}=-1: use a whole number", "has vLLM share the GPUs of the training"]),
        ({NODES: 1, GPUS: 0}, [f"{GPUS}=0: use a whole number"]),
        ({NODES: 0, GPUS: 3}, [f"{GPUS}=3 is not read without {NODES}", "set that to 1"]),
        ({GPUS: 3, f"{ROLLOUT}.tensor_model_parallel_size": 2}, ["engines of 2 GPUs do not fit 3 GPUs", "a multiple"]),
        ({NODES: 4, GPUS: 3, f"{ROLLOUT}.tensor_model_parallel_size": 4}, ["engines of 4 GPUs do not fit 12 GPUs"]),
        ({"run.rollouts.dars.schedule": "equal"}, [f"{NODES}=1", "run.rollouts.dars.schedule=equal is not tried"]),
        ({"algorithm.filter_groups.enable": True}, ["algorithm.filter_groups.enable=true is not tried"]),
        ({f"{MODEL}.lora_rank": 8}, [f"{MODEL}.lora_rank=8", "leave one of them out"]),
        (
            {"reward.reward_model": {"enable": True, "enable_resource_pool": False}},
            ["takes turns with vLLM", "set reward.reward_model.enable_resource_pool=true"],
        ),
    ],
)
def test_what_it_cannot_go_with_is_refused(changes: dict[str, object], said: list[str]) -> None:
    (problem,) = problems(**changes)
    assert [words for words in said if words not in problem] == []
    assert problem.endswith(".")


def test_a_critic_that_writes_text_is_refused() -> None:
    (problem,) = problems("genac")
    assert "a generative critic's engines share the GPUs" in problem


def test_a_run_in_which_nothing_overlaps_is_told_so() -> None:
    assert list(separate_warnings(composed())) == []
    (said,) = separate_warnings(composed(**{NODES: 1}))
    assert AHEAD in said
    assert list(separate_warnings(composed(**{NODES: 1, AHEAD: 1.0}))) == []


@pytest.mark.parametrize(("nodes", "device", "backend"), [(0, "cpu", "naive"), (1, "cpu", "gloo"), (1, "cuda", "nccl")])
def test_how_weights_are_sent_follows_from_the_device(nodes: int, device: str, backend: str) -> None:
    config = composed(**{NODES: nodes, "trainer.device": device})
    check(config)
    transfer = config.actor_rollout_ref.rollout.checkpoint_engine
    assert (transfer.backend, transfer.get("custom_backend_module")) == (backend, TRANSFERS if nodes else None)


def test_a_machine_without_gpus_has_logical_ones_for_both() -> None:
    for nodes, gpus in {0: 1, 1: 3}.items():
        config = compose_run("pacs", ["recipe=arithmetic", f"{NODES}={nodes}", *[f"{GPUS}=2"] * nodes])[0]
        assert config.ray_kwargs.ray_init.num_gpus == gpus
