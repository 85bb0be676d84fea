"""PACS through verl's real worker and FSDP2 engine against plain autograd: gradients, steps, passes, metrics."""

from collections.abc import Callable, Collection, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from pacs.algorithm import CorrectionConfig, Method, Pacs, ReferenceConfig, UpdateConfig
from pacs.algorithm.aggregated import Grpo
from pacs.algorithm.disco import Disco
from pacs.algorithm.distillation import Distillation, PacsDistilled
from pacs.algorithm.gvpo import Gvpo
from pacs.algorithm.nft import Nft
from pacs.algorithm.policy_gradient import MaxRl, PassAtK, Raft, ReinforceRej
from pacs.algorithm.real import Real
from pacs.algorithm.token_weights import ClipCov, Era, KlCov, PooledEntropy, Steer, SurprisalBand, TokenWeightConfig
from pacs.algorithm.vineppo import VinePpo
from tests.integration.worker.worker_case import (
    FAMILIES,
    GROUP,
    Row,
    TokenCredit,
    autograd_loss,
    deal_out,
    make_rows,
    mini_batches,
    response_log_probs,
    tiny_model,
    token_metrics,
)
from tests.pairwise import pairwise
from tests.ranks import run

pytestmark = pytest.mark.slow

RANKS = (1, 2)
#: One rank goes through a few ways in test_worker_one_rank.py, and through each with --all.
TRIED_RANKS = (pytest.param(1, marks=pytest.mark.long), 2)
GROUPS = 7
ROWS = make_rows(GROUPS, seed=3)
LEARNING_RATE = 0.02

CONFIGS: dict[str, Method] = {
    **{estimator: Pacs(estimator=estimator) for estimator in ("rloo", "grpo", "dr_grpo", "none")},
    "other settings": Pacs(
        beta=0.3,
        weight_scope="batch",
        normalize_by_length=True,
        policy_gradient_term=True,
        single_class_groups="drop",
    ),
}
#: PACS's neighbours, which go through the ways that differ most.
FAMILY: dict[str, Method] = {
    "gvpo": Gvpo(beta=0.3),
    "real": Real(),
    "disco": Disco(kl_weight=3.0),
    "disco, ratio": Disco(score="ratio", kl_weight=3.0),
    "nft": Nft(),
    "nft, sequence": Nft(ratio="sequence"),
    "maxrl": MaxRl(),
    "raft": Raft(),
    "reinforce_rej": ReinforceRej(clip_high=0.28, clip_dual=None),
    "pass_at_k": PassAtK(),
    "credit for each token": TokenCredit(),
    "vineppo": VinePpo(),
    "distillation": Distillation(teacher="folder", strength=0.7, task=0.5),
    "pacs_distilled": PacsDistilled(teacher="folder", strength=0.3, beta=0.5),
    "pacs, steer": Pacs(token_weight=TokenWeightConfig(name="steer")),
    "grpo, steer exact": Grpo(token_weight=TokenWeightConfig(name="steer", steer=Steer(form="exact"))),
    "grpo, entropy_top": Grpo(token_weight=TokenWeightConfig(name="entropy_top")),
    "nft, probability": Nft(token_weight=TokenWeightConfig(name="probability")),
    "disco, position": Disco(token_weight=TokenWeightConfig(name="position")),
    "credit for each token, surprisal_band": TokenCredit(
        token_weight=TokenWeightConfig(name="surprisal_band", surprisal_band=SurprisalBand(high=1.55))
    ),
    "pacs, clip_cov": Pacs(
        token_weight=TokenWeightConfig(name="clip_cov", clip_cov=ClipCov(share=1.0, low=0.1, high=2.0))
    ),
    "grpo, kl_cov": Grpo(token_weight=TokenWeightConfig(name="kl_cov", kl_cov=KlCov(share=0.1, coefficient=0.7))),
    "grpo, pooled_entropy": Grpo(
        token_weight=TokenWeightConfig(name="pooled_entropy", pooled_entropy=PooledEntropy(strength=2.0))
    ),
    "pacs, era": Pacs(token_weight=TokenWeightConfig(name="era", era=Era(stride=2))),
    "grpo, era": Grpo(token_weight=TokenWeightConfig(name="era", era=Era(stride=2, cut=1.0, tokens="last"))),
    "corrected": Grpo(update=UpdateConfig(correction=CorrectionConfig(kind="truncate", cap=1.5, sequence_cap=10.0))),
    "pacs, IcePop": Pacs(update=UpdateConfig(correction=CorrectionConfig(kind="mask", cap=4.0, sequence_cap=10.0))),
    "nft, truncated": Nft(update=UpdateConfig(correction=CorrectionConfig(kind="truncate", cap=1.5))),
    "maxrl, geometric": MaxRl(update=UpdateConfig(correction=CorrectionConfig(sequence_cap=10.0))),
}
STATIC = {"use_dynamic_bsz": False, "micro_batch_size_per_gpu": 1}
#: name -> strategy, settings of verl's micro-batches, whether a group stays on one rank.
SPLITS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "grouped, one group": ("grouped", STATIC, True),
    "grouped, two groups": ("grouped", STATIC | {"micro_batch_size_per_gpu": 2}, True),
    "grouped, dynamic": ("grouped", {"use_dynamic_bsz": True, "max_token_len_per_gpu": 120}, True),
    "cached, one row": ("cached", STATIC, False),
    "cached, four rows": ("cached", STATIC | {"micro_batch_size_per_gpu": 4}, False),
    "cached, dynamic": ("cached", {"use_dynamic_bsz": True, "max_token_len_per_gpu": 48}, False),
    "cached, whole groups": ("cached", {"use_dynamic_bsz": True, "max_token_len_per_gpu": 120}, True),
}
#: The model's family, how its sequences are laid out, and the temperature that they were sampled at.
CASES = {
    "qwen3 packed": ("qwen3", "packed", 0.7),
    "qwen3 packed, the other ways": ("qwen3", "packed", 0.7),
    "qwen3 padded": ("qwen3", "padded", 0.7),
    "qwen3 packed, fused log-probabilities": ("qwen3", "packed fused", 0.7),
    "qwen3 padded, fused log-probabilities": ("qwen3", "padded fused", 1.3),
    "llama packed": ("llama", "packed", 1.0),
}
#: The other layouts and heads, and another family, are for --all: in real workers test_probe.py has them, too.
FIRST_TRIED = ("qwen3 packed",)
TRIED_CASES = [name if name in FIRST_TRIED else pytest.param(name, marks=pytest.mark.long) for name in CASES]
#: What the reference is: a model of its own, or (as after a reset) the policy.
REFERENCES = {"reference": False, "policy": True}
METHODS = CONFIGS | FAMILY
#: Each method with each reference, in the split whose metrics those of the others are held to.
HELD_TO = [*product(METHODS, ("cached, dynamic",), REFERENCES)]
#: KL-Cov's penalty has a gradient where the policy has moved.
MOVED = ("grpo, kl_cov",)
#: Every config of PACS in every split, and its neighbours in the other strategy, with one of the references in turn.
IN_TURN = [
    (name, ("reference", "policy")[place % 2] if name not in MOVED else "reference")
    for place, name in enumerate(FAMILY)
]
IN_PAIRS = [
    *pairwise(list(CONFIGS), list(SPLITS), list(REFERENCES)),
    *((name, "grouped, dynamic", reference) for name, reference in IN_TURN),
]
EVERY_WAY = [
    way
    for way in dict.fromkeys([*HELD_TO, *IN_PAIRS])
    if not (METHODS[way[0]].whole_mini_batch and way[1].startswith("grouped"))
]
#: What other families and layouts go through.
SOME_WAYS = [
    *(("rloo", split, "reference") for split in SPLITS),
    *(("grpo", split, "reference") for split in ("grouped, dynamic", "cached, dynamic")),
    *(("rloo", split, "policy") for split in ("grouped, dynamic", "cached, dynamic")),
]
#: Of every way those that differ most: each config of PACS in two of the splits, each neighbour with one reference.
FIRST_WAYS = [
    way
    for way in EVERY_WAY
    if (way[0] in CONFIGS and way[1] == "cached, dynamic")
    or (way[0], way[2]) in IN_TURN
    or (way[0] in CONFIGS and (list(CONFIGS).index(way[0]) - list(SPLITS).index(way[1])) % len(CONFIGS) < 2)
]
#: What the metrics of tokens are looked at in.
OF_TOKENS = [("rloo", split, "reference") for split in ("grouped, dynamic", "cached, dynamic")]
#: What a case goes through: all of it once, and of the rest the ways that differ most.
WAYS = dict.fromkeys(CASES, SOME_WAYS) | {
    "qwen3 packed": list(dict.fromkeys([*FIRST_WAYS, *OF_TOKENS])),
    "qwen3 packed, the other ways": list(
        dict.fromkeys([*HELD_TO, *(way for way in EVERY_WAY if way not in FIRST_WAYS), *OF_TOKENS])
    ),
}
#: Reset after step 2 of 3, step 3 at half the learning rate.
STEPPED = Pacs(reference=ReferenceConfig(reset_every=2, reset_optimizer=True, warmup_steps=1))
#: name -> split, epochs over the rows of a step.
STEPS = {
    "grouped": ("grouped, dynamic", 1),
    "cached": ("cached, dynamic", 1),
    "grouped, two epochs": ("grouped, two groups", 2),
    "cached, two epochs": ("cached, four rows", 2),
}


def parts(ranks: int, split: str, mini_batch: int) -> list[list[Row]]:
    return deal_out(ROWS, groups_per_mini_batch=mini_batch, ranks=ranks, whole_groups=SPLITS[split][2])


def way(ranks: int, config: Method, split: str, mini_batch: int) -> tuple:
    strategy, micro_batching, _ = SPLITS[split]
    return config, parts(ranks, split, mini_batch), {"pacs_strategy": strategy, **micro_batching}


def write_cases(folder: Path, ranks: int, ways: dict[str, list[tuple[str, str, str]]], steps: Sequence[str]) -> None:
    cases = {}
    for name, these in ways.items():
        family, layout, temperature = CASES[name]
        cases[name] = {
            "family": family,
            "layout": layout,
            "temperature": temperature,
            "learning_rate": LEARNING_RATE,
            "ways": {(c, s, r): (*way(ranks, METHODS[c], s, GROUPS + 1), REFERENCES[r]) for c, s, r in these},
        }
    cases["qwen3 packed"]["steps"] = {
        name: (*way(ranks, STEPPED, STEPS[name][0], (GROUPS + 1) // 2), STEPS[name][1]) for name in steps
    }
    torch.save(cases, folder / f"cases_{ranks}.pt")


def run_ranks(
    folder: Path, ranks: int, device: str = "cpu", process: str = "worker.worker_process", seconds: float = 500
) -> Any:
    """What `process`, a module of these tests, has written to results_{ranks}.pt, run as one process a rank."""
    module = f"tests.integration.{process}"
    run(module, [folder, device], ranks, folder, device=device, seconds=seconds)
    return torch.load(folder / f"results_{ranks}.pt", weights_only=False)


def make_folder(tmp_path_factory: pytest.TempPathFactory, cases: Collection[str] = tuple(CASES)) -> Path:
    folder = tmp_path_factory.mktemp("worker")
    for family in FAMILIES:
        tiny_model(family, seed=0).save_pretrained(folder / family / "policy")
        tiny_model(family, seed=1).save_pretrained(folder / family / "reference")
    for ranks in RANKS:
        write_cases(folder, ranks, {name: WAYS[name] for name in cases}, tuple(STEPS))
    return folder


#: Number of ranks -> what they have found; they are started when it is first asked for.
Results = Callable[[int], Any]


@pytest.fixture(scope="module")
def chosen(request: pytest.FixtureRequest) -> list[str]:
    """The cases that a test which is run asks for, and the one that all others are about."""
    specs = (getattr(item, "callspec", None) for item in request.session.items if item.path == request.path)
    asked = {spec.params.get("case") for spec in specs if spec is not None} | {"qwen3 packed"}
    return [name for name in CASES if name in asked]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory, chosen: list[str]) -> Results:
    folder = make_folder(tmp_path_factory, chosen)
    return cache(lambda ranks: run_ranks(folder, ranks))


#: Family, temperature, config and reference.
Key = tuple[str, float, str, str]


def keys_of(case: str) -> set[Key]:
    family, _, temperature = CASES[case]
    return {(family, temperature, config, reference) for config, _, reference in WAYS[case]}


def reference_log_probs(family: str, temperature: float, reference: str) -> list[torch.Tensor]:
    with torch.no_grad():
        return response_log_probs(tiny_model(family, seed=0 if REFERENCES[reference] else 1), ROWS, temperature)


def whole_batch_gradients(cases: Collection[str] = tuple(CASES)) -> dict[Key, dict[str, torch.Tensor]]:
    """The gradients of the whole batch, each in one autograd pass."""
    return {key: whole_batch_gradient(*key) for key in {key for case in cases for key in keys_of(case)}}


def whole_batch_gradient(family: str, temperature: float, config: str, reference: str) -> dict[str, torch.Tensor]:
    model = tiny_model(family, seed=0)
    log_probs = reference_log_probs(family, temperature, reference)
    autograd_loss(model, log_probs, ROWS, METHODS[config], temperature).backward()
    return {name: value.grad for name, value in model.named_parameters()}


@pytest.fixture(scope="module")
def expected(chosen: list[str]) -> dict[Key, dict[str, torch.Tensor]]:
    return whole_batch_gradients(chosen)


def relative_error(values: dict, reference: dict, base: dict | None = None) -> float:
    """Of the global L2 norm (of the distance from `base`)."""
    assert values.keys() == reference.keys()
    difference = sum((values[name] - reference[name]).square().sum() for name in reference)
    size = sum((reference[name] - (base[name] if base else 0)).square().sum() for name in reference)
    return float((difference / size).sqrt())


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize("case", TRIED_CASES)
def test_any_split_gives_the_gradient_of_one_whole_batch_pass(
    case: str, ranks: int, results: Results, expected: dict
) -> None:
    errors = gradient_errors(case, results(ranks), expected)
    assert len(errors) > len(SPLITS)
    assert {way: error for way, error in errors.items() if not error < 1e-5} == {}


def gradient_errors(case: str, results: dict, expected: dict) -> dict[tuple[str, str, str], float]:
    family, _, temperature = CASES[case]
    return {
        (config, split, reference): relative_error(
            results[case][config, split, reference]["gradient"], expected[family, temperature, config, reference]
        )
        for config, split, reference in WAYS[case]
    }


#: Of the metrics of an update, those that need no scores.
OF_EVERY_METHOD = {
    "pacs/loss_mean", "pacs/effective_advantage_rms", "pacs/log_ratio/sequence_mean", "pacs/log_ratio/sequence_std",
    "pacs/log_ratio/per_token", "pacs/rows/not_finite_count",
}  # fmt: skip


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize("case", TRIED_CASES)
def test_metrics_do_not_depend_on_the_split(case: str, ranks: int, results: Results) -> None:
    """Nor on the number of ranks: those of two, whose rows are dealt out, are what all are held to."""
    for config, split, reference in WAYS[case]:
        one = results(2)[case][config, "cached, dynamic", reference]["metrics"]
        assert one.keys() >= OF_EVERY_METHOD
        assert config in FAMILY or len(one) > 20
        assert results(ranks)[case][config, split, reference]["metrics"] == pytest.approx(one, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize("case", TRIED_CASES)
def test_metrics_of_tokens_are_those_of_the_policys_own(case: str, ranks: int, results: Results) -> None:
    family, _, temperature = CASES[case]
    reference = reference_log_probs(family, temperature, "reference")
    expected = token_metrics(tiny_model(family, seed=0), reference, ROWS, temperature)
    for way in OF_TOKENS:
        metrics = results(ranks)[case][way]["metrics"]
        assert {name: metrics[name] for name in expected} == pytest.approx(expected, rel=1e-4, abs=1e-5)


def naive_steps(epochs: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """Weights before and after three steps of two mini-batches with SGD, the reference reset after the second."""
    model = tiny_model("qwen3", seed=0)
    reference_model = tiny_model("qwen3", seed=0)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    batches = mini_batches(parts(1, "grouped, dynamic", (GROUPS + 1) // 2), 2)
    for step, rate in ((1, LEARNING_RATE), (2, LEARNING_RATE), (3, LEARNING_RATE / 2)):
        for rows in batches * epochs:
            with torch.no_grad():
                reference = response_log_probs(reference_model, rows)
            model.zero_grad()
            autograd_loss(model, reference, rows, STEPPED).backward()
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter -= rate * parameter.grad
        if step == 2:
            reference_model.load_state_dict(model.state_dict())
    return before, {name: value.detach() for name, value in model.named_parameters()}


@pytest.mark.parametrize("ranks", TRIED_RANKS)
@pytest.mark.parametrize("name", STEPS)
def test_three_steps_end_at_the_weights_of_plain_sgd(ranks: int, name: str, results: Results) -> None:
    before, after = naive_steps(STEPS[name][1])
    assert relative_error(after, before) > 1e-2
    ours = results(ranks)["qwen3 packed"][name]["weights"]
    assert relative_error(ours, after) < 1e-5
    assert relative_error(ours, after, base=before) < 1e-4


def rows_of(passes: list[tuple[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for kind, rows in passes:
        total[kind] = total.get(kind, 0) + rows
    return total


@pytest.mark.parametrize("ranks", TRIED_RANKS)
def test_no_pass_is_wasted(ranks: int, results: Results) -> None:
    """Rows forwarded on rank 0. After a reset the policy stands in for the reference, for mini-batch 2 alone."""
    all_rows = (GROUPS + 1) * GROUP // ranks
    half = all_rows // 2
    case = results(ranks)["qwen3 packed"]
    after_reset = {"policy": half, "update": all_rows}
    assert [rows_of(step) for step in case["grouped"]["passes"]] == [
        after_reset,
        {"reference": all_rows, "update": all_rows},
        after_reset,
    ]
    after_reset = {"policy": half + half, "update": all_rows}
    assert [rows_of(step) for step in case["cached"]["passes"]] == [
        after_reset,
        {"reference": all_rows, "policy": all_rows, "update": all_rows},
        after_reset,
    ]


@pytest.mark.parametrize("ranks", TRIED_RANKS)
def test_a_reset_copies_every_shard(ranks: int, results: Results) -> None:
    for name in STEPS:
        assert results(ranks)["qwen3 packed"][name]["reset_copies"]
