"""What a worker's pass before the gradient makes of the rows, on one rank and without a model."""

from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from tensordict import TensorDict
from torch.nn.utils.rnn import pad_sequence
from verl.utils import tensordict_utils as tu

from pacs.algorithm import Method, Pacs, row_columns
from pacs.algorithm.aggregated import Grpo
from pacs.algorithm.distillation import Distillation, PacsDistilled
from pacs.algorithm.nft import Nft
from pacs.algorithm.token_weights import Steer, TokenWeightConfig
from pacs.algorithm.vineppo import VinePpo
from pacs.integration import exchange
from pacs.integration.worker.method_loss import MethodLoss
from pacs.integration.worker.method_worker import MethodTrainingWorker
from tests.integration.worker.poison_case import ROWS, batch_of, jagged, loss_of
from tests.integration.worker.test_policy_loss import log_prob, of_responses
from tests.integration.worker.worker_case import loss_of as naive_loss_of


def scored(data: TensorDict, method: Method) -> torch.Tensor:
    """(B, C) of `MethodTrainingWorker._score`; log pi is that of `loss_of`, -1.5 - 0.1 * row."""
    values = [torch.full((len(row.response),), -1.5 - 0.1 * i) for i, row in enumerate(ROWS)]
    engine = SimpleNamespace(
        get_data_parallel_group=lambda: None, get_data_parallel_size=lambda: 1, get_data_parallel_rank=lambda: 0
    )
    worker: Any = SimpleNamespace(
        loss_fn=MethodLoss(method),
        engine=engine,
        device_name="cpu",
        policy_pass_seconds=0.0,
        log_probs=lambda data, **context: jagged(values),
    )
    worker._of_all_ranks = partial(MethodTrainingWorker._of_all_ranks, worker)
    return MethodTrainingWorker._score(worker, data, own_reference=False)


pytestmark = pytest.mark.usefixtures("process_group")
METHODS = {"group": Pacs(), "batch": Pacs(weight_scope="batch", beta=3.0), "tokens": Nft()}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_coefficients_are_those_that_the_rows_came_with(method: Method) -> None:
    """Those of the whole train batch, of which a mini-batch is a part: others make another gradient, the same as
    through the whole groups."""
    for factor in (1.0, 0.7):
        grouped = batch_of("grouped", {}, method)
        grouped["pacs_coefficients"] = factor * grouped["pacs_coefficients"]
        cached = grouped.copy()
        tu.assign_non_tensor(cached, **{"pacs_strategy": "cached"})
        cached[exchange.SCORED] = scored(cached, method)
        columns = dict(zip(row_columns(method), cached[exchange.SCORED].unbind(dim=1), strict=True))
        loss, wanted, metrics = loss_of(grouped, {}, method)
        names, values = metrics[exchange.TABLES]
        table = dict(zip(names, values, strict=True))
        for name in ("loss", "effective_advantage", "tokens", "log_ratio"):
            torch.testing.assert_close(columns[name], table[name], rtol=1e-4, atol=1e-6)
        assert loss.isfinite()
        torch.testing.assert_close(loss_of(cached, {}, method)[1], wanted, rtol=1e-4, atol=1e-6)
        assert wanted.abs().max() > 1e-3


CREDITED: dict[str, Method] = {
    "vineppo": VinePpo(),
    "distillation": Distillation(teacher="folder", strength=0.7, task=0.5),
    "pacs_distilled": PacsDistilled(teacher="folder", strength=0.3, beta=0.5),
    "grpo, steer exact": Grpo(token_weight=TokenWeightConfig(name="steer", steer=Steer(form="exact", least=0.8))),
}


@pytest.mark.parametrize("strategy", ["grouped", "cached"])
@pytest.mark.parametrize("method", CREDITED.values(), ids=CREDITED)
def test_what_credits_or_weighs_each_token_has_the_naive_gradient(method: Method, strategy: str) -> None:
    data = batch_of("grouped", {}, method)
    if strategy == "cached":
        tu.assign_non_tensor(data, **{"pacs_strategy": "cached"})
        data[exchange.SCORED] = scored(data, method)
    _, gradient, _ = loss_of(data, {}, method)
    leaves = [torch.full((len(row.mask),), log_prob(i)).requires_grad_() for i, row in enumerate(ROWS)]
    there = [i for i, row in enumerate(ROWS) if row.uid is not None]
    references = [torch.full_like(leaves[i], -2.0) for i in there]
    naive = naive_loss_of([leaves[i] for i in there], references, [ROWS[i] for i in there], method)
    expected = torch.autograd.grad(naive, leaves, allow_unused=True, materialize_grads=True)
    torch.testing.assert_close(of_responses(gradient), pad_sequence(expected, batch_first=True), rtol=1e-4, atol=1e-6)
    assert len({round(value, 4) for row in expected for value in row.tolist()}) > 4
