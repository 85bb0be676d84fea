"""The training ranks of a critic that writes text: our workers, beside the policy's in the same placement group."""

from typing import Any

from verl.single_controller.base.decorator import Dispatch, register
from verl.workers.rollout.replica import RolloutMode

from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.method_worker import MethodWorker
from pacs.integration.worker.shared_prefix import share_prefixes

#: The number of the critic's first engine. By it verl names an engine's actor and the socket that its weights go
#: through, so that it is one that no engine of the policy has.
FIRST_ENGINE = 100_000


class CriticWorker(MethodWorker):
    """Trains the critic, and sends its weights to the critic's engines."""

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def init_model(self) -> None:
        """verl's; its adapter then knows the critic's engine as its own."""
        super().init_model()
        adapter = self.rollout
        number = adapter.replica_rank + FIRST_ENGINE
        adapter.zmq_handle = adapter.zmq_handle.replace(f"-replica-{adapter.replica_rank}-", f"-replica-{number}-")
        adapter.replica_rank = number

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def set_loss_fn(self, loss_fn: MethodLoss) -> None:
        """Ours; rows are read as traces that go on from one response."""
        super().set_loss_fn(loss_fn)
        share_prefixes(self.actor.engine)


def replica_class() -> type:
    """verl's class of an engine, for the critic's; it imports vLLM, which the trainer alone has to."""
    from verl.workers.rollout.vllm_rollout.vllm_async_server import vLLMReplica

    class CriticReplica(vLLMReplica):  # type: ignore[misc]
        """An engine of the critic."""

        async def init_hybrid(self, worker_group: Any) -> None:
            """verl's, whose ranks are counted from the critic's first engine."""
            self.rollout_mode = RolloutMode.HYBRID
            first = self.world_size * (self.replica_rank - FIRST_ENGINE)
            self.workers = worker_group.workers[first : first + self.world_size]
            await self.launch_servers()

    return CriticReplica
