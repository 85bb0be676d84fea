"""What it costs a vLLM process to wait for the engine's next message, and the delay, on the CPU stack.

    python benchmarks/engine_messages.py

vLLM's engine sends its worker each token through shared memory. The worker polls without a pause, and so takes a core
from the agent loop and the verifiers; on the CPU stack PACS makes it pause between polls. The two ways take turns: a
process reads messages that are one token's time apart. Prints medians over the rounds: the reader's processor time as
a share of its waiting time, and the delay between writing and reading a message, each with its ratio to the first way.
"""

import argparse
import multiprocessing
import statistics
import sys
import time
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import zmq

from benchmarks.table import format_table
from pacs.base.arguments import positive
from pacs.integration.patches.cpu_patches import (
    SECONDS_BETWEEN_LOOKS,
    waiting_for_the_engine_s_messages_leaves_the_cores_to_others,
)

#: A reader that has taken no message for so long takes none any more.
LONGEST_SECONDS = 60.0
WAYS = {"without a pause": False, f"a pause of {1e3 * SECONDS_BETWEEN_LOOKS:g} ms": True}


def read(connection: Connection, pause: bool, messages: int) -> None:
    """The reader: sends back the share of a core that it takes, and the median delay in seconds."""
    from vllm.distributed.device_communicators import shm_broadcast

    if pause:
        waiting_for_the_engine_s_messages_leaves_the_cores_to_others(shm_broadcast)
    queue = shm_broadcast.MessageQueue.create_from_handle(connection.recv(), rank=0)
    queue.wait_until_ready()
    delays = []
    began, taken = time.monotonic(), time.process_time()
    for _ in range(messages):
        written = queue.dequeue()
        delays.append(time.monotonic() - written)
    share = (time.process_time() - taken) / (time.monotonic() - began)
    connection.send((share, statistics.median(delays)))


def measure(pause: bool, messages: int, apart: float) -> tuple[float, float]:
    """One round: what `read` has found."""
    from vllm.distributed.device_communicators.shm_broadcast import MessageQueue

    receiver, others = multiprocessing.Pipe()
    reader = multiprocessing.get_context("spawn").Process(target=read, args=(others, pause, messages))
    reader.start()
    others.close()  # so that a reader that dies is noticed
    queue = MessageQueue(n_reader=1, n_local_reader=1)
    receiver.send(queue.export_handle())
    poller = zmq.Poller()
    poller.register(queue.local_socket, zmq.POLLIN)
    poller.register(reader.sentinel, zmq.POLLIN)
    if queue.local_socket not in dict(poller.poll()):  # the reader's files are closed a moment before it is dead
        reader.join()
    check_reads(reader)
    queue.wait_until_ready()
    for _ in range(messages):
        time.sleep(apart)
        check_reads(reader)
        queue.enqueue(time.monotonic(), timeout=LONGEST_SECONDS)
    found: tuple[float, float] = receiver.recv()
    reader.join()
    return found


def check_reads(reader: BaseProcess) -> None:
    """End this program if its reader has ended, which it does not before the last message."""
    if not reader.is_alive():
        sys.exit(f"the process that reads messages died with exit status {reader.exitcode}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=positive, default=200, help="messages a round (default: 200)")
    parser.add_argument("--apart", type=positive, default=20, help="milliseconds between messages (default: 20)")
    parser.add_argument("--rounds", type=positive, default=3, help="rounds of each way (default: 3)")
    args = parser.parse_args()
    found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
    for _ in range(args.rounds):
        for way, pause in WAYS.items():
            found[way].append(measure(pause, args.messages, args.apart / 1e3))
    medians = {way: [statistics.median(each) for each in zip(*rounds, strict=True)] for way, rounds in found.items()}
    share_before, delay_before = next(iter(medians.values()))
    rows = [
        [way, f"{share:.2f} ({share / share_before:.2f})", f"{1e3 * delay:.2f} ({delay / delay_before:.2f})"]
        for way, (share, delay) in medians.items()
    ]
    print(format_table(["between two looks", "cores taken", "delay in ms"], rows))


if __name__ == "__main__":
    main()
