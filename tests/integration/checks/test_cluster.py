"""Whether the nodes of a Ray cluster have what a run needs, by what Ray says of them."""

from typing import Any

import pytest
from verl.single_controller.ray import ResourcePoolManager

from pacs.composing import compose_run
from pacs.integration.checks.cluster import resource_problems
from pacs.integration.checks.slots import CPUS_OF_A_RANK


def node(host: str, **resources: float) -> dict[str, Any]:
    return {"NodeManagerHostname": host, "Resources": resources}


HEAD = node("head", CPU=16)


@pytest.mark.parametrize(
    ("living", "said"),
    [
        ([HEAD, node("a", GPU=8, CPU=24), node("b", GPU=8, CPU=96)], []),
        (
            [HEAD, node("a", GPU=8, CPU=16), node("b", GPU=8, CPU=96)],
            ["24 a node", "(CPUs of each node: a: 16, b: 96)"],
        ),
        ([HEAD, node("a", GPU=8, CPU=16), node("b", GPU=8, CPU=96), node("c", GPU=8, CPU=96)], []),
        (
            [HEAD, node("a", GPU=4, CPU=96), node("b", GPU=8, CPU=96)],
            ["has 3 nodes (GPUs of each: a: 4, b: 8, head: 0)"],
        ),
        ([HEAD, node("b", GPU=8, CPU=96)], ["has 2 nodes (GPUs of each: b: 8, head: 0)"]),
    ],
)
def test_nodes_are_refused_that_a_run_would_wait_for_ever_on(living: list[dict[str, Any]], said: list[str]) -> None:
    config, _ = compose_run("pacs", ["recipe=qwen3_8b", "trainer.nnodes=2"])
    problems = list(resource_problems(config, living))
    assert len(problems) == bool(said)
    assert all(words in problems[0] for words in said)


def test_verl_sets_so_many_cpus_apart() -> None:
    assert ResourcePoolManager({}, {}).max_colocate_count == CPUS_OF_A_RANK
