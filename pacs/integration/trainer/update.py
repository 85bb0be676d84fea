"""The second half of a step: the workers' updates, what they returned as metrics, and the reset of the reference."""

from typing import Any

import numpy as np
from verl.utils.metric import reduce_metrics

from pacs.base.terminal import print
from pacs.integration.exchange import TABLES, StepSettings, tables_of
from pacs.integration.strategy import Choice
from pacs.integration.trainer.arrangement import Arrangement
from pacs.integration.trainer.step_rows import columns, is_padding
from pacs.integration.worker.not_finite import BATCH_FIELDS, poison_error, write_evidence
from pacs.metrics.reduce import gradient_metrics, update_metrics


def update(trainer: Any, batch: Any, arrangement: Arrangement) -> dict[str, Any]:
    """Have the workers train on every mini-batch.

    Args:
        trainer: a `MethodTrainer`.
        batch: verl's keys and tags of the rows.
        arrangement: of these.

    Returns:
        Their metrics: a list of what each update returned, and the tables of rows (`exchange.tables_of`).

    Raises:
        PoisonError: too many updates in a row were skipped; what this step saw is on disk.
    """
    config = trainer.config.actor_rollout_ref
    actor, strategy, rows = config.actor, arrangement.choice.strategy, arrangement.block_rows
    entropy_every = trainer.method.metrics.entropy_every
    step = StepSettings(
        strategy=strategy,
        reference_is_policy=trainer.reference.is_policy,
        learning_rate_factor=trainer.reference.learning_rate_factor(trainer.global_steps),
        answer_weight=float(trainer.config.run.rlpr.answer_weight),
    )
    batch.extra_info |= {
        "calculate_entropy": entropy_every is not None and trainer.global_steps % entropy_every == 0,
        "global_batch_size": arrangement.mini_batch_rows,
        "mini_batch_size": arrangement.mini_batch_rows,
        "epochs": actor.ppo_epochs,
        "seed": actor.data_loader_seed,
        "dataloader_kwargs": {"shuffle": False},
        "temperature": config.rollout.temperature,
        **step.pack(),
    }
    if strategy == "grouped":
        batch.extra_info["force_group_size"] = rows
        if not actor.use_dynamic_bsz:
            # With forced groups verl counts a static micro-batch in groups.
            batch.extra_info["micro_batch_size_per_gpu"] = actor.ppo_micro_batch_size_per_gpu // rows
    returned: dict[str, Any] = trainer.actor_rollout_wg.update_actor(batch)["metrics"]
    stop_at_poison(trainer, batch, returned)
    return returned


def log(trainer: Any, choice: Choice, returned: dict[str, Any]) -> dict[str, float]:
    """What the workers returned, under the names by which it is logged."""
    numbers = {name: value for name, value in returned.items() if name != TABLES}
    metrics: dict[str, float] = update_metrics(tables_of(returned)) | {
        "pacs/update/cached_fraction": float(choice.strategy == "cached"),
        "pacs/update/learning_rate_mean": numbers.pop("learning_rate"),
        "perf/mfu/actor": float(np.mean(numbers.pop("mfu"))),
    }
    metrics |= gradient_metrics(numbers["grad_norm"], trainer.config.actor_rollout_ref.actor.optim.clip_grad)
    metrics |= {name: numbers.pop(name) for name in ("timing_s/reference_pass", "timing_s/policy_pass")}
    # The value of the loss function is the surrogate's under `cached`; pacs/loss_mean is Eq. 8's.
    del numbers["loss"]
    return metrics | {f"actor/{name}": value for name, value in reduce_metrics(numbers).items()}


def reset(trainer: Any, metrics: dict[str, Any]) -> None:
    """Make the reference the policy if a trigger fires after this step's updates; logged in `metrics`."""
    settings = trainer.method.reference
    event = trainer.reference.after_updates(
        trainer.global_steps,
        saturated=metrics.get("pacs/saturated_fraction", 0.0),
        log_ratio=metrics.get("pacs/log_ratio/sequence_mean", 0.0),
    )
    metrics["pacs/reference/reset_count"] = float(event is not None)
    if event is not None:
        trainer.references.forget()
        trainer.actor_rollout_wg.reset_reference(settings.reset_optimizer)
        value = "" if event.trigger == "reset_every" else f": {event.value:g}"  # else it is the step again
        if settings.reset_every != 1:  # else it would be said of every step
            print(f"pacs: step {event.step}: the reference is now the policy ({event.trigger}{value})", flush=True)


def stop_at_poison(trainer: Any, batch: Any, returned: dict[str, Any]) -> None:
    """End the run if too many updates in a row were skipped, with what this step saw on disk."""
    if not trainer.skipped.add(returned["grad_norm"]):
        return
    evidence = write_evidence(
        trainer.run_dir,
        step=trainer.global_steps,
        skipped_in_a_row=trainer.skipped.most,
        batch=columns(batch, *BATCH_FIELDS),
        padding=[is_padding(tag) for tag in batch.tags],
        returned=returned,
        tokenizer=trainer.tokenizer,
    )
    raise poison_error(trainer.skipped.most, trainer.global_steps, evidence)
