"""PACS's neighbours: each against a loop in plain Python, its closed form, and PACS where they agree."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from pacs.algorithm import Method, Pacs, check_method, method_loss, score_responses
from pacs.algorithm.disco import Disco
from pacs.algorithm.distillation import Distillation, PacsDistilled
from pacs.algorithm.genac import GenAc
from pacs.algorithm.gvpo import Gvpo
from pacs.algorithm.names import METHODS
from pacs.algorithm.nft import Nft
from pacs.algorithm.pacs import PacsAuthors, PacsPaper
from pacs.algorithm.policy_gradient import MaxRl, PassAtK, Raft, ReinforceRej
from pacs.algorithm.real import Real, RealBce
from pacs.algorithm.vineppo import VinePpo

from .naive import make_batch
from .naive_family import NAIVE, groups_of

#: Of a method, the settings that take another path, and whether its value says nothing (see `check_method`).
SETTINGS: list[tuple[Method, bool]] = [
    (Gvpo(), False),
    (Gvpo(beta=2.0), False),
    (Real(), False),
    (Real(tau=0.1), False),
    (Disco(), False),
    (Disco(score="ratio"), False),
    (Disco(kl_weight=0.0, tau=0.3), False),
    (Nft(), True),
    (Nft(ratio="sequence"), True),
    (MaxRl(), False),
    (MaxRl(clip_dual=None, clip_high=0.28), False),
    (Raft(), False),
    (ReinforceRej(), False),
    (PassAtK(), False),
    (PassAtK(normalize_by_std=False), False),
]


def name(value: Any) -> str:
    if not isinstance(value, Method):
        return str(value)
    settings = [f"{key}={chosen}" for key, chosen in value if key not in ("reference", "update", "metrics")]
    return "-".join([type(value).__name__, *settings])


@pytest.mark.parametrize(("method", "detached"), SETTINGS, ids=name)
def test_the_kit_passes(method: Method, detached: bool) -> None:
    for seed in range(3):
        check_method(method, detached=detached, seed=seed)


def test_each_has_a_primary_config_of_its_name() -> None:
    configs = {file.stem for file in (Path(__file__).parents[2] / "configs").glob("*.yaml")}
    assert set(METHODS) <= configs
    elsewhere = {Pacs, PacsPaper, PacsAuthors, RealBce, VinePpo, GenAc, Distillation, PacsDistilled}
    assert {type(method) for method, _ in SETTINGS} | elsewhere == set(METHODS.values())


@pytest.mark.parametrize("method", [method for method, _ in SETTINGS], ids=name)
@pytest.mark.parametrize("spread", [0.0, 0.5, 3.0])
def test_it_is_its_own_loop(method: Method, spread: float) -> None:
    """Groups of uneven size, masks with holes, padding that is not finite; the ratio clipped at times, and at none."""
    batch = make_batch(seed=3)
    noise = spread * torch.randn(batch.log_probs.shape, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    log_probs = torch.where(batch.response_mask & batch.row_mask[:, None], batch.ref_log_probs + noise, batch.log_probs)
    leaf = log_probs.clone().requires_grad_()
    wanted = NAIVE[type(method)](groups_of(batch, leaf), method)
    (gradient,) = torch.autograd.grad(wanted, leaf)
    own = log_probs.clone().requires_grad_()
    loss, _ = method_loss(own, *batch.inputs[1:], method, row_mask=batch.row_mask)
    (found,) = torch.autograd.grad(loss, own)
    torch.testing.assert_close(found, gradient, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(loss.detach(), wanted.detach(), rtol=1e-9, atol=1e-12) if type(
        method
    ) is not Nft else None


def rows_of(*groups: tuple[int, ...], scale: float = 0.7, seed: int = 0) -> dict[str, torch.Tensor]:
    """Labels in groups, with log-ratios and log-likelihoods (float64) of responses of 1 to 9 tokens."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.tensor(sum(groups, ()))
    ids = torch.arange(len(groups)).repeat_interleave(torch.tensor([len(group) for group in groups]))
    log_ratios = scale * torch.randn(len(labels), generator=generator, dtype=torch.float64)
    lengths = torch.randint(1, 10, (len(labels),), generator=generator)
    likelihoods = -9 * torch.rand(len(labels), generator=generator, dtype=torch.float64)
    return {"d": log_ratios, "lengths": lengths, "R": labels, "ids": ids, "lp": likelihoods}


def advantages(method: Method, rows: dict[str, torch.Tensor]) -> torch.Tensor:
    given = {"log_likelihoods": rows["lp"]} if method.needs_log_likelihoods else {}
    columns = score_responses(rows["d"], rows["lengths"], rows["R"], rows["ids"], method, **given)
    return columns["effective_advantage"]


RANDOM = [
    tuple(torch.randint(0, 2, (8,), generator=torch.Generator().manual_seed(seed)).tolist()) for seed in range(40)
]
MIXED = [group for group in RANDOM if 0 < sum(group) < len(group)]


@pytest.mark.parametrize("group", MIXED[:12], ids=lambda group: "".join(map(str, group)))
def test_the_closed_forms_off_the_reference(group: tuple[int, ...]) -> None:
    rows = rows_of(group, seed=sum(group))
    d, lengths, right, lp = rows["d"], rows["lengths"].double(), rows["R"].double(), rows["lp"]
    size, n = len(group), sum(group)
    q = n / size

    def close(method: Method, wanted: torch.Tensor) -> None:
        torch.testing.assert_close(advantages(method, rows), wanted, rtol=1e-9, atol=1e-12)

    beta, tau = 0.3, 0.5
    close(Gvpo(beta=beta), -beta * (beta * (d - d.mean()) - (right - q)) / (size - 1))
    s = d / lengths
    up, down = (-s / tau).exp() * right, (s / tau).exp() * (1 - right)
    close(Real(tau=tau), size / tau / lengths * (up / (1 + up.sum()) - down / (1 + down.sum())))
    soft = (lp / lengths / 10).exp() * (1 - right)
    disco = size / lengths * (right / n - soft / soft.sum())
    close(Disco(kl_weight=0.0), disco)
    divergence = -d.sum() / lengths.sum()
    close(Disco(), disco + 1e3 * (divergence - 1e-4).clamp(min=0) * size / lengths.sum())
    rho = d.exp()
    wrong = -(q / (1 - q)) * rho / ((1 - q * rho) / (1 - q)).clamp(min=1)
    close(Nft(ratio="sequence"), (1 - q) * torch.where(right == 1, 1.0, wrong))


def test_a_response_without_a_token_has_no_part_in_disco() -> None:
    """A mean log-likelihood of 0 would be the highest of all."""
    four = rows_of((1, 0, 0, 0))
    for name in ("d", "lengths", "lp"):
        four[name][3] = 0
    three = {name: values[:3] for name, values in four.items()}
    method = Disco(kl_weight=0.0)
    torch.testing.assert_close(advantages(method, four)[:3], advantages(method, three))
    assert advantages(method, four)[3] == 0


def test_beyond_ten_nats_no_response_has_a_gradient_of_nft() -> None:
    rows = rows_of((1, 1, 0, 0)) | {"d": torch.tensor([12.0, 1.0, 12.0, 1.0], dtype=torch.float64)}
    assert (advantages(Nft(ratio="sequence"), rows) != 0).tolist() == [False, True, False, True]


@pytest.mark.parametrize("scale", [0.0, 0.7, 4.0])
def test_real_s_cross_entropy_is_a_setting_of_pacs(scale: float) -> None:
    """Also prime's, of sums and in all groups: sigma(s/tau) against the labels, by hand."""
    rows = rows_of(*RANDOM, scale=scale)
    right, lengths = rows["R"].double(), rows["lengths"].double()
    active = torch.tensor([0 < sum(g) < len(g) for g in RANDOM]).repeat_interleave(8)
    preset = Pacs(
        beta=2.0, estimator="none", objective="pass_rate", normalize_by_length=True, single_class_groups="drop"
    )
    wanted = 2.0 / lengths * (right - torch.sigmoid(2.0 * rows["d"] / lengths)) * active
    torch.testing.assert_close(advantages(preset, rows), wanted, rtol=1e-9, atol=1e-12)
    prime = Pacs(beta=0.05, estimator="none", objective="pass_rate")
    torch.testing.assert_close(
        advantages(prime, rows), 0.05 * (right - torch.sigmoid(0.05 * rows["d"])), rtol=1e-9, atol=1e-12
    )


def test_where_the_policy_is_the_reference_they_are_settings_of_pacs() -> None:
    rows = rows_of(*MIXED, scale=0.0)
    size, n = 8, torch.tensor([sum(group) for group in MIXED]).repeat_interleave(8)
    of_class = torch.where(rows["R"] == 1, n, size - n).double()

    def same(method: Method, pacs: Pacs, factor: Any = 1.0) -> None:
        torch.testing.assert_close(advantages(pacs, rows), factor * advantages(method, rows), rtol=1e-9, atol=1e-12)

    even = rows | {"lp": rows["lp"][:1] / rows["lengths"][:1] * rows["lengths"]}  # alike a token: a plain mean
    disco = advantages(Disco(), even)
    balanced = advantages(Pacs(normalize_by_length=True), rows)
    torch.testing.assert_close(balanced, size / (4 * (size - 1)) * disco, rtol=1e-9, atol=1e-12)
    same(Nft(ratio="sequence"), Pacs(estimator="dr_grpo", objective="pass_rate"))
    normalized = Pacs(estimator="none", normalize_by_length=True, single_class_groups="drop")
    same(Real(), normalized, (of_class + 1) / (8 * of_class))
    same(Gvpo(beta=0.25), Pacs(estimator="dr_grpo", objective="pass_rate"), 4 * (size - 1))


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(("theirs", "estimator"), [("rloo", "rloo"), ("grpo", "grpo"), ("naive", "none")])
def test_the_authors_formula(theirs: str, estimator: str, weighted: bool) -> None:
    """Their public code's loss (a group's mean) and effective advantages, of six groups at random log-ratios."""
    for group in json.loads(Path(__file__).with_name("authors_vectors.json").read_text()):
        wanted = group[theirs if weighted else f"{theirs}_unweighted"]
        method = Pacs(beta=group["beta"], estimator=estimator, objective="log_odds" if weighted else "pass_rate")
        labels, size = torch.tensor(group["labels"]), len(group["labels"])
        d = torch.tensor(group["log_ratio"], dtype=torch.float64)
        found = score_responses(d, torch.ones(size), labels, torch.zeros(size, dtype=torch.int64), method)
        assert found["loss"].mean().item() == pytest.approx(wanted["loss"], rel=1e-9)
        assert found["effective_advantage"].tolist() == pytest.approx(wanted["advantage"], rel=1e-9, abs=1e-12)
