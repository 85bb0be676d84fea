"""The lean way of a response beside verl's own, in one process: Ray, the TransferQueue, engine and grader are stubs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tensordict import TensorDict
from verl.experimental.agent_loop import agent_loop as loops
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop
from verl.trainer.ppo.v1 import agent_loop_tq
from verl.workers.rollout.llm_server import LLMServerClient
from vllm.sampling_params import RequestOutputKind, SamplingParams

from benchmarks.rollouts import Engine, batch_of, make_task, plain, prompts_of
from pacs.integration.exchange import FINGERPRINT
from pacs.integration.patches import lean_rollouts
from pacs.integration.patches.agent_loops import worker_class
from pacs.integration.patches.lean_rollouts import LeanWorker
from pacs.integration.patches.many_at_once import compute_scores, generate_each
from pacs.integration.patches.partial_rollouts import GoingOn
from pacs.integration.patches.seeded_rollouts import Seeds
from pacs.integration.patches.together import Together
from pacs.integration.patches.vine_rollouts import VineRollouts
from pacs.metrics.duplicates import fingerprint

PROMPTS, RESPONSES, TOKENS = 3, 8, 12


class VerlWorker(Seeds, agent_loop_tq.AgentLoopWorkerTQ.__ray_metadata__.modified_class):  # type: ignore[misc]
    """verl's own with the same seeds."""


#: Our worker with seeds.
OURS = worker_class((Seeds,))


class Remote:
    """An actor's handle: methods with `.remote`; counts the calls."""

    def __init__(self, actor: Any) -> None:
        self.actor, self.calls = actor, []

    def __getattr__(self, name: str) -> "Method":
        return Method(self, name)


class Method:
    """Of an actor."""

    def __init__(self, handle: Remote, name: str) -> None:
        self.handle, self.name = handle, name

    def options(self, num_returns: str) -> "Method":
        assert num_returns == "streaming"
        return self

    def remote(self, *args: Any, **options: Any) -> Any:
        self.handle.calls.append(self.name)
        result = getattr(self.handle.actor, self.name)(*args, **options)
        return self._references(result) if hasattr(result, "__aiter__") else self._awaited(result)

    async def _awaited(self, result: Any) -> Any:
        return await result if asyncio.iscoroutine(result) else result

    async def _references(self, results: Any) -> AsyncIterator[Any]:
        async for result in results:
            yield self._awaited(result)


class Server(Engine):
    """An engine of which one request may fail."""

    generate_each = generate_each
    fails: str | None = None

    def __init__(self, tokens: int, vocabulary: int) -> None:
        super().__init__(tokens, vocabulary)
        self.output_kinds: list[RequestOutputKind] = []

    async def generate(self, prompt_ids: list[int], sampling_params: dict[str, Any], **others: Any) -> Any:
        self.output_kinds.append(SamplingParams(**sampling_params).output_kind)
        if str(sampling_params.get("seed")) == self.fails:
            raise RuntimeError("no more memory")
        return await super().generate(prompt_ids, sampling_params, **others)


class Balancer:
    """Of some servers."""

    def __init__(self, *servers: Remote) -> None:
        self.servers, self.in_flight = servers, 0

    def require_acquire_fields(self) -> list[str]:
        return []

    def require_release_fields(self) -> list[str]:
        return ["request_id"]

    def get_all_servers(self) -> list[str]:
        return [str(i) for i in range(len(self.servers))]

    def acquire_server(self, request_id: str) -> tuple[str, Remote]:
        self.in_flight += 1
        turn = self.in_flight % len(self.servers)
        return str(turn), self.servers[turn]

    def release_server(self, server_id: str, request_id: str) -> None:
        self.in_flight -= 1


class Router(Balancer):
    """One of a user's own, as `rollout.router_config_path` names it: by what stands in the prompt."""

    def require_acquire_fields(self) -> list[str]:
        return ["prompt_ids"]

    def acquire_server(self, request_id: str, prompt_ids: list[int]) -> tuple[str, Remote]:  # type: ignore[override]
        return super().acquire_server(request_id)


class Grader:
    """Grades by the length; notes what it is given."""

    compute_scores = compute_scores

    def __init__(self) -> None:
        self.given: list[Any] = []

    async def compute_score(self, data: Any) -> dict[str, Any]:
        self.given.append(data)
        length = int(data.batch["responses"].shape[1])
        if length == 7:
            raise ValueError("seven")
        return {"reward_score": float(length % 2), "reward_extra_info": {"score": float(length % 2), "status": "wrong"}}


class Queue:
    """The TransferQueue."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, Any]] = {}
        self.status: dict[str, str] = {}
        self.puts = 0

    async def async_kv_put(self, key: str, partition_id: str, tag: dict[str, Any]) -> None:
        self.status[key] = tag["status"]

    async def async_kv_batch_put(self, keys: list[str], fields: TensorDict, tags: Any, partition_id: str) -> None:
        self.puts += 1
        for i, key in enumerate(keys):
            row = {name: plain(fields[name][i]) for name in fields.keys()}  # noqa: SIM118
            self.rows[key.partition("p")[2]] = {"tag": tags[i], "partition": partition_id} | row


class Setup:
    """A worker's surroundings, of which each worker has its own."""

    def __init__(self, config: Any, servers: int = 1, graders: int = 2) -> None:
        self.config, self.queue = config, Queue()
        self.servers = [Remote(Server(TOKENS, 90)) for _ in range(servers)]
        self.graders = [Remote(Grader()) for _ in range(graders)]
        self.balancer = Remote(Balancer(*self.servers))

    def worker(self, kind: type) -> Any:
        return kind(self.config, LLMServerClient(self.config, self.balancer), None, self.graders)

    def given(self) -> list[Any]:
        """What the graders were given."""
        return [each for grader in self.graders for each in grader.actor.given]


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return make_task(tmp_path_factory.mktemp("lean"), TOKENS)


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> list[Queue]:
    """The last is the one in use."""
    used: list[Queue] = []

    class Current:
        def init(self) -> None:
            """A worker asks for it."""

        def __getattr__(self, name: str) -> Any:
            return getattr(used[-1], name)

    for module in (agent_loop_tq, lean_rollouts):
        monkeypatch.setattr(module, "tq", Current())
    return used


def sample(setup: Setup, kind: type, queues: list[Queue], **options: Any) -> Setup:
    """A step's rollouts by a worker."""
    queues.append(setup.queue)

    async def rollouts() -> None:
        worker = setup.worker(kind)
        batch = batch_of(prompts_of(setup.config, PROMPTS), "p", 0)
        for name, value in options.items():
            batch[name] = value
        await worker.generate_sequences(batch)
        await asyncio.gather(*worker.background_tasks)

    asyncio.run(rollouts())
    return setup


def without_times(rows: dict[str, dict[str, Any]], fingerprints: bool = False) -> dict[str, dict[str, Any]]:
    """Without what is measured; and without the fingerprints, which only our rows have, and which are those of them."""
    rows = {key: {name: value for name, value in row.items() if name != "metrics"} for key, row in rows.items()}
    for row in rows.values() if fingerprints else ():
        row["extra_fields"] = dict(row["extra_fields"])
        assert row["extra_fields"].pop(FINGERPRINT) == fingerprint(row["responses"])
    return rows


@pytest.mark.parametrize("servers", [1, 2])
def test_rows_are_verls_to_the_bit(servers: int, config: Any, queues: list[Queue]) -> None:
    verl, ours = (sample(Setup(config, servers), kind, queues) for kind in (VerlWorker, OURS))
    assert len(verl.queue.rows) >= PROMPTS * RESPONSES - 6
    assert without_times(ours.queue.rows, fingerprints=True) == without_times(verl.queue.rows)
    assert ours.queue.status == verl.queue.status
    assert all(server.calls for server in ours.servers)
    assert [balancer.actor.in_flight for balancer in (verl.balancer, ours.balancer)] == [0, 0]


@pytest.mark.parametrize("servers", [1, 2])
def test_a_router_is_told_of_a_request_what_it_asks_for(servers: int, config: Any, queues: list[Queue]) -> None:
    setup = Setup(config, servers)
    setup.balancer = Remote(Router(*setup.servers))
    sample(setup, OURS, queues)
    assert len(setup.queue.rows) >= PROMPTS * RESPONSES - 6
    assert setup.balancer.actor.in_flight == 0


def test_what_comes_within_a_moment_goes_together(config: Any, queues: list[Queue]) -> None:
    """24 responses at once: verl makes a call of each process for each."""
    verl, ours = (sample(Setup(config), kind, queues) for kind in (VerlWorker, OURS))
    assert verl.servers[0].calls == ["generate"] * PROMPTS * RESPONSES
    assert set(ours.servers[0].calls) == {"generate_each"}
    assert len(ours.servers[0].calls) <= PROMPTS
    assert ours.balancer.calls.count("acquire_server") == 1
    assert all(len(grader.calls) <= 2 * PROMPTS for grader in ours.graders)
    assert ours.queue.puts <= 2 * PROMPTS < verl.queue.puts
    assert [grader.actor.given for grader in ours.graders if not grader.actor.given] == []


@pytest.mark.parametrize(
    ("parts", "kind"),
    [((Seeds,), RequestOutputKind.FINAL_ONLY), ((GoingOn, Seeds), RequestOutputKind.CUMULATIVE)],
)
def test_vllm_tells_of_a_response_at_its_end_unless_it_may_be_broken_off(
    parts: tuple[type, ...], kind: RequestOutputKind, config: Any, queues: list[Queue]
) -> None:
    """verl breaks requests off only when vLLM has told of each: before the first token of one it waits for a minute."""
    server = sample(Setup(config), worker_class(parts), queues).servers[0].actor
    assert server.output_kinds == [kind] * PROMPTS * RESPONSES


def test_responses_and_the_completions_of_their_steps_go_together(config: Any, queues: list[Queue]) -> None:
    """Two completions of each prompt; responses are of one step."""
    config = config.copy()
    config.run.rollouts.seeded = False
    config.run.rollouts.vine.completions, config.run.rollouts.vine.least_tokens = 2, TOKENS
    server = sample(Setup(config), worker_class((VineRollouts,)), queues).servers[0]
    assert set(server.calls) == {"generate_each"}
    assert len(server.actor.output_kinds) == PROMPTS * (RESPONSES + 2)


def test_a_loop_of_ones_own_under_verls_name_has_no_broken_off_responses(
    config: Any, queues: list[Queue], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It asks by verl's own client, which takes what there is of a response for the whole."""
    own = {"_target_": f"{SingleTurnAgentLoop.__module__}.{SingleTurnAgentLoop.__qualname__}", "mine": True}
    monkeypatch.setitem(loops._agent_loop_registry, "single_turn_agent", own)
    with caplog.at_level("ERROR"):
        queue = sample(Setup(config), worker_class((GoingOn, Seeds)), queues).queue
    assert queue.rows == {}
    assert set(queue.status.values()) == {"failure"}
    assert "run.rollouts.partial.ahead: the agent loop single_turn_agent is not verl's" in caplog.text


def test_graders_are_given_what_verl_gives_them(config: Any, queues: list[Queue]) -> None:
    verl, ours = (sample(Setup(config, graders=1), kind, queues).given() for kind in (VerlWorker, OURS))

    def said(data: Any) -> dict[str, Any]:
        tensors = {name: value.tolist() for name, value in data.batch.items()}
        return tensors | {name: (value.shape, value.tolist()) for name, value in data.non_tensor_batch.items()}

    def order(data: dict[str, Any]) -> str:
        return str((data["uid"], data["session_id"]))

    assert sorted(map(said, ours), key=order) == sorted(map(said, verl), key=order)


def test_a_request_that_fails_is_that_of_its_prompt_alone(
    config: Any, queues: list[Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds: list[str] = []
    generate = Server.generate

    async def noting(self: Server, prompt_ids: list[int], sampling_params: dict[str, Any], **others: Any) -> Any:
        seeds.append(str(sampling_params["seed"]))
        return await generate(self, prompt_ids, sampling_params, **others)

    monkeypatch.setattr(Server, "generate", noting)
    whole = sample(Setup(config), OURS, queues).queue
    monkeypatch.setattr(Server, "fails", seeds[0])
    verl, ours = (sample(Setup(config), kind, queues).queue for kind in (VerlWorker, OURS))
    assert without_times(ours.rows, fingerprints=True) == without_times(verl.rows)
    assert len(ours.rows) < len(whole.rows) or set(whole.status.values()) == {"failure"}
    assert ours.status == verl.status
    assert "failure" in ours.status.values()


class OwnLoop(SingleTurnAgentLoop):
    """A loop that a user has made of verl's."""


def test_a_loop_of_the_user_s_own_goes_verl_s_way(
    config: Any, queues: list[Queue], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold something of a response, ask for its text, or call the engine several times."""
    monkeypatch.setitem(loops._agent_loop_registry, "own", {"_target_": f"{__name__}.OwnLoop"})
    own = sample(Setup(config), LeanWorker, queues, agent_name=["own"] * PROMPTS)
    assert set(own.servers[0].calls) == {"generate"}


def test_one_call_s_error_is_all_items_that_have_no_result() -> None:
    async def call(items: list[int]) -> AsyncIterator[list[tuple[int, Any]]]:
        yield [(1, items[1] + 10), (0, ValueError("first"))]
        if items[2] == 2:
            raise OSError("gone")

    async def ask(*items: int) -> list[Any]:
        together = Together(call)
        return await asyncio.gather(*map(together, items), return_exceptions=True)

    first, second, third = asyncio.run(ask(0, 1, 2))
    assert (repr(first), second, repr(third)) == ("ValueError('first')", 11, "OSError('gone')")
    assert "without" in str(asyncio.run(ask(0, 1, 3))[2])
