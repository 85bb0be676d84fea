"""New weights go to the vLLM of their own run, whatever else runs on the machine."""

import os
import subprocess
import sys
import time

import pytest

from pacs.runs.processes import TOKEN

#: Of two runs, each with a Ray of its own: `send VALUE` and `receive`, in the process of a run.
SIDE = """
import asyncio, sys, torch
from verl.workers.rollout.vllm_rollout import bucketed_weight_transfer as transfer

handle = f"ipc:///tmp/rl-colocate-zmq-01000000-replica-0-rank-0-of-test-{sys.argv[1]}.sock"
print("says ready", flush=True)
sys.stdin.readline()
if sys.argv[2:]:
    weights = iter([("weight", torch.full((2,), float(sys.argv[2])))])
    asyncio.run(transfer.BucketedWeightSender(handle, 1, use_shm=True).async_send_weights(weights))
else:
    receiver = transfer.BucketedWeightReceiver(handle, torch.device("cpu"), use_shm=True)
    receiver.receive_weights(lambda weights, is_last: print("says", weights[0][1][0].item(), flush=True))
"""


class Side:
    """A process of a run."""

    def __init__(self, run: str, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SIDE, str(os.getpid()), *arguments],
            env=os.environ | {"VERL_PLATFORM": "cpu", TOKEN: f"test{os.getpid()}{run}"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def says(self) -> str:
        """The next line of its own; vLLM prints here, too."""
        assert self.process.stdout is not None
        lines = (line.strip() for line in self.process.stdout)
        return next(line.removeprefix("says ") for line in lines if line.startswith("says "))

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(300)
def test_two_runs_at_once_do_not_take_each_other_s_weights() -> None:
    """The first run's vLLM waits for weights already when the second run sends its own."""
    sides = [Side("a"), Side("b", "2.0"), Side("b"), Side("a", "1.0")]
    try:
        for side in sides:
            assert side.says() == "ready"
        for side in sides:
            side.go()
            time.sleep(0.5)
        assert (sides[0].says(), sides[2].says()) == ("1.0", "2.0")
        assert [side.process.wait(60) for side in sides] == [0, 0, 0, 0]
    finally:
        for side in sides:
            side.process.kill()


#: One transfer after another to a receiver in a thread, whose call is known to the sender as vLLM's answer is.
WATCHED = """
import asyncio, os, time, torch
from concurrent.futures import ThreadPoolExecutor
from pacs.integration.patches import registry
from pacs.integration.patches import weight_transfer
from verl.workers.rollout.vllm_rollout import bucketed_weight_transfer as transfer, vllm_rollout

pool = ThreadPoolExecutor()

def outcome(number, receive):
    # A socket of its own: a receiver that has failed may still unlink its path when the next transfer has begun.
    handle = f"ipc:///tmp/rl-colocate-zmq-test-{os.getpid()}-{number}.sock"
    call = weight_transfer._calls[handle] = pool.submit(receive, handle)
    weights = ((name, torch.ones(2**18)) for name in "abc")  # of 1 MiB: as many buckets
    sender = vllm_rollout.BucketedWeightSender(handle, bucket_size_mb=1, use_shm=True)
    try:
        asyncio.run(sender.async_send_weights(weights))
        return "sent", call.result()
    except weight_transfer.TransferError as error:
        return str(error)

def receiver(handle, taken):
    transfer.BucketedWeightReceiver(handle, torch.device("cpu"), use_shm=True).receive_weights(taken)

def all_is_well(handle):
    names = []
    receiver(handle, lambda weights, is_last: names.extend(name for name, _ in weights))
    return "".join(names)

def is_slow(handle):
    receiver(handle, lambda weights, is_last: time.sleep(3 * weight_transfer.LOOK_MILLISECONDS / 1000))
    return "slowly"

def raises_before_it_listens(handle):
    raise MemoryError("no room")

def raises_in_the_midst(handle):
    def taken(weights, is_last):
        if weights[0][0] == "b":
            raise ValueError("no parameter b")
    receiver(handle, taken)

for each in enumerate((all_is_well, is_slow, raises_before_it_listens, raises_in_the_midst, all_is_well)):
    print("says", outcome(*each), flush=True)
"""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_sender_waits_for_a_slow_receiver_and_not_for_one_that_has_failed() -> None:
    environment = {name: value for name, value in os.environ.items() if name != TOKEN} | {"VERL_PLATFORM": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", WATCHED], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    said = [line.removeprefix("says ") for line in ran.stdout.splitlines() if line.startswith("says ")]
    assert said == [
        "('sent', 'abc')",
        "('sent', 'slowly')",
        "vLLM did not take the new weights: MemoryError: no room",
        "vLLM did not take the new weights: ValueError: no parameter b",
        "('sent', 'abc')",
    ]


#: A weight on the host that is larger than a bucket. torch's meta device stands for the GPU: it is not the host.
LARGE = """
import os, torch, zmq
from concurrent.futures import ThreadPoolExecutor
from pacs.integration.patches import registry
from pacs.integration.patches import weight_transfer
from verl.workers.rollout.vllm_rollout import vllm_rollout

weight_transfer.get_device_id = lambda: torch.device("meta")
handle = f"ipc:///tmp/rl-colocate-zmq-test-{os.getpid()}-large.sock"

def opened():
    with zmq.Context.instance().socket(zmq.REP) as socket:
        socket.connect(handle)
        rebuild, arguments = socket.recv_pyobj()["bucket_meta"]["embedding"]["handle"]
        socket.send(b"")
    return rebuild(*arguments)

call = ThreadPoolExecutor().submit(opened)
sender = vllm_rollout.BucketedWeightSender(handle, bucket_size_mb=1, use_shm=False)
sender._init_socket()
sender._direct_send_large_weight("embedding", torch.ones(2**19))
there = call.result()
print("says", there.device, tuple(there.shape), flush=True)
"""


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_weight_on_the_host_that_no_bucket_holds_is_handed_over_on_the_gpu() -> None:
    """As verl has those under LoRA's adapters: Qwen3-8B's embedding takes 2,374 MiB in float32, and a bucket 2,048."""
    environment = {name: value for name, value in os.environ.items() if name != TOKEN} | {"VERL_PLATFORM": "cpu"}
    ran = subprocess.run(
        [sys.executable, "-c", LARGE], env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    said = [line.removeprefix("says ") for line in ran.stdout.splitlines() if line.startswith("says ")]
    assert said == ["meta (524288,)"]
