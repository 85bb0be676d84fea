"""Where a run ends: where recipes/minimal.py ends, and where each method's own equations, stepped naively, end."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForTokenClassification, PreTrainedModel
from verl.trainer.ppo import core_algos
from verl.utils.torch_functional import get_cosine_schedule_with_warmup
from verl.workers.config import ActorConfig

from pacs.algorithm import method_loss
from recipes import minimal
from recipes.arithmetic.measure import Prompts, Responses, response_logits
from recipes.laboratory import loop
from recipes.laboratory.methods import method_named
from recipes.laboratory.sampling import Samples
from recipes.laboratory.settings import Settings
from tests.recipes.laboratory.recorded import ROUNDING, ROUNDING_OF_A_NEW_ADAM, SMALL, Recorded, plain_policy
from tests.recipes.laboratory.tiny import make_tiny_start, odd, relative_error, weights_of


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_start(tmp_path_factory.mktemp("start"))


# Beside recipes/minimal.py


@pytest.mark.parametrize(
    ("options", "settings", "within"),
    [
        ({"reset_every": 2, "reset_optimizer": True}, {"updates_per_step": 2}, ROUNDING_OF_A_NEW_ADAM),
        ({"reset_every": None, "reset_optimizer": True}, {"updates_per_step": 1, "clip_grad": 0.5}, ROUNDING),
        ({"reset_every": 1, "reset_optimizer": False}, {"updates_per_step": 3}, ROUNDING),
        ({"reset_every": 3, "reset_optimizer": True}, {"updates_per_step": 2, "lr_warmup_updates": 3}, ROUNDING),
    ],
)
def test_pacs_ends_at_minimals_weights(
    options: dict[str, Any], settings: dict[str, Any], within: float, start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Minimal is given the responses that the loop has sampled, and must have asked for those of the same prompts."""
    own = Settings(options={"beta": 0.7, "reference": options}, **SMALL, **settings)
    recorded = Recorded(start, own)
    begun = loop.read_beginning(start, prompts=1, split="test", problems=1)
    asked: list[list[str]] = []

    def generate(_: Any, __: Any, messages: Any, *, samples: int) -> Responses:
        assert samples == SMALL["responses"]
        given = recorded.samples[len(asked)]
        asked.append([message[0]["content"] for message in messages])
        return Responses(given.ids, given.attention_mask, given.response_mask, given.texts)

    monkeypatch.setattr(minimal, "generate", generate)
    monkeypatch.setattr(minimal, "grade", lambda responses, _: odd(responses.texts).view(SMALL["prompts"], -1))
    own_start = weights_of(begun.policy)
    theirs = minimal.Settings(beta=0.7, **{"clip_grad": float("inf")} | options | SMALL | settings)
    curve = minimal.train(begun.policy, begun.tokenizer, Prompts(begun.train.messages, begun.train.answers), theirs)
    assert asked == recorded.prompts
    assert relative_error(weights_of(recorded.policy), weights_of(begun.policy), own_start) < within
    for point, expected in zip(recorded.result["curve"], curve, strict=True):
        assert {name: point[name] for name in expected} == pytest.approx(expected, rel=1e-3)


# Beside the equations, stepped naively: every pass whole, every policy kept


def of_rows(samples: Samples, rows: list[int]) -> Samples:
    """Without any trimming."""
    parts = (samples.ids, samples.attention_mask, samples.response_mask)
    texts = [samples.texts[row] for row in rows]
    return Samples(*(part[rows] for part in parts), texts, samples.log_probs[rows], samples.entropies[rows])


def passed(model: PreTrainedModel, samples: Samples) -> torch.Tensor:
    tokens = samples.ids[:, -samples.response_mask.shape[1] :, None]
    return response_logits(model, samples).log_softmax(-1).gather(-1, tokens)[:, :, 0]


def adam(model: torch.nn.Module, lr: float) -> torch.optim.Optimizer:
    return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)


def verls_decay(settings: Settings) -> list[float]:
    """A factor a step: the installed verl's own schedule, one step of which it makes after a step's updates."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=1.0)
    if not settings.lr_decay:
        return [1.0] * settings.steps
    schedule, factors = get_cosine_schedule_with_warmup(optimizer, 0, settings.steps, min_lr_ratio=0.0), []
    for _ in range(settings.steps):
        factors.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return factors


def naive_run(start: Path, settings: Settings, recorded: Recorded) -> tuple[PreTrainedModel, list[bool]]:
    """The policy that the recorded responses lead to, and at which steps the reference was reset.

    Methods that compare with the sampler are given a pass of the policy that sampled, unless a correction has the ratio
    to that already; others one of the reference.
    """
    method = method_named(settings.method, settings.options)
    if settings.method == "dr_grpo":
        method = method.model_copy(update={"max_response_tokens": 24})
    config, policy = method.reference, plain_policy(start)
    past, reference, optimizer, resets = [], copy.deepcopy(policy), adam(policy, settings.lr), []
    last_reset, decay = None, verls_decay(settings)
    size = settings.prompts * settings.responses // settings.updates_per_step
    for step in range(1, settings.steps + 1):
        past.append(copy.deepcopy(policy))
        sampler = past[max(0, step - 1 - settings.staleness)]
        samples = recorded.samples[step - 1]
        seen = recorded.samplers[step - 1]
        start_weights = weights_of(past[0])
        if sampler is past[0]:
            assert all(torch.equal(value, seen[name]) for name, value in start_weights.items())
        else:
            assert relative_error(seen, weights_of(sampler), start_weights) < ROUNDING
        labels = odd(samples.texts)
        by_ratio = method.compares_with_sampler and not method.update.correction.active
        compared = sampler if by_ratio or settings.reference_is_sampler else reference
        slow = 1.0 if last_reset is None else min(1.0, (step - last_reset) / (config.warmup_steps + 1))
        for group in optimizer.param_groups:
            group["lr"] = settings.lr * slow * decay[step - 1]
        log_ratios: list[float] = []
        correction = method.update.correction
        with torch.no_grad():
            ratios = (passed(policy, samples) - passed(sampler, samples)).exp()
        if correction.kind == "truncate":
            factors = ratios.clamp(max=correction.cap)
        elif correction.kind == "mask":
            factors = ratios * (ratios <= correction.cap) * (ratios >= 1 / correction.cap)
        else:
            factors = torch.ones_like(ratios)
        for first in range(0, len(labels), size):
            rows = list(range(first, first + size))
            part = of_rows(samples, rows)
            with torch.no_grad():
                by_reference = passed(compared, part)
            own, mask = passed(policy, part), part.response_mask
            own = own.detach() + factors[rows] * (own - own.detach())
            log_ratios += ((own.detach() - by_reference) * mask).sum(1).tolist()
            groups = torch.tensor([row // settings.responses for row in rows])
            denominator = {"grpo": mask.sum(), "dr_grpo": size * 24}.get(settings.method)
            loss, _ = method_loss(own, by_reference, mask, labels[rows], groups, method, denominator=denominator)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        mean = sum(log_ratios) / len(log_ratios)
        assert recorded.result["curve"][step - 1]["log_ratio_mean"] == pytest.approx(mean, rel=1e-2, abs=1e-3)
        due = config.reset_every is not None and step % config.reset_every == 0
        if slow == 1 and config.reset_at_log_ratio is not None:
            due = due or mean >= config.reset_at_log_ratio
        resets.append(due)
        if due:
            reference, last_reset = copy.deepcopy(policy), step
            if config.reset_optimizer:
                optimizer = adam(policy, settings.lr)
    return policy, resets


@pytest.mark.parametrize(
    ("method", "options", "staleness"),
    [
        ("pacs", {"reference": {"reset_every": 2}}, 0),
        ("pacs", {"reference": {"reset_every": 2}}, 1),
        ("pacs", {"reference": {"reset_every": None, "reset_at_log_ratio": 0.05, "warmup_steps": 1}}, 0),
        ("pacs_authors", {}, 2),
        ("gvpo", {}, 0),
        ("disco", {}, 1),
        ("nft", {"ratio": "sequence"}, 0),
        ("grpo", {}, 0),
        ("grpo", {}, 2),
        ("grpo", {"ratio": "unclipped"}, 2),
        ("grpo", {"ratio": "none"}, 2),
        ("dr_grpo", {"clip_high": 0.05}, 1),
        ("rloo", {}, 8),
        ("pacs_authors", {"update": {"correction": {"kind": "truncate", "cap": 1.001}}}, 2),
        ("pacs", {"update": {"correction": {"kind": "mask", "cap": 1.01}}}, 1),
        ("grpo", {"ratio": "none", "update": {"correction": {"kind": "mask", "cap": 1.01}}}, 2),
        ("grpo", {"update": {"correction": {"kind": "truncate", "cap": 2.0}}}, 2),
        ("nft", {"update": {"correction": {"kind": "truncate", "cap": 2.0}}}, 3),
    ],
)
def test_it_ends_where_the_methods_equations_end(
    method: str, options: dict[str, Any], staleness: int, start: Path
) -> None:
    assert_it_ends_there(Settings(method=method, options=options, staleness=staleness, **SMALL), start)


@pytest.mark.parametrize("method", ["pacs_authors", "gvpo"])
def test_the_reference_may_be_the_policy_that_sampled_however_old(method: str, start: Path) -> None:
    assert_it_ends_there(Settings(method=method, staleness=2, reference_is_sampler=True, **SMALL), start)


def assert_it_ends_there(settings: Settings, start: Path) -> None:
    options = settings.options
    recorded = Recorded(start, settings)
    policy, resets = naive_run(start, settings, recorded)
    first = weights_of(plain_policy(start))
    assert relative_error(weights_of(recorded.policy), weights_of(policy), first) < ROUNDING
    assert [point["reset"] for point in recorded.result["curve"]] == resets
    if options.get("reference", {}).get("reset_at_log_ratio"):
        assert 0 < sum(resets) < len(resets)


@pytest.mark.parametrize("method", ["pacs_authors", "grpo"])
def test_the_learning_rate_decays_as_in_verl(method: str, start: Path) -> None:
    settings = Settings(method=method, lr_decay=True, **SMALL)
    recorded = Recorded(start, settings)
    policy, _ = naive_run(start, settings, recorded)
    first = weights_of(plain_policy(start))
    assert relative_error(weights_of(recorded.policy), weights_of(policy), first) < ROUNDING


@pytest.mark.parametrize(
    ("staleness", "method", "lam", "critic_lam", "first"),
    [(0, "ppo", 1.0, 1.0, 1), (1, "ppo", 1.0, 1.0, 1), (0, "vcppo", 0.9, 0.6, 2)],
)
def test_ppo_ends_where_verls_functions_lead(
    staleness: int, method: str, lam: float, critic_lam: float, first: int, start: Path
) -> None:
    more = {"lam": lam, "critic_lam": critic_lam, "critic_warmup": first} if method == "vcppo" else {}
    settings = Settings(method=method, options={"critic_lr": 2e-3, **more}, staleness=staleness, **SMALL)
    recorded = Recorded(start, settings)
    policy = plain_policy(start)
    begun = weights_of(policy)
    critic = AutoModelForTokenClassification.from_pretrained(start / "model", num_labels=1, dtype=torch.float32).eval()
    torch.nn.init.zeros_(critic.score.weight)
    torch.nn.init.zeros_(critic.score.bias)
    optimizer, critics = adam(policy, settings.lr), adam(critic, 2e-3)
    config = ActorConfig(strategy="fsdp2", rollout_n=4, ppo_micro_batch_size_per_gpu=1, clip_ratio=0.2)

    def values_of(samples: Samples) -> torch.Tensor:
        return response_logits(critic, samples)[:, :, 0]

    past = []
    for step, samples in enumerate(recorded.samples):
        past.append(copy.deepcopy(policy))
        labels, mask = odd(samples.texts), samples.response_mask.float()
        rewards = torch.zeros_like(mask)
        rewards[torch.arange(len(labels)), samples.response_mask.sum(1) - 1] = labels
        with torch.no_grad():
            values, old = values_of(samples), passed(past[max(0, step - staleness)], samples)
        (advantages, _), (_, returns) = (
            core_algos.compute_gae_advantage_return(rewards, values, mask, 1.0, each) for each in (lam, critic_lam)
        )
        for rows in np.split(np.arange(len(labels)), settings.updates_per_step):
            part = of_rows(samples, rows.tolist())
            loss, _ = core_algos.compute_value_loss(values_of(part), returns[rows], values[rows], mask[rows], 0.5)
            critics.zero_grad()
            loss.backward()
            critics.step()
            if step + 1 < first:
                continue
            loss, _ = core_algos.compute_policy_loss_vanilla(
                old[rows], passed(policy, part), advantages[rows], mask[rows], config=config
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert relative_error(weights_of(recorded.policy), weights_of(policy), begun) < ROUNDING
