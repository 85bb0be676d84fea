"""Whether the run's own engine gives each token the log-probability that it has in its sequence alone.

A few short sequences of random tokens go through the engine twice: one at a time, padded, with the model's own head,
and as the run has them: packed or padded, in its micro-batches, with its head, its attention, its precision and its
ranks, at its temperature, in training mode too. A model whose sequences leak into each other when they are packed, or
of whose head the fused one leaves something out, would train on wrong gradients without a word; here it ends the run
before the first rollout. So does a model whose tokens see later ones of their own row. Weights, optimizer and random
states are as before.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch.distributed.fsdp import FSDPModule
from verl.utils.device import get_torch_device

from pacs.integration.exactness.engine_log_probs import Layout, as_laid_out, random_row, row_values, simpler

#: Tokens of the sequences, as far as a micro-batch holds them. In any order two or four ranks that share them cut one
#: at least four tokens from its ends.
LENGTHS = (26, 9, 12, 15)
#: Nats, the mean over tokens, that the run may differ from one sequence at a time; measured: docs/models.md.
TOLERANCES = {torch.float32: 1e-3, torch.float16: 0.05, torch.bfloat16: 0.1}
#: With 16 bits more is allowed where the model itself rounds more: so many times the difference between sequences that
#: are padded together and the same ones alone (0 where a device's kernels round both alike), so many times that of the
#: same ones whose embeddings are rounded otherwise, and at most so many times the above (padding may be wrong as well).
SPREADS, ROUNDINGS, MOST = 4, 2, 5
#: The same where the shapes of all tensors are alike, and only other sequences' tokens differ: there rounding is, too.
ALIKE = 0.25
ALONE = {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": 1}


class LayoutError(RuntimeError):
    """The run's layout or head does not give the model's log-probabilities."""


def check_layout(engine: Any, temperature: float, model: str = "actor_rollout_ref.model") -> None:
    """Compare the run's layout with one sequence at a time; every rank of the engine calls this.

    Args:
        engine: verl's FSDP engine of a policy or a critic.
        temperature: of the run's log-probabilities.
        model: the section of the config, for the message.

    Raises:
        LayoutError: they differ by more than rounding, on every rank alike.
    """
    layout = Layout(
        packed=bool(engine.model_config.use_remove_padding),
        fused=bool(engine.model_config.use_fused_kernels),
        shared=engine.use_ulysses_sp,
    )
    training = engine.module.training
    devices = [] if engine.device_mesh.device_type == "cpu" else [get_torch_device().current_device()]
    try:
        with torch.random.fork_rng(devices):
            _compare(engine, layout, temperature, model)
    finally:
        engine.module.train(training)
        for module in engine.module.modules():
            if isinstance(module, FSDPModule):
                module.reshard()


def _compare(engine: Any, layout: Layout, temperature: float, model: str) -> None:
    probe = _Probe(engine, temperature)
    try:
        ahead = probe.ahead()
        complaint = probe.complaint(layout)
    except Exception as error:
        raise LayoutError(f"{_named(engine, layout)}: the forward pass fails: {error!r}") from error
    if ahead is not None:
        mend = f"Set +{model}.override_config.attn_implementation=eager (without + where the key is there)"
        raise LayoutError(f"{_named(engine, layout)}: {ahead} {mend}, or choose another model.")
    if complaint is not None:
        agrees = next((each for each in simpler(layout) if probe.complaint(each) is None), None)
        raise LayoutError(f"{_named(engine, layout)}: {complaint} {_advice(layout, agrees, model)}")


class _Probe:
    """Random sequences, and their values one at a time."""

    def __init__(self, engine: Any, temperature: float) -> None:
        self.engine, self.temperature = engine, temperature
        self.dtype = engine._autocast_dtype
        config, model = engine.engine_config, engine.model_config.hf_config
        self.micro_batches = {
            "train": _micro_batches(config, config.max_token_len_per_gpu, config.micro_batch_size_per_gpu),
            "eval": _micro_batches(config, config.infer_max_token_len_per_gpu, config.infer_micro_batch_size_per_gpu),
        }
        tried = [self.micro_batches[mode] for mode in ("eval", "train")[: 1 if config.forward_only else 2]]
        budgets = [each["max_token_len_per_gpu"] for each in tried if each["use_dynamic_bsz"]]
        lengths = [min([length, *budgets]) for length in LENGTHS]
        generator = torch.Generator().manual_seed(0)
        self.rows = [random_row(length, model, generator) for length in lengths]
        # Every other sequence is another one of the same length.
        self.others = [row if i % 2 else random_row(len(row), model, generator) for i, row in enumerate(self.rows)]
        padded = Layout(packed=False, fused=False, shared=False)
        with self._mode("eval"):
            self.alone = self._values(self.rows, padded, ALONE)
            together = self._values(self.rows, padded, ALONE | {"micro_batch_size_per_gpu": len(self.rows)})
            with _embeddings_rounded_otherwise(engine.module, self.dtype):
                otherwise = self._values(self.rows, padded, ALONE)
        spread, _ = self._difference(together, self.alone)
        rounding, _ = self._difference(otherwise, self.alone)
        least = TOLERANCES[self.dtype]
        self.allowed = min(max(SPREADS * spread, ROUNDINGS * rounding, least), MOST * least)
        if self.dtype == torch.float32:
            self.allowed = least

    def complaint(self, layout: Layout) -> str | None:
        """What is wrong with a layout, as a sentence; None if nothing is."""
        with self._mode("eval"):
            scored = self._values(self.rows, layout, self.micro_batches["eval"])
        unlike = self._differ(scored, self.alone, 1.0)
        if unlike is not None:
            return f"log-probabilities differ from those of each sequence by itself by {unlike}."
        if self.engine.engine_config.forward_only or self.engine.model_config.enable_activation_offload:
            return None
        with self._mode("train"):
            torch.manual_seed(0)
            trained = self._values(self.rows, layout, self.micro_batches["train"])
            torch.manual_seed(1)
            beside_others = self._values(self.others, layout, self.micro_batches["train"])
        unlike = self._differ(trained, self.alone, 1.0)
        if unlike is not None:
            return f"log-probabilities in training mode differ from those of each sequence by itself by {unlike}."
        unlike = self._differ(beside_others[1::2], trained[1::2], ALIKE)
        of_others = "the other sequences of its micro-batch, or at random (dropout)"
        return unlike and f"log-probabilities of a sequence change with {of_others}, by {unlike}."

    def ahead(self) -> str | None:
        """What is wrong if tokens see later ones, in a row alone; None if they do not."""
        row, kept = self.rows[0], len(self.rows[0]) // 2
        other_end = torch.cat([row[:kept], self.others[0][kept:]])
        padded = Layout(packed=False, fused=False, shared=False)
        with self._mode("eval"):
            ours, theirs = ([values[: kept - 1]] for values in self._values([row, other_end], padded, ALONE))
        unlike = self._differ(ours, theirs, ALIKE)
        return f"log-probabilities of tokens change with those after them, by {unlike}." if unlike else None

    def _mode(self, mode: str) -> Any:
        return self.engine.eval_mode() if mode == "eval" else self.engine.train_mode(zero_grad_on_exit=False)

    def _values(
        self, rows: Sequence[torch.Tensor], layout: Layout, micro_batches: dict[str, Any]
    ) -> list[torch.Tensor]:
        """Log-probabilities (a critic: values) of each row's tokens after the first, in float32 on the host."""
        # A static micro-batch must divide their number.
        size = 1 if micro_batches["use_dynamic_bsz"] else micro_batches["micro_batch_size_per_gpu"]
        count = -(-len(rows) // size) * size
        tokens = [rows[i % len(rows)] for i in range(count)]
        with as_laid_out(self.engine, layout):
            settings = {"use_remove_padding": layout.packed, "use_fused_kernels": layout.fused, **micro_batches}
            values = row_values(self.engine, tokens, self.temperature, **settings)
        return values[: len(rows)]

    def _differ(self, ours: list[torch.Tensor], alone: list[torch.Tensor], share: float) -> str | None:
        """The largest and the mean difference, if the mean is more than a share of what rounding does; else None."""
        mean, largest = self._difference(ours, alone)
        if mean <= share * self.allowed:
            return None
        return f"up to {largest:.2g} (mean {mean:.2g}; allowed for {self.dtype}: {share * self.allowed:.2g}) nats"

    def _difference(self, ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> tuple[float, float]:
        """Mean and largest absolute difference, each the worst of all ranks'; NaN is infinitely far."""
        a, b = torch.cat(ours), torch.cat(theirs)
        difference = torch.where(a == b, 0, (a - b).abs()).nan_to_num(torch.inf)
        worst = torch.stack([difference.mean(), difference.max()]).to(self.engine.device_mesh.device_type)
        torch.distributed.all_reduce(worst, torch.distributed.ReduceOp.MAX)
        mean, largest = worst.tolist()
        return mean, largest


@contextmanager
def _embeddings_rounded_otherwise(module: Any, dtype: torch.dtype) -> Iterator[None]:
    """Each number of them moved by up to half a unit in its last place: every later rounding of the model is another,
    as it is with kernels that add up in another order."""

    def moved(_: Any, __: Any, embedded: torch.Tensor) -> torch.Tensor:
        half_units = torch.rand_like(embedded, dtype=torch.float32) - 0.5
        return (embedded * (1 + torch.finfo(dtype).eps * half_units)).to(embedded.dtype)

    hook = module.get_input_embeddings().register_forward_hook(moved)
    try:
        yield
    finally:
        hook.remove()


def _micro_batches(config: Any, tokens: int | None, rows: int | None) -> dict[str, Any]:
    return {
        "use_dynamic_bsz": config.use_dynamic_bsz,
        "max_token_len_per_gpu": tokens,
        "micro_batch_size_per_gpu": rows,
    }


def _named(engine: Any, layout: Layout) -> str:
    config = engine.model_config.hf_config
    words = [
        "packed (use_remove_padding=true)" if layout.packed else "padded",
        *(["with the fused head (use_fused_kernels=true)"] if layout.fused else []),
        *([f"shared by {engine.ulysses_sequence_parallel_size} ranks"] if layout.shared else []),
    ]
    attention = getattr(config, "_attn_implementation", None)
    return f"{config.architectures[0]} ({config.model_type}), sequences {', '.join(words)}, attention {attention}"


def _advice(layout: Layout, mend: Layout | None, model: str) -> str:
    """What to set, found by trying."""
    if mend is None:
        return (
            "Neither padding nor the model's own head nor ranks of their own mend it: choose another "
            f"{model}.override_config.attn_implementation (eager) or another model."
        )
    engine = model.removesuffix(".model").replace("_ref", "_ref.actor")
    settings = {
        "packed": f"{model}.use_remove_padding=false",
        "fused": f"{model}.use_fused_kernels=false",
        "shared": f"{engine}.ulysses_sequence_parallel_size=1",
    }
    left_out = [setting for part, setting in settings.items() if getattr(layout, part) and not getattr(mend, part)]
    return f"Set {' and '.join(left_out)}, with which they agree."
