"""Responses that a critic has judged, and what its update is by plain autograd: each trace a row of its own."""

import random
from collections.abc import Sequence

import torch
from tensordict import TensorDict
from transformers import PreTrainedModel

from pacs.integration.trainer.critic_rows import CriticRow, Judged, Trace, critic_batch, critic_rows
from tests.integration.worker.worker_case import VOCABULARY

UPDATES = 2
TEMPERATURE = 0.7


def make_judged(number: int, seed: int) -> list[Judged]:
    """Responses of one to four segments; all traces are different."""
    rng = random.Random(seed)

    def tokens(least: int, most: int) -> list[int]:
        return [rng.randrange(3, VOCABULARY) for _ in range(rng.randrange(least, most))]

    found = []
    for _ in range(number):
        response = tokens(3, 14)
        starts = sorted({0, *(rng.randrange(len(response)) for _ in range(rng.randrange(4)))})
        traces = []
        for start in starts:
            trace = tokens(2, 6)
            traces.append(Trace(start, trace, [-1.0] * len(trace), rng.choice([None, 0.0, 0.3, 1.0])))
        found.append(Judged(tokens(2, 5), response, tokens(1, 3), float(rng.random() < 0.5), traces))
    return found


def credits_of(responses: Sequence[Judged], seed: int) -> list[list[float]]:
    rng = random.Random(seed)
    return [[rng.uniform(-1, 1) for _ in response.traces] for response in responses]


def make_rows(responses: Sequence[Judged], credits: Sequence[Sequence[float]], most_tokens: int) -> list[CriticRow]:
    pairs = zip(responses, credits, strict=True)
    return [row for response, credit in pairs for row in critic_rows(response, credit, most_tokens)]


def make_batch(rows: Sequence[CriticRow], ranks: int) -> TensorDict:
    return critic_batch(rows, updates=UPDATES, ranks=ranks, pad=2, temperature=TEMPERATURE)


def naive_updates(
    model: PreTrainedModel,
    batch: TensorDict,
    ranks: int,
    responses: Sequence[Judged],
    credits: Sequence[Sequence[float]],
    learning_rate: float,
) -> dict[str, torch.Tensor]:
    """The weights after plain SGD on the mini-batches of `batch`, by rho = pi / pi_start of each token."""
    known = {
        tuple(trace.tokens): (response, trace, of_trace)
        for response, credit in zip(responses, credits, strict=True)
        for trace, of_trace in zip(response.traces, credit, strict=True)
    }
    start = {key: _log_probs(model, *about[:2]).detach() for key, about in known.items()}
    per_rank = len(batch) // ranks
    each = per_rank // UPDATES
    for update in range(UPDATES):
        places = [rank * per_rank + update * each + i for rank in range(ranks) for i in range(each)]
        traces = [key for place in places for key in _traces_of(batch, place)]
        loss = torch.zeros(())
        for key in traces:
            response, trace, credit = known[key]
            ratios = (_log_probs(model, response, trace) - start[key]).exp()
            loss = loss - credit * ratios.sum() / len(traces)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter -= learning_rate * parameter.grad
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def _log_probs(model: PreTrainedModel, response: Judged, trace: Trace) -> torch.Tensor:
    """(T,) of a trace's tokens, in a row of its own."""
    state = response.head + response.response[: trace.start] + response.tail
    logits = model(torch.tensor([state + trace.tokens])).logits[0, len(state) - 1 : -1]
    return torch.log_softmax(logits / TEMPERATURE, -1).gather(-1, torch.tensor(trace.tokens)[:, None])[:, 0]


def _traces_of(batch: TensorDict, place: int) -> list[tuple[int, ...]]:
    """The traces that a row holds, of the tokens that are learned from: a row's branch after another."""
    tokens, mask = batch["responses"].unbind()[place].tolist(), batch["response_mask"].unbind()[place].tolist()
    branches = batch["pacs_branch"].unbind()[place].tolist()[-len(tokens) :]
    found: dict[int, list[int]] = {}
    for token, own, branch in zip(tokens, mask, branches, strict=True):
        if own:
            found.setdefault(branch, []).append(token)
    return [tuple(trace) for trace in found.values()]
