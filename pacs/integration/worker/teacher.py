"""Workers with a teacher in place of a reference model: read once, and never reset."""

from dataclasses import replace
from typing import Any, ClassVar

from verl.single_controller.base.decorator import Dispatch, register

from pacs.integration.exactness.layout_check import check_layout
from pacs.integration.exactness.vocabulary import other_tokens
from pacs.integration.worker.method_worker import MethodTrainingWorker, MethodWorker

#: What verl's model config makes of `path`, or has for the policy alone.
OF_THE_PATH = (
    "hf_config_path", "tokenizer_path", "local_path", "local_hf_config_path", "local_tokenizer_path", "hf_config",
    "generation_config", "tokenizer", "processor", "architectures", "custom_chat_template",
)  # fmt: skip


class TeachingWorker(MethodWorker):
    """Actor, rollout and teacher in one process."""

    teacher: ClassVar[str]

    def ref_worker_cls(self, config: Any) -> MethodTrainingWorker:  # type: ignore[override]
        """The teacher's, laid out and sharded as the policy is; verl calls it with the reference's config.

        Raises:
            ValueError: it has another vocabulary; of a name of the Hub that is known here alone.
        """
        model = replace(config.model_config, path=self.teacher, lora_rank=0, **dict.fromkeys(OF_THE_PATH))
        if others := other_tokens(config.model_config.tokenizer, model.tokenizer):
            raise ValueError(
                f"method.teacher={self.teacher}: its tokenizer has other numbers for {len(others):,} of the policy's "
                f"tokens (the first: {others[0]!r}): take a teacher with the policy's vocabulary."
            )
        return MethodTrainingWorker(config=replace(config, model_config=model))

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def init_model(self) -> None:
        """verl's; the teacher's layout is tried, too (LayoutError)."""
        super().init_model()
        check_layout(self.ref.engine, temperature=self.config.rollout.temperature, model="method.teacher")

    @register(dispatch_mode=Dispatch.ONE_TO_ALL)
    def reset_reference(self, reset_optimizer: bool) -> None:
        """The policy is its own reference; optionally forget the optimizer's moments."""
        if reset_optimizer:
            self.actor.engine.optimizer.state.clear()


def worker_of(teacher: str) -> type[TeachingWorker]:
    """The workers of a run whose method has such a teacher."""
    return type("TeachingWorker", (TeachingWorker,), {"teacher": teacher})
