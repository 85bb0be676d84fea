#!/usr/bin/env bash
# verl 0.9.1: with rollout.full_determinism=true the V1 trainer gives all requests one id, and one engine gets them all.
#
# Guessed: the setting makes rollouts repeatable by vLLM's batch-invariant kernels and by sending the same request to the same
# engine in every run; the requests of a step are still spread over the engines.
# Seen (2026-11-29, verl 0.9.1, ray 2.60.0, torch 2.13.0): a request's id is then "det-" and the row's priority, and the
# router picks an engine by the id. Only the older trainer's manager gives rows a priority. In the V1 trainer (the default)
# each is 0: all 128 requests of a step are det-0. Of four engines one works and three wait. The variable
# VLLM_BATCH_INVARIANT=1, without the setting, gives the same kernels and spreads the requests.
#
#   full_determinism=False: 128 requests, 128 ids, to 4 engines
#   full_determinism=True: 128 requests, 1 ids, all to one engine
#
# Exits with a status other than 0 if any of this differs. verl's worker, loop of one turn and router run; the engines, the
# chat template and the queue of rows are stand-ins.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check verl==0.9.1 torch==2.13.0 TransferQueue==0.1.11 \
  ray==2.60.0 transformers==5.10.4 tensordict==0.10.0 cachetools==8.0.0 fastapi==0.165.0 uvicorn==0.54.0
cat >"$folder/ids.py" <<'PYTHON'
import asyncio
import logging
import sys
from collections import Counter
from types import SimpleNamespace

import transfer_queue as tq
from omegaconf import OmegaConf
from tensordict import NonTensorData, NonTensorStack, TensorDict
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop
from verl.trainer.ppo.v1.agent_loop_tq import AgentLoopWorkerTQ
from verl.workers.rollout.router import GlobalRequestLoadBalancer

PROMPTS, RESPONSES, ENGINES = 16, 8, 4


async def nothing(*args, **kwargs):
    return None


tq.async_kv_put = nothing
logging.disable()


def ids_of_requests(full_determinism):
    """The ids of all requests of a step, by verl's worker and its loop of one turn."""
    rollout = OmegaConf.create(
        {"n": RESPONSES, "temperature": 1.0, "top_p": 1.0, "top_k": -1, "calculate_log_probs": False}
        | {"agent": {"default_agent_loop": "single_turn_agent"}, "full_determinism": full_determinism}
    )
    found = []

    async def generate(request_id, **others):
        found.append(request_id)
        raise RuntimeError("no answer is needed")

    async def tokens(*args, **kwargs):
        return [1, 2, 3]

    async def media(*args, **kwargs):
        return {}

    worker = object.__new__(AgentLoopWorkerTQ.__ray_metadata__.modified_class)
    worker.config = OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}})
    worker.background_tasks = set()

    async def run_agent_loop(sampling_params, trajectory, trace, agent_name, **fields):
        loop = object.__new__(SingleTurnAgentLoop)
        loop.rollout_config = rollout
        loop.server_manager = SimpleNamespace(generate=generate)
        loop.process_vision_info = loop.process_multi_modal_info = media
        loop.ct_build_initial_tokens = tokens
        loop._get_mm_processor_kwargs = loop.build_sglang_video_payload = lambda *args: None
        loop._assert_mm_supported = lambda *args: None
        await loop.run(sampling_params, **fields)

    worker._run_agent_loop = run_agent_loop
    chat = [[{"role": "user", "content": f"What is {number} + 1?"}] for number in range(PROMPTS)]
    batch = TensorDict(
        {
            "raw_prompt": NonTensorStack(*[NonTensorData(each) for each in chat]),
            "uid": NonTensorStack(*[f"1-{number}" for number in range(PROMPTS)]),
            "index": NonTensorStack(*range(PROMPTS)),
            "global_steps": NonTensorData(1),
        },
        batch_size=[PROMPTS],
    )

    async def step():
        await worker.generate_sequences(batch)
        await asyncio.gather(*worker.background_tasks, return_exceptions=True)

    asyncio.run(step())
    return found


changed = False
for full_determinism in (False, True):
    ids = ids_of_requests(full_determinism)
    router = GlobalRequestLoadBalancer({f"engine {number}": None for number in range(ENGINES)}, 10_000, full_determinism)
    share = Counter(router.acquire_server(each)[0] for each in ids)
    ids_in_all, engines = len(set(ids)), len(share)
    changed |= (ids_in_all, engines) != ((1, 1) if full_determinism else (PROMPTS * RESPONSES, ENGINES))
    said = "all to one engine" if engines == 1 else f"to {engines} engines"
    print(f"full_determinism={full_determinism}: {len(ids)} requests, {ids_in_all} ids, {said}")
sys.exit(changed)
PYTHON
"$folder/venv/bin/python" "$folder/ids.py"
