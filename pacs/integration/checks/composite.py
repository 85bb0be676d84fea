"""What a reward of several parts (`run.reward`) needs of a config, and what it comes to."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from pacs.base.settings import flatten
from pacs.integration.checks.data_rows import read_rows
from pacs.integration.checks.grading import ANSWER, BOX, CODE
from pacs.integration.checks.prompts import reasoning_of, tokenizer_of
from pacs.integration.checks.wording import spelled
from pacs.integration.schema import composite_in, method_in
from pacs.rewards.composite import PARTS, ROUNDING, Composite, Response, RewardSettings
from pacs.rewards.registry import PATH
from pacs.verl_keys.algorithm_changes import plain
from pacs.verl_keys.config import train_files

TOTAL = "@run.reward.total="
VERLS = "reward.reward_kwargs.overlong_buffer_cfg.enable"


@spelled
def composite_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the parts of a reward; a sentence each with the setting and the mend."""
    try:
        composite = composite_in(config)
    except ValueError:  # said by the section's own check
        return
    if composite is None:
        for key in _changed(config, ""):
            yield f"@{key}= is not read without run.reward.total: set that (sum, clip or threshold), or leave it out."
        return
    settings, longest = composite.settings, composite.longest
    for name in PARTS:
        for key in () if name in composite.weights else _changed(config, f"{name}."):
            yield f"@{key}= is not read without run.reward.{name}.weight: set that, or leave this out."
    if settings.total != "threshold" and _changed(config, "threshold"):
        yield f"@run.reward.threshold= is not read with {TOTAL}: set that to threshold, or leave this out."
    if not settings.correctness and not any(composite.weights.values()):
        yield "@run.reward.correctness= with no part of a weight above 0: every reward would be 0: raise one of them."
    if composite.buffer > longest:
        yield "@run.reward.overlong.buffer= must be at most @data.max_response_length=: lower it, or leave it out."
    if "repetition" in composite.weights and settings.repetition.ngram >= longest:
        yield "@run.reward.repetition.ngram= must be below @data.max_response_length=, or nothing repeats: lower it."
    if config.reward.reward_manager.source != "register":
        yield f"{TOTAL}: @reward.reward_manager.name= is a manager of your own, which adds no parts: leave out either."
    if OmegaConf.select(config, VERLS):
        yield (
            f"{TOTAL}: @{VERLS}= is verl's own punishment, which would not be in the sum: set it to false "
            "(run.reward.overlong.weight=0.5 is the same)."
        )
    yield from _total_problems(config, composite)


def _total_problems(config: DictConfig, composite: Composite) -> Iterator[str]:
    """A total that a method takes for no label, or that is the same for all."""
    total, threshold, ours = composite.settings.total, composite.settings.threshold, config.trainer.v1.trainer_mode
    low, high = composite.bounds((0.0, 1.0))
    verifiers = config.reward.custom_reward_function.path == PATH
    if total == "threshold":
        if verifiers and not low < threshold - ROUNDING <= high:
            which = "every" if low >= threshold - ROUNDING else "no"
            yield (
                f"@run.reward.threshold=: sums go from {low:g} to {high:g}, so that {which} response would count as "
                "right: set one between them."
            )
        return
    if ours != "pacs":
        return
    try:
        method = method_in(config)
    except ValueError:  # said by the method's check
        return
    name, graded = config.method.name, composite.settings.correctness != 1 or any(composite.weights.values())
    alone = "or the weights to 0, so that the parts are logged alone"
    if graded and method.reference.reset_at_saturation is not None:
        yield (
            f"@method.reference.reset_at_saturation=: with {TOTAL} rewards are graded, and no residual says how much "
            "is learned: leave it out, or set run.reward.total=threshold."
        )
    if graded and method.label_kind == "classes":
        yield (
            f"{TOTAL}: {name} trains on right and wrong responses alone with these settings, and sums are graded: set "
            f"run.reward.total=threshold (what reaches run.reward.threshold is right), {alone}, or use a method that "
            "takes numbers (pacs with method.weight_scope=group, gvpo, maxrl, raft, or verl's algorithms)."
        )
    within = -ROUNDING <= low <= high <= 1 + ROUNDING
    if total == "sum" and verifiers and method.label_kind == "shares" and not within:
        yield (
            f"{TOTAL}: sums go from {low:g} to {high:g}, and {name} trains on labels from 0 to 1: set "
            f"run.reward.total=clip, weights with which sums stay there, {alone}, or use a method that takes any "
            "number (gvpo, or verl's algorithms)."
        )


def _changed(config: DictConfig, below: str) -> list[str]:
    """The settings of `run.reward` whose names begin so and that have not their defaults."""
    defaults, given = flatten(RewardSettings().model_dump()), flatten(plain(config.run.get("reward") or {}))
    return [f"run.reward.{key}" for key, value in given.items() if key.startswith(below) and value != defaults.get(key)]


def parts_of(config: DictConfig) -> list[str]:
    """The names of the parts that the run's rewards have beside the score."""
    composite = composite_in(config)
    return [] if composite is None else list(composite.weights)


def totals_of(config: DictConfig, score: float) -> list[float]:
    """The least and the greatest reward of a response that the reward function gives a score."""
    composite = composite_in(config)
    if composite is None:
        return [score]
    ends = composite.bounds((score,))
    return list(ends) if composite.settings.total == "sum" else [0.0, 1.0]


def reward_outlook(config: DictConfig) -> Iterator[str]:
    """What the parts are, and what answers to the first row of the data would earn; nothing without parts."""
    composite = composite_in(config)
    if composite is None:
        return
    yield f"reward: {composite.formula()} (run.reward)"
    gold, verifier, where = "7", None, "an answer"
    file = next(map(Path, train_files(config)), None)
    with suppress(Exception):  # said of the data
        if file is not None:
            row = min(read_rows(file, config.data.prompt_key)[0], key=lambda each: each.number)
            gold, verifier, where = str(row.gold), row.verifier, f"row {row.number} of {file}"
    for kind, score, answer in (("right", 1.0, gold), ("wrong", 0.0, "?")):
        text, begins, tokens = _example(config, CODE if verifier == "code" else BOX, answer)
        shown = []
        for many in (tokens, range(composite.longest)):
            parts = composite.parts(Response(score, text, begins, many, verifier))
            each = "".join(f", {name} {value:g}" for name, value in parts.items())
            shown.append(f"{composite.total(score, parts):g} with {len(many):,} tokens (score {score:g}{each})")
        unasked = "; the judge is not asked here" if "judge" in composite.weights else ""
        yield f"  {where}, answered {kind}: {' and '.join(shown)}{unasked}"


def _example(config: DictConfig, form: str, answer: str) -> tuple[str, int, range]:
    """A short response with the reasoning ended, where its answer begins, and as many tokens as it has."""
    before, text = "", form.replace(ANSWER, "pass" if form == CODE else answer)
    with suppress(Exception):  # of a tokenizer: said of the model
        reasoning = reasoning_of(config)
        if reasoning is not None and not reasoning.lost:
            opened = reasoning.opened_by(reasoning.prompt_end)
            pair = opened or next(iter(reasoning.of_tokenizer), None)
            before = "" if pair is None else ("" if opened else pair.opens[0]) + pair.closes[0]
    response = before + text
    count = len(response.split())
    with suppress(Exception):
        if (tokenizer := tokenizer_of(config)) is not None:
            count = len(tokenizer(response, add_special_tokens=False)["input_ids"]) + 1  # the end's
    return response, len(before), range(count)
