"""SFT on plain text by verl's trainer, which by itself reads conversations alone and puts them into a chat template.

    torchrun --standalone --nproc-per-node 8 -m pacs.integration.plain_sft data.train_files=FILE model.path=MODEL \\
      trainer.default_local_dir=FOLDER

All arguments are verl's (`verl/trainer/config/sft_trainer_engine.yaml`), and so are checkpoints and resuming, but for
runs that are resumed at the end of an epoch. Each checkpoint holds the model for transformers and vLLM, too:
`global_step_N/huggingface`.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow.parquet as pq
import torch
from hydra import compose, initialize_config_module
from torch.utils.data import Dataset

from pacs.base.errors import UserError
from pacs.integration.schema import PLATFORM_VARIABLE

PROMPT, RESPONSE = "prompt", "response"
#: In place of verl's defaults; the command line comes behind them.
DEFAULTS = (
    f"data.custom_cls.path=pkg://{__spec__.name}",
    "data.custom_cls.name=PlainText",
    "trainer.logger=[console]",
    "engine.strategy=fsdp2",
    "checkpoint.save_contents=[model,optimizer,extra,hf_model]",
)


class PlainText(Dataset[dict[str, torch.Tensor]]):
    """A prompt and its response a row, as plain text; the response and an end-of-sequence token are trained.

    Args:
        parquet_files: with columns `prompt` and `response`, as `pacs genac sft-data` writes them.
        tokenizer: of the model.
        config: verl's section `data`, of which `max_length` is read.
        processor: as verl passes it; not read.
        max_samples: the first so many rows; -1: all.

    Raises:
        UserError: a column is missing, or a row has more tokens than `data.max_length`.
    """

    def __init__(
        self, parquet_files: str | Sequence[str], tokenizer: Any, config: Any, processor: Any = None,
        max_samples: int = -1,
    ) -> None:  # fmt: skip
        if config.pad_mode != "no_padding":
            raise UserError(f"data.pad_mode={config.pad_mode}: rows of plain text are packed: leave it out")
        files = [parquet_files] if isinstance(parquet_files, str) else list(parquet_files)
        rows: list[dict[str, str]] = []
        for file in files:
            if missing := {PROMPT, RESPONSE} - {*pq.read_schema(file).names}:
                raise UserError(
                    f"data.train_files={file} has no column {sorted(missing)[0]}: give the train.parquet of "
                    "`pacs genac sft-data`, written without --chat"
                )
            rows += pq.read_table(file, columns=[PROMPT, RESPONSE]).to_pylist()
        self._rows = rows if max_samples < 0 else rows[:max_samples]
        self._tokenizer, self._longest = tokenizer, int(config.max_length)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        """(T,) int64 `input_ids` and `position_ids`, and `loss_mask`, 1 at the response's tokens."""
        row = self._rows[index]
        prompt, response = (self._tokenizer.encode(row[part], add_special_tokens=False) for part in (PROMPT, RESPONSE))
        response.append(self._tokenizer.eos_token_id)
        tokens = torch.tensor(prompt + response)
        if len(tokens) > self._longest:
            raise UserError(
                f"row {index} has {len(tokens):,} tokens, more than data.max_length={self._longest}: raise that"
            )
        mask = torch.tensor([0] * len(prompt) + [1] * len(response))
        return {"input_ids": tokens, "position_ids": torch.arange(len(tokens)), "loss_mask": mask}


def leave_finished_epoch(loader: Iterable[Any], step: int, steps_per_epoch: int) -> None:
    """Let the next pass over a resumed loader be a whole one.

    The state that verl saves behind the last batch of an epoch has an empty pass left. verl's loop would take it for
    the next epoch: not trained, and without a checkpoint if it was the last.
    """
    if step and step % steps_per_epoch == 0:
        for _ in loader:
            pass


def choose_device() -> str:
    """`cuda` where torch sees a GPU, else `cpu`, which verl is told: the platform of a GPU, say `nvidia`, it finds."""
    if torch.cuda.is_available():
        return "cuda"
    os.environ.setdefault(PLATFORM_VARIABLE, "cpu")
    return "cpu"


def main() -> None:
    """verl's SFT trainer over rows of plain text, started by torchrun; its arguments are verl's."""
    device = choose_device()
    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("sft_trainer_engine", [f"trainer.device={device}", *DEFAULTS, *sys.argv[1:]])
    from verl.trainer.sft_trainer import SFTTrainer
    from verl.utils.distributed import initialize_global_process_group

    if device == "cuda":
        initialize_global_process_group()  # which also gives each rank its GPU
    else:  # verl's names gloo twice there, which torch refuses
        torch.distributed.init_process_group("gloo")
    trainer = SFTTrainer(config)
    leave_finished_epoch(trainer.train_dataloader, trainer.resume_global_step, trainer.steps_per_epoch)
    trainer.fit()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
