"""A response's seed depends on all that names the response, and on nothing else."""

import asyncio
from itertools import product
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from omegaconf import DictConfig, OmegaConf
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopManagerTQ
from verl.utils import tensordict_utils as tu
from verl.workers.rollout.replica import TokenOutput
from vllm.sampling_params import SamplingParams, SamplingType
from vllm.v1.sample.logits_processor import LogitsProcessors
from vllm.v1.sample.metadata import SamplingMetadata
from vllm.v1.sample.sampler import Sampler

from pacs.base.moved_keys import with_new_keys
from pacs.composing import compose_run
from pacs.integration.exchange import REPEAT
from pacs.integration.patches.agent_loops import Manager
from pacs.integration.patches.lean_engines import Engines
from pacs.integration.patches.partial_rollouts import BROKEN_OFF, EnginesThatGoOn
from pacs.integration.patches.reference_answers import measurement
from pacs.integration.patches.seeded_rollouts import Seeds, response_seed, seed_of_rest

PROMPTS = [[{"role": "user", "content": "1+1"}], [{"role": "user", "content": "1+2"}]]


def test_every_response_has_a_seed_of_its_own() -> None:
    responses = list(product([0, 1], [1, 2], [False, True], PROMPTS, [0, 1, 2]))
    seeds = [response_seed(*response) for response in responses]
    assert len(set(seeds)) == len(responses)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert [response_seed(*response) for response in responses] == seeds


def test_a_prompt_that_a_step_comes_to_again_has_other_seeds_there() -> None:
    seeds = [response_seed(0, 1, False, PROMPTS[0], session, place) for place in (None, 0, 1) for session in (0, 1)]
    assert len(set(seeds)) == 6


def test_verls_numbers_are_those_of_python() -> None:
    """It hands numpy's on, and prompts as an array of messages."""
    messages = np.array(PROMPTS[0], dtype=object)
    as_verl = response_seed(7, np.int64(3), np.bool_(False), messages, np.int32(2))
    assert as_verl == response_seed(7, 3, False, PROMPTS[0], 2)


def test_a_class_of_ours_that_a_config_names_has_moved() -> None:
    """Else a run by the version before would have another agent-loop manager, and could not go on."""
    folders = ("compatibility", "patches")
    names = ("seeded_rollouts.SeededAgentLoopManager", "dars_rollouts.DarsAgentLoopManager", "agent_loops.Manager")
    for named in (f"pacs.integration.{folder}.{name}" for folder in folders for name in names):
        (now,) = with_new_keys({"manager": named}).values()
        assert resolve_name(now) is Manager
    assert with_new_keys({"manager": "my.rollouts.Manager"}) == {"manager": "my.rollouts.Manager"}


class _Asked:
    """In verl's worker's place: says with which seed it was asked."""

    def __init__(self, config: DictConfig) -> None:
        self.config, self.llm_client = config, SimpleNamespace(server_manager=None)

    async def _run_agent_loop(self, sampling_params: dict[str, Any], trajectory: dict[str, Any], **_: Any) -> int:
        return sampling_params["seed"]


class _Worker(Seeds, _Asked):
    pass


@pytest.mark.parametrize("ahead", [None, 0.5])
def test_a_prompt_that_waits_for_a_later_step_keeps_its_seeds(ahead: float | None) -> None:
    """Else a resumed run, which hands it out once more, would sample it otherwise; its own step and repeat count."""
    rollout = {"seed": 7}
    partial = {"rollouts": {"partial": {"ahead": ahead}}}
    config = {"data": {"train_batch_size": 4}, "actor_rollout_ref": {"rollout": rollout}, "run": partial}
    worker = _Worker(OmegaConf.create(config))

    def seed(uid: str, step: int, repeat: int = 0, validate: bool = False) -> int:
        trajectory = {"step": step, "validate": validate}
        asked = worker._run_agent_loop({}, trajectory, raw_prompt=PROMPTS[0], uid=uid, session_id=1, **{REPEAT: repeat})
        return asyncio.run(asked)

    assert seed("3-0", 3) == response_seed(7, 3, False, PROMPTS[0], 1)
    if ahead:
        assert seed("3-2", 4) == seed("3-0", 3)
        assert len({seed("3-2", 4, repeat) for repeat in range(3)} | {seed("4-2", 4)}) == 4
    else:
        assert seed("3-2", 4) == response_seed(7, 4, False, PROMPTS[0], 1)
        assert len({seed("3-2", 4, repeat) for repeat in range(3)}) == 3  # the data have a prompt three times
    assert seed("3-2", 4, validate=True) == response_seed(7, 4, True, PROMPTS[0], 1)
    assert len({seed("3-2", 4, repeat, validate=True) for repeat in range(3)}) == 3


def test_a_validation_counts_how_often_it_comes_to_a_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in files that have each problem 32 times, whose 32 responses would be the same."""
    given: list[Any] = []
    monkeypatch.setattr(AgentLoopManagerTQ, "__init__", lambda self, config: setattr(self, "config", config))
    monkeypatch.setattr(AgentLoopManagerTQ, "generate_sequences", lambda self, prompts: given.append(prompts))

    def counted(manager: Manager, step: int, *places: int, **others: Any) -> list[int] | None:
        batch = tu.get_tensordict({"raw_prompt": [PROMPTS[place] for place in places]})
        tu.assign_non_tensor(batch, global_steps=step, **others)
        manager.generate_sequences(batch)
        return list(tu.get(given[-1], REPEAT)) if REPEAT in given[-1] else None

    seeded, unseeded = (
        Manager(compose_run("pacs", ["recipe=arithmetic", f"run.rollouts.seeded={each}"])[0]) for each in (True, False)
    )
    assert counted(seeded, 5, 0, 1, 0, validate=True) == [0, 0, 1]
    assert counted(seeded, 5, 0, 1, validate=True) == [2, 1]  # a second batch of the same validation
    assert counted(seeded, 9, 0, 0, validate=True) == [0, 1]
    assert counted(seeded, 9, 0, 0) is None  # the trainer counts those of a step
    assert counted(unseeded, 9, 0, 0, validate=True) is None


def test_the_rest_of_a_response_has_seeds_of_its_own() -> None:
    first = [response_seed(0, 1, False, PROMPTS[0], session) for session in range(4)]
    rest = [seed_of_rest(seed, written) for seed in first for written in (1, 2, 30)]
    assert len({*first, *rest}) == 16
    assert all(0 <= seed < 2**63 for seed in rest)
    assert rest == [seed_of_rest(seed, written) for seed in first for written in (1, 2, 30)]


def test_a_response_that_goes_on_asks_with_the_seeds_of_its_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Through verl's client: two responses at once, broken off twice each, the second time before it has a token."""
    asked: dict[str, list[tuple[int, int]]] = {"a": [], "b": []}

    async def engine(self: Engines, request_id: str, *, prompt_ids: list[int], sampling_params: Any, **_: Any) -> Any:
        await asyncio.sleep(0)
        asked[request_id].append((len(prompt_ids), sampling_params["seed"]))
        tokens, stop = [([5, 6], BROKEN_OFF), ([], BROKEN_OFF), ([7], "completed")][len(asked[request_id]) - 1]
        return TokenOutput(token_ids=tokens, log_probs=[-1.0] * len(tokens), num_preempted=0, stop_reason=stop)

    monkeypatch.setattr(Engines, "generate", engine)
    client = EnginesThatGoOn(SimpleNamespace(config=OmegaConf.create({}), _load_balancer=None))

    async def both() -> list[Any]:
        prompts = {"a": [1, 2, 3], "b": [1, 2, 3, 4, 5]}
        seeds = {"a": 11, "b": 22}
        return await asyncio.gather(
            *(
                client.generate(name, prompt_ids=prompt, sampling_params={"seed": seeds[name], "max_tokens": 8})
                for name, prompt in prompts.items()
            )
        )

    assert [output.token_ids for output in asyncio.run(both())] == [[5, 6, 7]] * 2
    assert asked == {
        name: [(tokens, seed), *[(tokens + 2, seed_of_rest(seed, 2))] * 2]
        for name, tokens, seed in (("a", 3, 11), ("b", 5, 22))
    }


def first_sampled(requests: list[SamplingParams]) -> list[int]:
    """The first request's tokens of a batch, by vLLM's own sampler, from logits that are the same for all tokens."""
    random = [request.sampling_type != SamplingType.GREEDY for request in requests]
    rows, none = len(requests), torch.zeros(len(requests))
    generators = {
        row: torch.Generator().manual_seed(request.seed)
        for row, request in enumerate(requests)
        if request.sampling_type == SamplingType.RANDOM_SEED
    }
    batch = SamplingMetadata(
        temperature=torch.tensor([request.temperature for request in requests]), all_greedy=False,
        all_random=all(random), top_p=None, top_k=None, generators=generators, max_num_logprobs=None,
        no_penalties=True, prompt_token_ids=None, frequency_penalties=none, presence_penalties=none,
        repetition_penalties=none + 1, output_token_ids=[], allowed_token_ids_mask=None, bad_words_token_ids={},
        logitsprocs=LogitsProcessors(),
    )  # fmt: skip
    sampler = Sampler()
    return [int(sampler(torch.zeros(rows, 512), batch).sampled_token_ids[0]) for _ in range(8)]


def test_on_a_cpu_a_measurement_leaves_the_responses_beside_it_their_seeds() -> None:
    response = SamplingParams(seed=response_seed(0, 1, False, PROMPTS[0], 0))
    config = OmegaConf.create({"run": {"rollouts": {"seeded": True}}})
    beside = SamplingParams(**measurement(config))
    assert beside.prompt_logprobs == 0
    alone = first_sampled([response])
    assert len(set(alone)) > 1
    assert first_sampled([response, beside]) == alone
