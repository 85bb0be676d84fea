"""New weights to vLLM: the sender does not wait for a receiver that has failed.

verl's sender and receiver talk through a ZeroMQ socket without a limit of time, while the receiver's answer to the call
that made it listen is awaited only afterwards. So the sender waits for ever if the receiver raises or dies. A limit in
seconds would end a transfer that is merely slow: here the sender's wait ends when that call does.
"""

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import torch
import zmq
from verl.utils.device import get_device_id
from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import BucketedWeightSender
from verl.workers.rollout.vllm_rollout.vllm_rollout import ServerAdapter

from pacs.runs.actor_failures import cause_of

#: How often a sender that waits looks at whether the receiver's call has ended.
LOOK_MILLISECONDS = 500
#: Receivers' calls: address of the socket, as verl names it -> what the engine answers in the end.
_calls: dict[str, Future[Any]] = {}


class TransferError(RuntimeError):
    """vLLM has not taken the new weights; the message names why."""


class WatchedServerAdapter(ServerAdapter):  # type: ignore[misc]
    """verl's, which tells the sender of the call by which the receiver listens to it."""

    async def _execute_method(self, method: str, non_block: bool = False, **options: Any) -> Any:
        answer = await super()._execute_method(method, non_block=non_block, **options)
        # Of an engine's ranks one alone makes the call; the others end with the run when it fails.
        if non_block and answer is not None:
            _calls[self.zmq_handle] = answer.future()
        return answer


class WatchedSocket:
    """A sender's socket, whose waits end with the receiver's call.

    Args:
        socket: ZeroMQ's.
        call: of the receiver; it ends after the last message.
    """

    def __init__(self, socket: zmq.Socket[bytes], call: Future[Any]) -> None:
        self.socket, self.call = socket, call

    def bind(self, address: str) -> None:
        """As ZeroMQ's."""
        self.socket.bind(address)

    def send_pyobj(self, thing: object) -> None:
        """Send when there is a receiver; raises TransferError."""
        self._wait(zmq.POLLOUT)
        self.socket.send_pyobj(thing)

    def recv(self) -> bytes:
        """The receiver's answer; raises TransferError."""
        self._wait(zmq.POLLIN)
        return self.socket.recv()

    def close(self) -> None:
        """Forget what was not sent: nobody will take it."""
        self.socket.close(linger=0)

    def _wait(self, event: int) -> None:
        while True:
            ended = self.call.done()  # before the look: its last message may come with its end
            if self.socket.poll(LOOK_MILLISECONDS, event):
                return
            if ended:
                error = self.call.exception()
                cause = "it ended before it had all" if error is None else cause_of(error)
                raise TransferError(f"vLLM did not take the new weights: {cause}") from error


class WatchedSender(BucketedWeightSender):  # type: ignore[misc]
    """verl's, whose socket is watched where this process has made the receiver's call."""

    zmq_context: Any

    def __init__(self, zmq_handle: str, *args: Any, **options: Any) -> None:
        super().__init__(zmq_handle, *args, **options)
        if (call := _calls.pop(zmq_handle, None)) is not None:
            context = self.zmq_context
            self.zmq_context = SimpleNamespace(socket=lambda kind: WatchedSocket(context.socket(kind), call))

    def _direct_send_large_weight(self, name: str, weight: torch.Tensor) -> None:
        """verl's, by CUDA IPC, of a weight that is larger than a bucket.

        verl sends the weights under LoRA's adapters from the host. Of such a copy there is no handle that vLLM could
        open, so it goes to the GPU first.
        """
        super()._direct_send_large_weight(name, weight.to(get_device_id()))
