"""One training step of our methods, from prompts to a new policy. Start reading a run here.

    sample    vLLM engines, a process each: responses of the policy, G to a prompt, with log mu of their tokens
    grade       agent loops: text, verifier, score
                  | TransferQueue: a row a response
    arrange   trainer (this process): whole groups, filled up with padding, into mini-batches of like cost for each rank
    score     trainer: labels, group ids, coefficients, credit, token weights and N of the whole batch
                  | TransferQueue: `exchange.RowFields`; with the call: `exchange.StepSettings`
    update    workers, a process a GPU: log pi_ref where it is not known; of each mini-batch the loss and its gradient
                (`worker/method_loss.py`), FSDP2's sum over ranks, AdamW
                  | returned: gradient norms, and a table of what is known of each row
    reset     trainer: is the reference due? workers: each copies its shards of the policy
    log       trainer: the tables become metrics

verl's loop does the rest: it draws the prompts before the step, and after it saves, validates, logs and sends vLLM the
new weights. With partial rollouts (`partial.py`) more prompts are drawn; sample returns the first that are done and
breaks the others off, and these go on when vLLM has the new weights. On GPUs of its own (`separate.py`) vLLM writes on
during the update, and stops only while it gets the weights. Where verl's own step (`PPOTrainer._step_once`) has a
critic, a KL term and advantages, ours has none.
"""

from dataclasses import replace
from typing import Any

import torch
import transfer_queue as tq
from tensordict import TensorDict
from verl.utils.debug import marked_timer
from verl.workers.utils.padding import response_from_nested

from pacs.algorithm.distillation import TEACHER
from pacs.integration.exchange import RANKS, SLOPES
from pacs.integration.schema import OF_OLD_LOG_PROBS
from pacs.integration.trainer.arrangement import arrange
from pacs.integration.trainer.effective_ranks import rank_metrics, ranks_are_due, ranks_of
from pacs.integration.trainer.step_rows import fields_read, reference_spans, step_rows
from pacs.integration.trainer.teacher import teach, teacher_metrics
from pacs.integration.trainer.told import guided_rows
from pacs.integration.trainer.update import log, reset, update
from pacs.verl_keys.config import draws_more, guides


def training_step(trainer: Any, metrics: dict[str, Any], timing: dict[str, float], prompts: int) -> Any:
    """Take one step.

    Args:
        trainer: a `MethodTrainer`.
        metrics: gets the step's.
        timing: gets the seconds of each part, under verl's names.
        prompts: how many to train on.

    Returns:
        verl's keys and tags of the step's rows, padding among them.

    Raises:
        ValueError: a score that is not finite, or that the method does not train on.
        PoisonError: too many updates in a row were skipped.
    """
    with marked_timer("gen", timing, color="red"):
        batch = sample(trainer, metrics, prompts)
    if trainer.reward_loop_manager.reward_loop_worker_handles is None:  # else the agent loops have graded
        with marked_timer("reward", timing, color="yellow"):
            batch = trainer._compute_reward_colocate(batch, metrics=metrics)
    batch, arrangement = arrange(trainer, batch, metrics)
    if wants_old_log_probs(trainer):
        with marked_timer("old_log_prob", timing, color="blue"):
            batch = trainer._compute_old_log_prob(batch, metrics=metrics)
    with marked_timer("adv", timing, color="brown"):
        batch = score(trainer, batch, metrics)
    if trainer.critic is not None:
        with marked_timer("update_critic", timing, color="pink"), trainer.phases.within("update_critic"):
            trainer.critic.update(batch, trainer.grades.rewards.tolist(), metrics)
        if trainer.config.trainer.critic_warmup > trainer.global_steps:
            return batch  # the policy stands, so that the critic learns what it is worth
    with marked_timer("update_actor", timing, color="red"):
        returned = update(trainer, batch, arrangement)
        metrics.update(log(trainer, arrangement.choice, returned))
        reset(trainer, metrics)
    return batch


def sample(trainer: Any, metrics: dict[str, Any], prompts: int) -> Any:
    """Wait for the responses to so many prompts, graded; vLLM puts its memory away, where the update needs it."""
    trainer.on_sample_begin()
    batch, staleness = trainer.replay_buffer.sample(
        global_steps=trainer.global_steps, partition_id="train", batch_size=prompts
    )
    metrics.update(staleness)
    batch.extra_info["temperature"] = trainer.config.actor_rollout_ref.rollout.temperature
    trainer.on_sample_end()
    return batch


def wants_old_log_probs(trainer: Any) -> bool:
    """Whether verl's pass of log pi_old is due: at its interval, for verl's metrics, or for what `Method.reads`."""
    every = trainer.method.metrics.old_log_prob_every
    due = every is not None and trainer.global_steps % every == 0
    due = due or ranks_are_due(trainer)
    return due or not OF_OLD_LOG_PROBS.isdisjoint(trainer.method.reads)


def score(trainer: Any, batch: Any, metrics: dict[str, Any]) -> Any:
    """Grade the whole batch and write what the workers need of each row."""
    method, where = trainer.method, {"keys": batch.keys, "partition_id": batch.partition_id}
    grades = trainer.grades = trainer.grading.grade(batch)
    if TEACHER in method.reads:
        metrics.update(teach(trainer, batch))
    fields = fields_read(method)
    tokens = tq.kv_batch_get(select_fields=[name for name in fields if name != RANKS], **where) if fields else None
    if tokens is not None and SLOPES in fields:
        tokens[SLOPES] = response_from_nested(tokens[SLOPES], tokens["response_mask"])
    measured = ranks_of(trainer, where)
    if tokens is not None and measured is not None and RANKS in fields:
        tokens[RANKS] = measured[0]
    rows, alone = step_rows(
        grades.group_ids,
        ~grades.sampled,
        grades.rewards,
        method,
        grades.tokens,
        tokens,
        equal_groups=draws_more(trainer.config) and trainer.config.run.rollouts.dars.scale,
        memory=trainer.memory,
    )
    metrics.update(rank_metrics(trainer, measured, rows))
    if guides(trainer.config):
        rows = replace(rows, guided=guided_rows(grades.sampled, grades.infos))
    metrics.update(trainer.grading.metrics(grades, alone) | trainer.prompts.learn_rates(batch, grades))
    metrics.update(teacher_metrics(tokens, grades.sampled))
    # verl's metrics read advantages; ours are made on the workers, and `MethodTrainer` leaves those metrics out.
    none = torch.zeros(len(batch), 1)
    written = rows.pack() | {"advantages": none, "returns": none}
    if trainer.config.run.rlpr.answer_weight:
        written |= reference_spans(batch).pack()
    return tq.kv_batch_put(fields=TensorDict(written, batch_size=len(batch)), **where)
