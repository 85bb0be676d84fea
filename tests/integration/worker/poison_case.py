"""A step with one row that is not finite: PACS's loss as verl calls it, on a real batch, without a model."""

from typing import Any

import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu

from pacs.algorithm import Pacs, row_columns, score_responses
from pacs.integration import exchange
from pacs.integration.worker.method_loss import MethodLoss
from tests.integration.worker.worker_case import Row, as_tensordict, deal_out, make_rows

CONFIG = Pacs()
#: Seven rows in two groups (of four and three), and one of padding.
ROWS: list[Row] = deal_out(make_rows(2, seed=1), groups_per_mini_batch=2, ranks=1, whole_groups=True)[0]


def jagged(values: list[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(values, layout=torch.jagged)


def first_token(row: Row) -> int:
    """The place of the policy's first token in the response; of a row that has none, the first place."""
    return row.mask.index(1) if any(row.mask) else 0


def batch_of(strategy: str, reference: dict[int, float], config: Pacs = CONFIG) -> TensorDict:
    """`ROWS` as a worker has them before the gradient pass.

    log pi_ref is -2, or `reference` in a row's `first_token`. Where the policy wrote nothing it is NaN.
    """
    data = as_tensordict([ROWS], 0, config)
    values = [torch.full((len(row.response),), -2.0).where(torch.tensor(row.mask) == 1, torch.nan) for row in ROWS]
    for row, value in reference.items():
        values[row][first_token(ROWS[row])] = value
    data[exchange.REFERENCE] = jagged(values)
    settings = {
        "pacs_strategy": strategy,
        "pacs_reference_is_policy": False,
        "pacs_learning_rate_factor": 1.0,
        "pacs_self_reference": False,
        "pacs_update": 2,
        "pacs_denominator": float(data["pacs_shares"].sum()),
        "pacs_rows": float(data["pacs_row_mask"].sum()),
        "dp_size": 1,
    }
    if strategy == "cached":
        columns = score_responses(
            torch.tensor([(0.5 - 0.1 * i) * sum(row.mask) for i, row in enumerate(ROWS)]),
            torch.tensor([sum(row.mask) for row in ROWS]),
            data["pacs_labels"],
            data["pacs_group_ids"],
            config,
            log_likelihoods=torch.tensor([(-1.5 - 0.1 * i) * sum(row.mask) for i, row in enumerate(ROWS)]),
            row_mask=data["pacs_row_mask"],
        )
        data[exchange.SCORED] = torch.stack([columns[name] for name in row_columns(config)], dim=1).float()
    tu.assign_non_tensor(data, **settings)
    return data


def loss_of(
    data: TensorDict, policy: dict[int, float], config: Pacs = CONFIG
) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
    """The loss, its gradient in log pi_theta at every token, and what it returns.

    log pi_theta is -1.5 - 0.1 * row, or `policy` in a row's `first_token`. Where the policy wrote nothing it is NaN,
    and so is the entropy, which is row + 1 elsewhere.
    """
    # verl's log-probability at a place is that of the token after it.
    masks = [torch.tensor([0] * (len(row.prompt) - 1) + row.mask + [0]) == 1 for row in ROWS]
    values = [torch.full((len(m),), -1.5 - 0.1 * i).where(m, torch.nan) for i, m in enumerate(masks)]
    for row, value in policy.items():
        values[row][len(ROWS[row].prompt) - 1 + first_token(ROWS[row])] = value
    leaf = torch.cat(values).requires_grad_()
    offsets = torch.tensor([0, *(len(value) for value in values)]).cumsum(0)
    entropy = torch.cat([torch.full((len(m),), i + 1.0).where(m, torch.nan) for i, m in enumerate(masks)])
    output = {
        "log_probs": torch.nested.nested_tensor_from_jagged(leaf, offsets),
        "entropy": torch.nested.nested_tensor_from_jagged(entropy, offsets),
    }
    loss, metrics = MethodLoss(config)(output, data)
    (gradient,) = torch.autograd.grad(loss, leaf)
    return loss.detach(), gradient, metrics


def returned(table: dict[str, Any], norms: list[float]) -> dict[str, Any]:
    """The workers' metrics of a step of one micro-batch, as verl hands them to the trainer."""
    return {
        exchange.TABLES: [table[exchange.TABLES]],
        "grad_norm": norms,
        "learning_rate": 1e-3,
        "mfu": [0.1],
        "loss": [float("nan")],
        "lr": [1e-3],
        "timing_s/reference_pass": 1.0,
        "timing_s/policy_pass": 0.0,
    }
