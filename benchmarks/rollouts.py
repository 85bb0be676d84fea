"""What a rollout costs besides vLLM: processor time of the processes that a response passes through.

    python benchmarks/rollouts.py

An agent-loop worker of verl's and one of ours sample in turn for the same prompts, each in a process of its own, with
Ray, the TransferQueue, the load balancer and a grader as in `pacs train`. The engine answers at once with tokens drawn
from the request, so that both get the same. Prints medians over the rounds: milliseconds of processor time a response
for each kind of process, their ratio, and the responses that a worker serves in a second of its processor time. Fails
if the two have stored different rows.
"""

import argparse
import hashlib
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import psutil

from benchmarks.table import format_table
from pacs.base.arguments import positive

WAYS = ("verl", "pacs")
RESPONSES = 8
#: Seconds within which a round has to be done, and between two looks at whether it is.
ROUND_SECONDS, LOOK_SECONDS = 300, 0.2
#: Of a row: what names it, and how long it took.
NAMES = ("uid", "metrics")
#: Class of an actor -> what it is.
KINDS = {
    "VerlWorker": "agent-loop worker",
    "SeedsLeanWorker": "agent-loop worker",
    "Engine": "engine's calls",
    "RewardLoopWorker": "grader",
    "GlobalRequestLoadBalancer": "balancer",
    "TransferQueueController": "TransferQueue",
    "SimpleStorageUnit": "TransferQueue",
}
#: What a row of the table is of, in order.
SHOWN = (*dict.fromkeys(KINDS.values()), "Ray")


class Engine:
    """In place of verl's vLLM server: a response of half to all of the tokens allowed, at once."""

    def __init__(self, tokens: int, vocabulary: int) -> None:
        self.tokens, self.vocabulary = tokens, vocabulary

    async def generate(self, prompt_ids: list[int], sampling_params: dict[str, Any], **_: Any) -> Any:
        """The tokens that follow from prompt and seed."""
        from verl.workers.rollout.replica import TokenOutput

        drawn = random.Random(hashlib.sha256(f"{prompt_ids}{sampling_params.get('seed')}".encode()).digest())
        ids = [drawn.randrange(self.vocabulary) for _ in range(drawn.randint(self.tokens // 2, self.tokens))]
        log_probs = [-drawn.random() for _ in ids]
        extra = {"global_steps": 0, "num_cached_tokens": 0}
        return TokenOutput(token_ids=ids, log_probs=log_probs, stop_reason="completed", extra_fields=extra)


def make_task(folder: Path, tokens: int) -> Any:
    """A config of the arithmetic recipe, whose model and problems are made here."""
    from omegaconf import OmegaConf

    from pacs.composing import compose_run
    from recipes.arithmetic.model import build_model
    from recipes.arithmetic.problems import split_problems, write_parquet
    from recipes.arithmetic.tokenizer import build_tokenizer

    tokenizer = build_tokenizer(4096)
    build_model(tokenizer, seed=0).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    write_parquet(split_problems(0).train, folder / "data.parquet", "train")
    overrides = [
        "recipe=arithmetic",
        f"actor_rollout_ref.model.path={folder / 'model'}",
        f"data.train_files={folder / 'data.parquet'}",
        f"data.val_files={folder / 'data.parquet'}",
        f"data.max_response_length={tokens}",
        f"run.dir={folder / 'run'}",
        "run.rollouts.seeded=true",
    ]
    config = compose_run("pacs", overrides)[0]
    OmegaConf.resolve(config)
    return config


def prompts_of(config: Any, count: int) -> list[dict[str, Any]]:
    """The first prompts of the run's data, as verl's trainer reads them."""
    from verl.utils.dataset.rl_dataset import RLHFDataset
    from verl.utils.tokenizer import hf_tokenizer

    tokenizer = hf_tokenizer(config.actor_rollout_ref.model.path)
    dataset = RLHFDataset(data_files=config.data.train_files, tokenizer=tokenizer, config=config.data)
    return [dict(dataset[i]) for i in range(count)]


def batch_of(prompts: list[dict[str, Any]], way: str, number: int) -> Any:
    """A step's prompts under names of their own, as verl's trainer hands them over."""
    from verl.utils import tensordict_utils as tu
    from verl.utils.dataset.rl_dataset import collate_fn

    collated = collate_fn(prompts)
    collated["uid"] = [f"{way}{number}p{i}" for i in range(len(prompts))]
    return tu.get_tensordict(tensor_dict=collated, non_tensor_dict={"global_steps": 1})


class Stack:
    """Ray and what a response passes through."""

    def __init__(self, config: Any, tokens: int) -> None:
        import ray
        import transfer_queue as tq
        from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
        from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ
        from verl.workers.rollout.llm_server import GlobalRequestLoadBalancer, LLMServerClient

        from pacs.integration import reward_manager
        from pacs.integration.patches.agent_loops import worker_class
        from pacs.integration.patches.many_at_once import generate_each
        from pacs.integration.patches.seeded_rollouts import Seeds

        class VerlWorker(Seeds, AgentLoopWorkerTQ.__ray_metadata__.modified_class):  # type: ignore[misc]
            """verl's own with the same seeds."""

        Engine.generate_each = generate_each  # type: ignore[attr-defined]
        ray.init(num_cpus=16, include_dashboard=False, log_to_driver=False)
        self.tq, self.ray = tq, ray
        tq.init(config.transfer_queue)
        reward_manager.choose(config)
        engine = ray.remote(Engine).options(name="engine").remote(tokens, 90)
        balancer = ray.remote(GlobalRequestLoadBalancer).remote(servers={"engine": engine})
        grader = ray.remote(RewardLoopWorker).remote(config, None)
        client = LLMServerClient(config, balancer)
        self.workers = {
            way: ray.remote(worker).remote(config, client, None, [grader])
            for way, worker in zip(WAYS, (VerlWorker, worker_class((Seeds,))), strict=True)
        }

    def round(self, prompts: list[dict[str, Any]], way: str, number: int) -> dict[str, float]:
        """Sample once; seconds of processor time of each kind of process."""
        batch = batch_of(prompts, way, number)
        keys = list(batch["uid"])
        self.tq.kv_batch_put(keys=keys, partition_id="train", tags=[{"status": "pending"}] * len(keys))
        before = processor_seconds()
        self.ray.get(self.workers[way].generate_sequences.remote(batch))
        deadline = time.monotonic() + ROUND_SECONDS
        while (states := {self.tags()[key]["status"] for key in keys}) != {"finished"}:
            if "failure" in states or time.monotonic() > deadline:
                raise RuntimeError(f"{way}: prompts are {', '.join(states)}")
            time.sleep(LOOK_SECONDS)
        after = processor_seconds()
        return {name: after[name] - before.get(name, 0) for name in after}

    def tags(self) -> dict[str, dict[str, Any]]:
        """Of all that is in the queue."""
        tags: dict[str, dict[str, Any]] = self.tq.kv_list(partition_id="train")["train"]
        return tags

    def rows(self, prompts: int, way: str, number: int) -> list[dict[str, Any]]:
        """What a round has stored of each response, by prompt and response; times and names apart."""
        keys = [f"{way}{number}p{prompt}_{session}_0" for prompt in range(prompts) for session in range(RESPONSES)]
        stored, tags = self.tq.kv_batch_get(keys=keys, partition_id="train"), self.tags()
        fields = sorted(set(stored.keys()) - set(NAMES))
        return [{"tag": tags[key]} | {name: plain(stored[name][i]) for name in fields} for i, key in enumerate(keys)]

    def clear(self) -> None:
        """Let go of all rows, as a trainer does after a step."""
        self.tq.kv_clear(keys=list(self.tags()), partition_id="train")


def plain(value: Any) -> Any:
    """A value of a row, to be compared."""
    return value.tolist() if hasattr(value, "tolist") else getattr(value, "data", value)


def processor_seconds() -> dict[str, float]:
    """Of each kind of process that this one has started: Ray's actors by their class."""
    seconds: dict[str, float] = {}
    for process in psutil.Process().children(recursive=True):
        try:
            title, times = " ".join(process.cmdline()), process.cpu_times()
        except psutil.Error:
            continue
        actor = title.removeprefix("ray::").partition(".")[0].partition(" ")[0]
        name = KINDS.get(actor, "Ray") if title.startswith("ray::") else "Ray"
        seconds[name] = seconds.get(name, 0) + times.user + times.system
    return seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=positive, default=64, help=f"{RESPONSES} responses to each (default: 64)")
    parser.add_argument("--tokens", type=positive, default=24, help="tokens of the longest response (default: 24)")
    parser.add_argument(
        "--rounds", type=positive, default=3, help="rounds of each way, after one to warm up (default: 3)"
    )
    args = parser.parse_args()
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        config = make_task(Path(folder), args.tokens)
        prompts, stack = prompts_of(config, args.prompts), Stack(config, args.tokens)
        for number in range(args.rounds + 1):
            taken = {way: stack.round(prompts, way, number) for way in WAYS}
            first, second = (stack.rows(args.prompts, way, number) for way in WAYS)
            for theirs, ours in zip(first, second, strict=True):
                if theirs != ours:
                    raise SystemExit(f"the rows differ:\n{theirs}\n{ours}")
            stack.clear()
            if number > 0:
                for way in WAYS:
                    found[way].append(taken[way])
    print_table(found, args.prompts * RESPONSES)


def print_table(found: dict[str, list[dict[str, float]]], responses: int) -> None:
    """Milliseconds a response of each kind of process, and their sum."""
    medians = {
        way: {kind: statistics.median(1e3 * each.get(kind, 0) / responses for each in rounds) for kind in SHOWN}
        for way, rounds in found.items()
    }
    rows = [[kind, *(f"{medians[way][kind]:.2f}" for way in WAYS)] for kind in SHOWN]
    for row, kind in zip(rows, SHOWN, strict=True):
        before, after = (medians[way][kind] for way in WAYS)
        row.append(f"{after / before:.2f}" if before else "")
    before, after = (sum(medians[way].values()) for way in WAYS)
    rows.append(["all", f"{before:.2f}", f"{after:.2f}", f"{after / before:.2f}"])
    print(format_table(["ms of processor time a response", *WAYS, "ratio"], rows))
    served = [f"{way} {1e3 / medians[way][SHOWN[0]]:,.0f}" for way in WAYS]
    print(f"responses that a worker serves in a second of its processor time: {', '.join(served)}")


if __name__ == "__main__":
    main()
