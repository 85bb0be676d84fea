"""The benchmark of the engine's messages ends with its reader, whenever that dies."""

import os
from multiprocessing.connection import Connection

import pytest

from benchmarks import engine_messages

pytestmark = pytest.mark.slow  # vLLM is

#: More than the ring between writer and reader holds.
MESSAGES = 50


def dies_before_it_reads(connection: Connection, pause: bool, messages: int) -> None:
    connection.recv()
    os._exit(3)


def dies_as_it_reads(connection: Connection, pause: bool, messages: int) -> None:
    from vllm.distributed.device_communicators.shm_broadcast import MessageQueue

    queue = MessageQueue.create_from_handle(connection.recv(), rank=0)
    queue.wait_until_ready()
    queue.dequeue()
    os._exit(3)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("reader", [dies_before_it_reads, dies_as_it_reads])
def test_a_reader_that_dies_ends_it(reader: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_messages, "read", reader)
    with pytest.raises(SystemExit, match="the process that reads messages died with exit status 3"):
        engine_messages.measure(False, MESSAGES, 0.02)
