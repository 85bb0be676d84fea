"""Token weights: each beside a loop in plain Python, STEER beside autograd, and methods under them in the kit."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from pacs.algorithm import Method, Pacs, TrainBatch, batch_constants, check_method, method_loss, score_responses
from pacs.algorithm.aggregated import Dapo, Grpo
from pacs.algorithm.disco import Disco
from pacs.algorithm.kit_case import random_case
from pacs.algorithm.nft import Nft
from pacs.algorithm.token_weights import EntropyTop, Position, Steer, TokenWeightConfig

WEIGHTS: dict[str, dict[str, Any]] = {
    "steer": {"name": "steer"},
    "steer, exact": {"name": "steer", "steer": {"form": "exact", "least": 0.3}},
    "entropy_top": {"name": "entropy_top"},
    "half of entropy_top": {"name": "entropy_top", "entropy_top": {"share": 0.5}},
    "probability": {"name": "probability"},
    "probability, clipped": {
        "name": "probability",
        "probability": {"scale": 3.0, "temperature": 0.5, "offset": 0.6, "least": 0.1, "most": 0.6},
    },
    "surprisal_band": {"name": "surprisal_band"},
    "position": {"name": "position"},
    "position, exponential": {"name": "position", "position": {"shape": "exponential", "last": 3.0}},
    "clip_cov": {"name": "clip_cov", "clip_cov": {"share": 1.0, "low": 0.1, "high": 2.0}},
    "pooled_entropy": {"name": "pooled_entropy"},
    "half pooled_entropy": {
        "name": "pooled_entropy",
        "pooled_entropy": {"share": 0.4, "pooling": 0.5, "strength": 3.0},
    },
}


def weighted(method: type[Method], weight: dict[str, Any], **settings: Any) -> Method:
    return method.from_mapping({**settings, "token_weight": weight})


class Batch:
    """Eleven responses to four prompts: groups of both classes and of one, padding, a tool's tokens, an empty one."""

    def __init__(self, seed: int = 0) -> None:
        random = torch.Generator().manual_seed(seed)
        self.labels = torch.tensor([1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 1], dtype=torch.float64)
        self.groups = torch.tensor([0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 3])
        self.row_mask = torch.tensor([True] * 10 + [False])
        self.mask = torch.rand(11, 9, generator=random) < 0.6
        self.mask[4] = False
        # Distributions of seven tokens, and which of them was sampled; some are nearly certain.
        logits = torch.randn(11, 9, 7, generator=random, dtype=torch.float64)
        logits = logits * torch.tensor([0.1, 1.0, 5.0]).repeat(3)[:, None]
        self.log_distributions = logits.log_softmax(-1)
        self.sampled = torch.randint(7, (11, 9), generator=random)

    def streams(self) -> dict[str, torch.Tensor]:
        """NaN outside the mask, where nothing may be read."""
        likely = self.log_distributions.exp()
        entropy = -(likely * self.log_distributions).sum(-1)
        slopes = likely * (self.log_distributions + entropy[..., None])
        log_probs = self.log_distributions.gather(-1, self.sampled[..., None])[..., 0]
        streams = {
            "old_log_probs": log_probs,
            "rollout_log_probs": log_probs,
            "entropy": entropy,
            "mean_entropy_slope": (likely * slopes).sum(-1),
        }
        return {name: torch.where(self.mask, values, torch.nan) for name, values in streams.items()}

    def weights(self, method: Method) -> torch.Tensor:
        given = {"response_mask": self.mask, "streams": self.streams()}
        found = batch_constants(self.labels, self.groups, method, self.row_mask, **given).token_weights
        assert found is not None
        return found

    def tokens(self) -> list[tuple[int, int]]:
        """Row and place of each token that counts."""
        return [(i, t) for i, t in self.mask.nonzero().tolist() if self.row_mask[i]]

    def grpo_advantage(self, i: int) -> float:
        labels = [float(self.labels[j]) for j in range(11) if self.groups[j] == self.groups[i] and self.row_mask[j]]
        mean = sum(labels) / len(labels)
        std = (sum((label - mean) ** 2 for label in labels) / (len(labels) - 1)) ** 0.5
        return (float(self.labels[i]) - mean) / (std + 1e-6)

    def pacs_advantage(self, i: int) -> float:
        """A of PACS where every score is 0: -beta (e_i - the mean e of the others), e = w (1/2 - R)."""
        members = [j for j in range(11) if self.groups[j] == self.groups[i] and self.row_mask[j]]
        right = sum(float(self.labels[j]) for j in members)
        share = {1.0: right, 0.0: len(members) - right}
        mixed = 0 < right < len(members)
        e = {
            j: (len(members) / (2 * share[float(self.labels[j])]) if mixed else 1) * (0.5 - float(self.labels[j]))
            for j in members
        }
        return -(e[i] - sum(e[j] for j in members if j != i) / (len(members) - 1))


def naive(name: str, batch: Batch, advantage: Callable[[int], float]) -> dict[tuple[int, int], float]:
    """The weight of each token that counts, one after the other, from the distributions themselves."""
    surprisal, entropy, change = {}, {}, {}
    for i, t in batch.tokens():
        distribution = [math.exp(value) for value in batch.log_distributions[i, t].tolist()]
        p = distribution[int(batch.sampled[i, t])]
        entropy[i, t] = h = -sum(q * math.log(q) for q in distribution)
        surprisal[i, t] = -math.log(p)
        change[i, t] = advantage(i) * (1 - p) * (math.log(p) + h)
        if name == "steer, exact":
            mean = sum(q * q * (math.log(q) + h) for q in distribution)
            change[i, t] = -advantage(i) * (p * (math.log(p) + h) - mean)
    weights = {}
    for i, t in batch.tokens():
        places = [place for place in range(9) if batch.mask[i, place]]
        u = places.index(t) / max(1, len(places) - 1)
        p = math.exp(-surprisal[i, t])
        if name.startswith("steer"):
            k = -math.log(0.3 if name == "steer, exact" else 0.8) / max(0.02, *map(abs, change.values()))
            weights[i, t] = math.exp(-k * abs(change[i, t]))
        elif name.endswith("entropy_top"):
            kept = round((0.2 if name == "entropy_top" else 0.5) * len(entropy))
            weights[i, t] = float(entropy[i, t] >= sorted(entropy.values(), reverse=True)[kept - 1])
        elif name == "probability":
            weights[i, t] = max(0.2, math.tanh(2 * p))
        elif name == "probability, clipped":
            weights[i, t] = min(0.6, max(0.1, 3 * (1 / (1 + math.exp(-p / 0.5)) - 0.6)))
        elif name == "surprisal_band":
            weights[i, t] = float(0.5 <= surprisal[i, t] / entropy[i, t] <= 2)
        elif name == "position":
            weights[i, t] = 1 - 0.5 * u
        elif name == "clip_cov":  # every token of the band
            means = [sum(values) / len(entropy) for values in ([advantage(j) for j, _ in entropy], surprisal.values())]
            weights[i, t] = float(not 0.1 < (advantage(i) - means[0]) * (means[1] - surprisal[i, t]) < 2)
        elif name.endswith("pooled_entropy"):
            share, pooling, strength = (0.2, 1.0, 0.1) if name == "pooled_entropy" else (0.4, 0.5, 3.0)
            bound = sorted(entropy.values(), reverse=True)[round(share * len(entropy)) - 1]
            shaped = {place: entropy[i, place] for place in places}
            others = [place for place in places if shaped[place] < bound]
            for place in others:
                mean = sum(entropy[i, other] for other in others) / len(others)
                shaped[place] = (1 - pooling) * entropy[i, place] + pooling * mean
            mean = sum(shaped.values()) / len(shaped)
            weights[i, t] = max(0, 1 + strength * (shaped[t] / mean - 1))
        else:
            weights[i, t] = 3**u
    return weights


@pytest.mark.parametrize("method", [Pacs, Grpo])
@pytest.mark.parametrize("name", WEIGHTS)
def test_each_weight_is_its_own_loop(name: str, method: type[Method]) -> None:
    for seed in range(3):
        batch = Batch(seed)
        found = batch.weights(weighted(method, WEIGHTS[name]))
        advantage = batch.pacs_advantage if method is Pacs else batch.grpo_advantage
        expected = torch.ones(11, 9, dtype=torch.float64)  # also at padding, at a tool's tokens, and of rows left out
        for (i, t), value in naive(name, batch, advantage).items():
            expected[i, t] = value
        torch.testing.assert_close(found, expected, rtol=1e-6 if "position" in name else 1e-11, atol=1e-12)
        assert len(found[batch.mask].unique()) > 1


def test_steers_exact_form_is_the_change_of_entropy() -> None:
    """A step of the logits along A d log pi(o)/d logits changes H, by autograd, in proportion to Omega."""
    batch, method = Batch(), weighted(Grpo, WEIGHTS["steer, exact"])
    changes = {}
    for i, t in batch.tokens():
        logits = batch.log_distributions[i, t].clone().requires_grad_()
        log_probs = logits.log_softmax(-1)
        (direction,) = torch.autograd.grad(log_probs[batch.sampled[i, t]], logits, retain_graph=True)
        (slope,) = torch.autograd.grad(-(log_probs.exp() * log_probs).sum(), logits)
        changes[i, t] = batch.grpo_advantage(i) * float(slope @ direction)
        # And by a step that is small: 1e-6 of it.
        moved = (logits.detach() + 1e-6 * direction).log_softmax(-1)
        gained = float(-(moved.exp() * moved).sum() + (log_probs.exp() * log_probs).sum().detach()) / 1e-6
        assert gained == pytest.approx(float(slope @ direction), rel=1e-3, abs=1e-5)
    largest, found = max(map(abs, changes.values())), batch.weights(method).log() / math.log(0.3)
    assert largest > 0.02
    for (i, t), change in changes.items():
        assert float(found[i, t]) == pytest.approx(abs(change) / largest, rel=1e-9, abs=1e-12)


def test_steer_divides_by_no_less_than_its_floor() -> None:
    """Where hardly anything would change, all weights are near 1."""
    advantages, mask = torch.tensor([[1e-6, -2e-6]]), torch.ones(1, 2, dtype=torch.bool)
    streams = {"old_log_probs": torch.full((1, 2), -1.0), "entropy": torch.full((1, 2), 2.0)}
    omega = 2e-6 * (1 - math.exp(-1))
    found = Steer(least=0.5).weights(mask, streams, lambda: advantages)
    assert found[0, 1].item() == pytest.approx(math.exp(math.log(0.5) * omega / 0.02), rel=1e-6)
    assert found[0, 0].item() > found[0, 1].item()


class TokenCredit(Grpo):
    """Of each token its own credit, of both signs."""

    READS = ("rollout_log_probs",)

    def credit(self, batch: TrainBatch) -> torch.Tensor:
        return super().credit(batch)[:, None] * (1 + batch.streams["rollout_log_probs"])


def test_steer_takes_the_advantage_of_each_token() -> None:
    batch, method = Batch(), weighted(TokenCredit, WEIGHTS["steer"])
    assert method.reads == ("rollout_log_probs", "old_log_probs", "entropy")
    found = batch.weights(method)
    streams = batch.streams()
    expected = {}
    for i, t in batch.tokens():
        log_prob, entropy = float(streams["old_log_probs"][i, t]), float(streams["entropy"][i, t])
        credit = batch.grpo_advantage(i) * (1 + log_prob)
        expected[i, t] = abs(credit * (1 - math.exp(log_prob)) * (log_prob + entropy))
    largest = max(expected.values())
    for (i, t), size in expected.items():
        assert float(found[i, t]) == pytest.approx(0.8 ** (size / largest), rel=1e-9)


def test_without_a_token_nothing_is_weighed() -> None:
    none = torch.zeros(2, 3, dtype=torch.bool)
    streams = {"entropy": torch.zeros(2, 3)}
    assert EntropyTop().weights(none, streams, lambda: none).tolist() == none.tolist()
    assert Position().weights(none, {}, lambda: none).isfinite().all()


# Under the methods

METHODS: list[tuple[type[Method], dict[str, Any]]] = [
    (Pacs, {}),
    (Pacs, {"estimator": "grpo", "beta": 0.3, "normalize_by_length": True, "single_class_groups": "drop"}),
    (Pacs, {"policy_gradient_term": True, "weight_scope": "batch"}),
    (Grpo, {}),
    (Dapo, {"aggregation": "seq-mean-token-sum"}),
    (Nft, {}),
    (Disco, {"score": "ratio"}),
    (TokenCredit, {}),
]


@pytest.mark.parametrize(("method", "settings"), METHODS, ids=lambda each: getattr(each, "__name__", None))
@pytest.mark.parametrize("name", ["steer", "entropy_top", "surprisal_band", "position", "clip_cov"])
def test_the_kit_passes(name: str, method: type[Method], settings: dict[str, Any]) -> None:
    """Both strategies, splits, orders, finite differences: weights of a part alone would fail."""
    detached = method is Nft or "policy_gradient_term" in settings
    check_method(weighted(method, WEIGHTS[name], **settings), detached=detached)


@pytest.mark.parametrize("name", [*WEIGHTS])
def test_scores_and_losses_are_those_without_a_weight(name: str) -> None:
    """And the gradient is that of before, token by token, times the weight."""
    case, plain, method = random_case(0), Pacs(), weighted(Pacs, WEIGHTS[name])
    weights = case.constants(method).token_weights
    assert weights is not None
    assert case.constants(plain).token_weights is None
    assert torch.equal(case.loss(method, case.log_probs), case.loss(plain, case.log_probs))
    expected = weights * case.gradient(plain, case.log_probs)
    torch.testing.assert_close(case.gradient(method, case.log_probs), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_are_in_float32_where_labels_are(dtype: torch.dtype) -> None:
    case, method = random_case(0), weighted(Pacs, WEIGHTS["steer"])
    streams = {"old_log_probs": case.log_probs.to(dtype), "entropy": case.stream.to(dtype)}
    given = {"response_mask": case.mask, "streams": streams}
    found = batch_constants(case.labels.float(), case.groups, method, case.row_mask(method), **given)
    assert found.token_weights is not None
    assert found.token_weights.dtype == torch.float32
    cut = found.of(torch.tensor([3, 1])).cut(2)
    assert cut.token_weights is not None
    assert torch.equal(cut.token_weights, found.token_weights[[3, 1], :2])


def test_what_a_weight_needs_has_to_be_there() -> None:
    case = random_case(0)
    given = {"labels": case.labels, "group_ids": case.groups}
    with pytest.raises(ValueError, match="Pacs reads entropy of each token, which is not there"):
        batch_constants(**given, method=weighted(Pacs, WEIGHTS["entropy_top"]), response_mask=case.mask)
    position = weighted(Pacs, WEIGHTS["position"])
    with pytest.raises(ValueError, match=r"method.token_weight.name=position weighs tokens: it needs response_mask"):
        batch_constants(**given, method=position)
    with pytest.raises(ValueError, match="it needs response_mask"):
        score_responses(torch.zeros(19), case.mask.sum(dim=1), case.labels, case.groups, position)
    constants = case.constants(weighted(Pacs, WEIGHTS["position"])).cut(3)
    with pytest.raises(ValueError, match=r"token_weights has shape \(19, 3\)"):
        method_loss(
            case.log_probs, case.ref_log_probs, case.mask, case.labels, case.groups, position,
            row_mask=case.row_mask(position), constants=constants,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"name": "ster"}, r"method.token_weight.name=ster is not known \(did you mean steer\?\): choose one of ste"),
        ({"steer": {"least": 0.5}}, "steer.least=0.5: nothing reads it; set method.token_weight.name=steer, or"),
        (
            {"name": "position", "steer": {"form": "exact"}},
            "method.token_weight.steer.form=exact: nothing reads it; set method.token_weight.name=steer, or leave it",
        ),
        ({"name": "steer", "steer": {"least": 1.0}}, "steer.least=1.0 must be less than 1: a weight below 1; the a"),
        ({"name": "steer", "steer": {"form": "exakt"}}, r"form=exakt is not known \(did you mean exact\?\)"),
        ({"name": "entropy_top", "entropy_top": {"share": 0}}, "share=0 must be greater than 0: a share above 0"),
        ({"name": "entropy_top", "entropy_top": {"share": 1.5}}, "share=1.5 must be less than or equal to 1: a share"),
        ({"name": "entropy_top", "entropy_top": {"rho": 0.2}}, "rho is not a setting: method.token_weight.entropy_top"),
        (
            {"name": "probability", "probability": {"least": 1.5}},
            "method.token_weight.probability.least=1.5 is not below method.token_weight.probability.most=1: lower it, ",
        ),
        ({"name": "probability", "probability": {"temperature": 0.0}}, "temperature=0.0 must be greater than 0"),
        ({"name": "surprisal_band", "surprisal_band": {"high": 0.25}}, "low=0.5 is not below .*band.high=0.25"),
        ({"name": "clip_cov", "clip_cov": {"low": 5.0}}, "clip_cov.low=5 is not below .*clip_cov.high=5"),
        ({"name": "clip_cov", "clip_cov": {"share": 0}}, "share=0 must be greater than 0: a share above 0, of 1"),
        ({"name": "kl_cov", "kl_cov": {"coefficient": 0}}, "coefficient=0 must be greater than 0: a number a"),
        ({"name": "pooled_entropy", "pooled_entropy": {"pooling": 2}}, "pooling=2 must be less than or equal to 1: a "),
        ({"name": "position", "position": {"last": 0}}, "last=0 must be greater than 0: a weight above 0, as 0.5"),
        ("steer", "method.token_weight='steer': it is a section"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(section: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pacs.from_mapping({"token_weight": section})


def test_all_names_are_weights() -> None:
    names = [name for name in TokenWeightConfig.model_fields if name != "name"]
    for name in names:
        assert type(TokenWeightConfig(name=name).chosen) is TokenWeightConfig.model_fields[name].annotation
    assert TokenWeightConfig().chosen is None
    assert Pacs().reads == ()
