"""A train batch as TransferQueue hands it to verl's workers, and what PACS does with it by plain autograd.

Shared by the tests of the worker. The reference here is a Hugging Face model, one unpadded sequence at a time, and the
naive loss of tests/algorithm/naive.py: neither verl nor `pacs.algorithm`.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from tensordict import TensorDict
from torch.nn.utils.rnn import pad_sequence
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from pacs.algorithm import Method, Pacs, TrainBatch, advantages
from pacs.algorithm.aggregated import Aggregated, Grpo
from pacs.algorithm.distillation import TEACHER, Distillation, PacsDistilled
from pacs.algorithm.era import Era
from pacs.algorithm.vineppo import STEP, STEP_VALUE, VinePpo
from pacs.integration.exchange import ReferenceSpans
from pacs.integration.trainer.arrangement import blocks_of, rows_of_ranks
from pacs.integration.trainer.arrangement import groups_of as rows_of_groups
from pacs.integration.trainer.step_rows import dense_ids, fields_read, step_rows
from tests.algorithm.naive import Batch, naive_loss
from tests.algorithm.naive_family import NAIVE, groups_of

VOCABULARY = 40
GROUP = 4
FAMILIES = {"qwen3": (Qwen3Config, Qwen3ForCausalLM), "llama": (LlamaConfig, LlamaForCausalLM)}

#: Tokens between two effective ranks of a response.
STRIDE = 3
#: What ERA remembers of the steps before.
ERA_MEMORY = {"era_rank": 2.0, "era_velocity": 0.2, "era_acceleration": -0.3}


def tiny_model(family: str, seed: int) -> PreTrainedModel:
    """Of so wide a range of weights that two seeds differ by nats."""
    torch.manual_seed(seed)
    config_class, model_class = FAMILIES[family]
    config = config_class(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        max_position_embeddings=128,
        initializer_range=0.12,
        tie_word_embeddings=False,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return model_class(config)


@dataclass(frozen=True)
class Row:
    """A response; `mask` is 1 at the policy's own tokens, 0 at a tool's; `uid` is None in a row of padding.

    The label is right or wrong, or a number where rewards are graded. `answer` are the places of a reference answer's
    tokens: of its first, and behind its last.
    """

    uid: str | None
    prompt: list[int]
    response: list[int]
    mask: list[int]
    label: float
    answer: tuple[int, int] = (0, 0)


PADDING = Row(None, [1] * 7, [1], [0], False)


def make_rows(groups: int, seed: int, sizes: Sequence[int] | None = None) -> list[Row]:
    """Groups of four or three (a response failed), or of `sizes`, with uneven lengths; the first is of one class.

    The policy writes in turns, between which a tool does: before, between and after its own tokens. In the last row of
    the second group a tool wrote all.
    """
    rng = random.Random(seed)
    rows = []
    for group in range(groups):
        prompt = [rng.randrange(1, VOCABULARY) for _ in range(rng.randrange(2, 6))]
        size = GROUP - (group % 3 == 1) if sizes is None else sizes[group]
        labels = [True] * size if group == 0 else [True, False, *(rng.random() < 0.5 for _ in range(size - 2))]
        for label in labels:
            response = [rng.randrange(1, VOCABULARY) for _ in range(rng.randrange(1, 12))]
            mask = [int(rng.random() < 0.7) for _ in response]
            mask[rng.randrange(len(mask))] = 1
            rows.append(Row(str(group), prompt, response, mask, label))
        if group == 1:
            rows[-1] = replace(rows[-1], mask=[0] * len(response))
    rng.shuffle(rows)
    return rows


def deal_out(
    rows: list[Row], *, groups_per_mini_batch: int, ranks: int, whole_groups: bool, size: int = GROUP
) -> list[list[Row]]:
    """What each rank is given, padding included, as the trainer arranges it; larger blocks hold several groups."""
    lengths = [len(row.prompt) + len(row.response) for row in rows]
    groups = list(rows_of_groups([str(row.uid) for row in rows]).values())
    fewest = ranks if size > GROUP else None
    blocks = blocks_of(groups, lengths, per_mini_batch=groups_per_mini_batch, size=size, ranks=fewest)
    rows = rows + [PADDING] * (sum(len(block) for mini_batch in blocks for block in mini_batch) - len(rows))
    costs = [len(row.prompt) + len(row.response) for row in rows]
    parts = rows_of_ranks(blocks, costs, ranks, whole_groups=whole_groups)
    return [[rows[i] for i in part] for part in parts]


def mini_batches(parts: list[list[Row]], count: int) -> list[list[Row]]:
    """The rows of each mini-batch, over all ranks, without the padding."""
    size = len(parts[0]) // count
    return [[row for part in parts for row in part[i * size : (i + 1) * size] if row.uid] for i in range(count)]


def as_tensordict(parts: list[list[Row]], rank: int, config: Method) -> TensorDict:
    """The fields verl's engine and PACS's worker read of a rank's rows, jagged where verl's are."""

    def jagged(values: list[torch.Tensor]) -> torch.Tensor:
        return torch.nested.as_nested_tensor(values, layout=torch.jagged)

    batch = [row for part in parts for row in part]
    tokens = TensorDict(  # as TransferQueue gives them
        {
            "response_mask": jagged([torch.tensor(row.mask) for row in batch]),
            "rollout_log_probs": jagged([rollout_log_probs(row) for row in batch]),
            "old_log_probs": jagged([rollout_log_probs(row) for row in batch]),
            "entropy": jagged([entropies(row) for row in batch]),
            "effective_rank": jagged([effective_ranks(row) for row in batch]),
            "mean_entropy_slope": jagged([entropy_slopes(row) for row in batch]),
            STEP: jagged([torch.tensor(steps_of(row)).float() for row in batch]),
            STEP_VALUE: jagged([torch.tensor([value_of(row, step) for step in steps_of(row)]) for row in batch]),
            TEACHER: jagged([teacher_log_probs(row) for row in batch]),
        },
        batch_size=len(batch),
    )
    step, _ = step_rows(
        dense_ids([str(row.uid) for row in batch]),
        torch.tensor([row.uid is None for row in batch]),
        torch.tensor([float(row.label) for row in batch]),
        config,
        torch.tensor([float(sum(row.mask)) for row in batch]),
        tokens if fields_read(config) else None,
        equal_groups=isinstance(config, EqualPull),
        memory=ERA_MEMORY,
    )
    first = rank * len(parts[0])
    own = slice(first, first + len(parts[rank]))
    rows = parts[rank]
    spans = torch.tensor([row.answer for row in batch])
    packed = step.pack() | (ReferenceSpans(*spans.unbind(dim=1)).pack() if spans.any() else {})
    given = {name: jagged(list(v.unbind()[own])) if v.is_nested else v[own] for name, v in packed.items()}
    sequences = [torch.tensor(row.prompt + row.response) for row in rows]
    masks = [torch.tensor(row.mask) for row in rows]
    return TensorDict(
        {
            "input_ids": jagged(sequences),
            "position_ids": jagged([torch.arange(len(sequence)) for sequence in sequences]),
            "prompts": jagged([torch.tensor(row.prompt) for row in rows]),
            "responses": jagged([torch.tensor(row.response) for row in rows]),
            "response_mask": jagged(masks),
            "loss_mask": jagged(masks),
            "rollout_log_probs": jagged([rollout_log_probs(row) for row in rows]),
            **given,
        },
        batch_size=len(rows),
    )


class EqualPull(Pacs):
    """PACS whose groups pull alike, whatever their size (`run.rollouts.dars.scale`)."""


class TokenCredit(Grpo):
    """GRPO's advantage of each token, times the probability that it was sampled with."""

    READS = ("rollout_log_probs",)

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        return advantages.normalized(batch.labels, batch.groups)[:, None] * batch.streams["rollout_log_probs"].exp()


def token_credit_loss(
    log_probs: list[torch.Tensor], reference: list[torch.Tensor], rows: list[Row], config: Aggregated
) -> torch.Tensor:
    """That of GRPO and what has other credit, a token at a time."""
    total, tokens = torch.zeros(()), 0
    for row, own, ref in zip(rows, log_probs, reference, strict=True):
        labels = torch.tensor([float(other.label) for other in rows if other.uid == row.uid])
        advantage = float((float(row.label) - labels.mean()) / (labels.std() + 1e-6))
        for t in range(len(row.response)):
            if not row.mask[t]:
                continue
            tokens += 1
            credit = naive_credit(row, t, advantage, config)
            rho = torch.exp(own[t] - ref[t])
            objective = torch.minimum(credit * rho, credit * rho.clamp(0.8, 1.2))
            total = total - (objective if credit >= 0 else objective.clamp(min=3 * credit))
    return total / tokens


def naive_credit(row: Row, t: int, advantage: float, config: Aggregated) -> float:
    """Of a token of a response with that advantage of GRPO."""
    if isinstance(config, VinePpo):
        steps = steps_of(row)
        later = [value_of(row, step) for place, step in enumerate(steps) if row.mask[place] and step == steps[t] + 1]
        return (later[0] if later else float(row.label)) - value_of(row, steps[t])
    if isinstance(config, Distillation):
        return config.strength * teacher_gap(row, t) + config.task * advantage
    return advantage * (math.exp(float(rollout_log_probs(row)[t])) if isinstance(config, TokenCredit) else 1.0)


def steps_of(row: Row) -> list[int]:
    """The number of each token's step: a step has up to three of the policy's tokens."""
    return [max(0, sum(row.mask[: t + 1]) - 1) // 3 for t in range(len(row.response))]


def value_of(row: Row, step: int) -> float:
    """As completions of what stands before a step would be worth."""
    return (sum(row.response) + 5 * step) % 9 / 8


def teacher_log_probs(row: Row) -> torch.Tensor:
    """As the teacher's pass would give them; at a tool's tokens they are not read."""
    found = torch.tensor([-0.2 - (3 * token + 5 * t) % 17 / 5 for t, token in enumerate(row.response)])
    return found.where(torch.tensor(row.mask) == 1, torch.nan)


def teacher_gap(row: Row, t: int) -> float:
    """log pi_teacher - log pi_old of a token."""
    return float(teacher_log_probs(row)[t] - rollout_log_probs(row)[t])


def taught(
    log_probs: list[torch.Tensor], reference: list[torch.Tensor], rows: list[Row], strength: float
) -> torch.Tensor:
    """The mean over responses of the mean over tokens of the teacher's credit times the log-ratio."""
    total = torch.zeros(())
    for row, own, ref in zip(rows, log_probs, reference, strict=True):
        for t in [place for place, counts in enumerate(row.mask) if counts]:
            total = total + strength * teacher_gap(row, t) * (own[t] - ref[t]) / sum(row.mask)
    return total / len(rows)


def naive_correction(rows: list[Row], reference: list[torch.Tensor], config: Method) -> list[torch.Tensor]:
    """What `method.update.correction` multiplies the gradient of each token by, a token at a time; 1 at a tool's."""
    correction, found = config.update.correction, []
    for row, ref in zip(rows, reference, strict=True):
        gaps = {t: float(ref[t] - rollout_log_probs(row)[t]) for t, own in enumerate(row.mask) if own}
        mean = sum(gaps.values()) / len(gaps) if gaps else 0.0
        found.append(torch.ones(len(row.response)))
        for t, gap in gaps.items():
            ratio = math.exp(gap)
            if correction.kind == "truncate":
                found[-1][t] = min(ratio, correction.cap)
            elif correction.kind == "mask":
                found[-1][t] = ratio if 1 / correction.cap <= ratio <= correction.cap else 0.0
            if abs(mean) > math.log(correction.sequence_cap or math.inf):
                found[-1][t] = 0.0
    return found


def rollout_log_probs(row: Row) -> torch.Tensor:
    """As vLLM would give them; at a tool's tokens it has none."""
    return torch.linspace(-3, -1, len(row.response)).where(torch.tensor(row.mask) == 1, torch.nan)


def entropies(row: Row) -> torch.Tensor:
    """As verl's pass would give them; at a tool's tokens they are not read."""
    return torch.linspace(2.5, 0.5, len(row.response)).where(torch.tensor(row.mask) == 1, torch.nan)


def entropy_slopes(row: Row) -> torch.Tensor:
    """STEER's sum over the vocabulary, as the pass of log pi_old would give it; at a tool's tokens it is not read."""
    slopes = torch.linspace(-0.3, 0.2, len(row.response))
    return slopes.where(torch.tensor(row.mask) == 1, torch.nan)


def effective_ranks(row: Row) -> torch.Tensor:
    """As the pass of log pi_old would give them, whatever the stride; at a tool's tokens they are not read."""
    ranks = torch.tensor([1 + (7 * token + 3 * t) % 11 / 4 for t, token in enumerate(row.response)])
    return ranks.where(torch.tensor(row.mask) == 1, torch.nan)


def era_weight(row: Row, advantage: float, config: Era) -> list[float]:
    """A'/A at each of the policy's own tokens (arXiv 2509.23808)."""
    ranks = [float(rank) for rank, own in zip(effective_ranks(row), row.mask, strict=True) if own]
    if not ranks or not advantage:
        return [1.0] * len(ranks)
    m = ranks[config.stride - 1 :: config.stride]
    velocities = [m[j] - sum(m[:j]) / j for j in range(1, len(m))]
    accelerations = [after - before for before, after in pairwise(velocities)]
    means = [sum(values) / len(values) if values else 0.0 for values in (velocities, accelerations)]
    rank, velocity, acceleration = (
        min(5.0, max(-5.0, (value - usual) / abs(usual)))
        for value, usual in zip((ranks[-1], *means), ERA_MEMORY.values(), strict=True)
    )
    share = 1 / (1 + math.exp(-config.gain * acceleration))
    bonus = max(0.0, share * math.tanh(rank) + (1 - share) * math.tanh(velocity))
    weight = (advantage + min(bonus, abs(advantage) / config.cut)) / advantage
    return [weight if config.tokens == "all" or place == len(ranks) - 1 else 1.0 for place in range(len(ranks))]


def naive_token_weights(rows: list[Row], config: Method) -> list[torch.Tensor]:
    """What `method.token_weight` multiplies the gradient of each token by, a token at a time; 1 at a tool's."""
    name, known = config.token_weight.name, {}
    for i, row in enumerate(rows):
        others = [float(other.label) for other in rows if other.uid == row.uid]
        right = sum(others)
        if isinstance(config, Pacs):  # A where every score is 0: -(e_i - the mean e of the others)
            classes = [right, len(others) - right]
            mixed = all(classes)
            e = [(len(others) / (2 * classes[label == 0]) if mixed else 1) * (0.5 - label) for label in others]
            own = (len(others) / (2 * classes[not row.label]) if mixed else 1) * (0.5 - row.label)
            advantage = -(own - (sum(e) - own) / (len(others) - 1))
        else:
            advantage = (float(row.label) - right / len(others)) / (float(torch.tensor(others).std()) + 1e-6)
        for t, (log_prob, entropy) in enumerate(zip(rollout_log_probs(row), entropies(row), strict=True)):
            if row.mask[t]:
                omega = advantage * (1 - math.exp(float(log_prob))) * float(log_prob + entropy)
                if config.token_weight.steer.form == "exact":
                    surplus = math.exp(float(log_prob)) * float(log_prob + entropy)
                    omega = advantage * (surplus - float(entropy_slopes(row)[t]))
                places = [place for place in range(len(row.mask)) if row.mask[place]]
                known[i, t] = {
                    "steer": abs(omega),
                    "entropy_top": float(entropy),
                    "probability": math.tanh(2 * math.exp(float(log_prob))),
                    "surprisal_band": -float(log_prob) / float(entropy),
                    "position": 1 - 0.5 * places.index(t) / max(1, len(places) - 1),
                    "clip_cov": (advantage, float(log_prob)),
                    "kl_cov": 1.0,
                    "pooled_entropy": float(entropy),
                    "era": era_weight(row, advantage, config.token_weight.era)[places.index(t)],
                }[name]
    weights = [torch.ones(len(row.response)) for row in rows]
    if name == "clip_cov":
        for (i, t), value in covariances(known).items():
            weights[i][t] = float(not 0.1 < value < 2)
        return weights
    bound = sorted(known.values(), reverse=True)[round(0.2 * len(known)) - 1]
    for (i, t), value in known.items():
        if name == "steer":
            weights[i][t] = 0.8 ** (value / max(0.02, *known.values()))
        elif name == "entropy_top":
            weights[i][t] = float(value >= bound)
        elif name == "era":
            weights[i][t] = value
        elif name == "surprisal_band":
            weights[i][t] = float(0.5 <= value <= 1.55)
        elif name == "pooled_entropy":
            own = {place: entropy for (row, place), entropy in known.items() if row == i}
            others = [entropy for entropy in own.values() if entropy < bound]
            pooled = {
                place: entropy if entropy >= bound else sum(others) / len(others) for place, entropy in own.items()
            }
            weights[i][t] = max(0, 1 + 2.0 * (pooled[t] / (sum(pooled.values()) / len(pooled)) - 1))
        else:
            weights[i][t] = max(0.2, value)
    return weights


def covariances(known: dict[tuple[int, int], tuple[float, float]]) -> dict[tuple[int, int], float]:
    """Of two numbers a token, by row and place: each less its mean, multiplied."""
    means = [sum(values) / len(known) for values in zip(*known.values(), strict=True)]
    return {place: (one - means[0]) * (other - means[1]) for place, (one, other) in known.items()}


def naive_drift(
    log_probs: list[torch.Tensor], reference: list[torch.Tensor], rows: list[Row], config: Grpo
) -> torch.Tensor:
    """0.7 |log pi - log pi_ref| of the tenth of the tokens with the highest covariance: their mean over all tokens."""
    known = {}
    for i, row in enumerate(rows):
        labels = torch.tensor([float(other.label) for other in rows if other.uid == row.uid])
        advantage = float((float(row.label) - labels.mean()) / (labels.std() + 1e-6))
        known |= {(i, t): (advantage, float(rollout_log_probs(row)[t])) for t, own in enumerate(row.mask) if own}
    highest = sorted(covariances(known).items(), key=lambda each: -each[1])[: int(0.1 * len(known))]
    return torch.stack([0.7 * (log_probs[i][t] - reference[i][t]).abs() for (i, t), _ in highest]).sum() / len(known)


def response_distributions(model: PreTrainedModel, row: Row, temperature: float) -> torch.Tensor:
    """log pi of every token at each place of the response, as sampled from at `temperature`: (T, V)."""
    logits = model(torch.tensor([row.prompt + row.response])).logits[0, len(row.prompt) - 1 : -1]
    return torch.log_softmax(logits / temperature, -1)


def response_log_probs(model: PreTrainedModel, rows: list[Row], temperature: float = 1.0) -> list[torch.Tensor]:
    """log pi of each response token, one unpadded sequence at a time."""
    return [
        response_distributions(model, row, temperature).gather(-1, torch.tensor(row.response)[:, None])[:, 0]
        for row in rows
    ]


def autograd_loss(
    model: PreTrainedModel,
    reference: list[torch.Tensor],
    rows: list[Row],
    config: Method,
    temperature: float = 1.0,
) -> torch.Tensor:
    """The loss of `rows` (PACS: Eq. 8) in one pass, given log pi_ref of each."""
    return loss_of(response_log_probs(model, rows, temperature), reference, rows, config)


def loss_of(
    log_probs: list[torch.Tensor], reference: list[torch.Tensor], rows: list[Row], config: Method
) -> torch.Tensor:
    """The same, given log pi of each row's response, too."""
    if config.token_weight.name is not None:
        weights = naive_token_weights(rows, config)
        log_probs = [(1 - w) * own.detach() + w * own for own, w in zip(log_probs, weights, strict=True)]
    if config.update.correction.active:
        weights = naive_correction(rows, reference, config)
        log_probs = [(1 - w) * own.detach() + w * own for own, w in zip(log_probs, weights, strict=True)]
    ids = {uid: i for i, uid in enumerate(dict.fromkeys(row.uid for row in rows))}
    masks = [torch.tensor(row.mask, dtype=torch.bool) for row in rows]
    batch = Batch(
        log_probs=pad_sequence(log_probs, batch_first=True),
        ref_log_probs=pad_sequence(reference, batch_first=True),
        response_mask=pad_sequence(masks, batch_first=True),
        labels=torch.tensor([int(row.label) for row in rows]),
        group_ids=torch.tensor([ids[row.uid] for row in rows]),
        row_mask=torch.ones(len(rows), dtype=torch.bool),
    )
    if isinstance(config, Aggregated):
        drift = naive_drift(log_probs, reference, rows, config) if config.token_weight.name == "kl_cov" else 0
        return token_credit_loss(log_probs, reference, rows, config) + drift
    if isinstance(config, EqualPull):
        groups = [batch.take((batch.group_ids == group).nonzero().squeeze(1)) for group in range(len(ids))]
        return torch.stack([naive_loss(group, config) for group in groups]).mean()
    if isinstance(config, PacsDistilled):
        return naive_loss(batch, Pacs(beta=config.beta)) - taught(log_probs, reference, rows, config.strength)
    if isinstance(config, Pacs):
        return naive_loss(batch, config)
    return NAIVE[type(config)](groups_of(batch, batch.log_probs), config)


def token_metrics(
    model: PreTrainedModel, reference: list[torch.Tensor], rows: list[Row], temperature: float
) -> dict[str, float]:
    """What is logged of the tokens of `rows`, all of which count, one token at a time."""
    tokens, entropy, gap, worst = 0, 0.0, 0.0, 0.0
    ratios = []
    with torch.no_grad():
        for row, ref in zip(rows, reference, strict=True):
            distributions, sampled = response_distributions(model, row, temperature), rollout_log_probs(row)
            ratios.append(0.0)
            for t, token in enumerate(row.response):
                if row.mask[t]:
                    log_prob = distributions[t, token]
                    tokens += 1
                    entropy -= float((distributions[t].exp() * distributions[t]).sum())
                    gap += abs(float(log_prob - sampled[t]))
                    worst = max(worst, abs(float(log_prob - sampled[t])))
                    ratios[-1] += float(log_prob - ref[t])
    return {
        "actor/entropy": entropy / tokens,
        "pacs/rollout_gap/per_token": gap / tokens,
        "pacs/rollout_gap/worst_max": worst,
        "pacs/log_ratio/sequence_mean": sum(ratios) / len(rows),
        "pacs/log_ratio/per_token": sum(ratios) / tokens,
    }
