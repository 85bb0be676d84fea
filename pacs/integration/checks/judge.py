"""What a judge of rewards (`run.reward.judge`) needs of a config, and whether it is there."""

import os
from collections.abc import Iterator

import httpx
from omegaconf import DictConfig

from pacs.integration.checks.models import named_problems, reading_problems
from pacs.integration.checks.wording import spelled
from pacs.integration.schema import composite_in
from pacs.rewards.judge import JudgeSettings, judge_problems

URL, MODEL = "run.reward.judge.base_url", "reward.reward_model.model_path"
#: An outside server is given so long to name its models.
ANSWER_SECONDS = 10.0
#: What a question has beside prompt and response, in tokens, about.
ROOM = 200


def judge_settings_in(config: DictConfig) -> JudgeSettings | None:
    """Those of a run that asks a judge, as far as they can be read."""
    try:
        composite = composite_in(config)
    except ValueError:  # said by the section's own check
        return None
    return composite.settings.judge if composite is not None and "judge" in composite.weights else None


@spelled
def asked_judge_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the settings of a judge, and of verl's reward model for it; a sentence each."""
    settings, model = judge_settings_in(config), config.reward.reward_model
    if settings is None:
        return
    yield from judge_problems(settings)
    if settings.base_url is None:
        yield from _verls_problems(config, settings)
        return
    if not settings.base_url.startswith(("http://", "https://")):
        yield f"@{URL}=: give it as http://HOST:PORT/v1."
    if not settings.model:
        yield f"@{URL}= without run.reward.judge.model: say which of its models judges."
    if model.enable:
        yield f"@{URL}= beside @reward.reward_model.enable=: nobody would ask verl's reward model: leave out either."


def _verls_problems(config: DictConfig, settings: JudgeSettings) -> Iterator[str]:
    model = config.reward.reward_model
    for name in ("model", "key_variable"):
        if getattr(settings, name) is not None:
            yield f"@run.reward.judge.{name}= is of an outside server: set {URL}, or leave this out."
    if not model.enable or not model.model_path:
        yield (
            "@run.reward.judge.weight=: nobody is there to judge: have verl start a model "
            "(reward.reward_model.enable=true reward.reward_model.enable_resource_pool=true "
            f"reward.reward_model.nnodes=1 reward.reward_model.n_gpus_per_node=1 {MODEL}=FOLDER), or name a server "
            f"({URL}=http://HOST:PORT/v1 with run.reward.judge.model)."
        )
        return
    if not model.enable_resource_pool:
        yield (
            "@run.reward.judge.weight= with @reward.reward_model.enable_resource_pool=false: verl then grades when all "
            "responses are there, and tells a reward function neither the data source nor the right answer: give the "
            "judge GPUs of its own (enable_resource_pool=true, nnodes, n_gpus_per_node), or name a server by "
            f"{URL}."
        )
        return
    rollout = model.rollout
    if rollout.free_cache_engine:
        yield (
            "@reward.reward_model.rollout.free_cache_engine=: verl puts a judge with GPUs of its own to sleep, and "
            "never wakes it: leave it out."
        )
    needed = config.data.max_prompt_length + config.data.max_response_length + settings.tokens + ROOM
    if rollout.max_model_len is not None and rollout.max_model_len < needed:
        yield (
            f"@reward.reward_model.rollout.max_model_len=: a question may have some {needed:,} tokens "
            "(data.max_prompt_length, data.max_response_length, run.reward.judge.tokens, and what is asked): raise it."
        )


@spelled
def judge_place_problems(config: DictConfig) -> Iterator[str]:
    """What is wrong with the judge's files, or with what its server answers; a sentence each."""
    settings = judge_settings_in(config)
    if settings is None:
        return
    if settings.base_url is not None:
        yield from _server_problems(settings)
        return
    model = str(config.reward.reward_model.model_path)
    yield from list(named_problems(model, f"@{MODEL}=")) or reading_problems(model, f"@{MODEL}=")


def _server_problems(settings: JudgeSettings) -> Iterator[str]:
    key = None
    if settings.key_variable is not None and (key := os.environ.get(settings.key_variable)) is None:
        yield "@run.reward.judge.key_variable=: the environment has no such variable: set it, or leave this out."
        return
    assert settings.base_url is not None
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    try:
        url = f"{settings.base_url.rstrip('/')}/models"
        answer = httpx.get(url, headers=headers, timeout=ANSWER_SECONDS).raise_for_status()
        models = [str(each["id"]) for each in answer.json()["data"]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, LookupError, TypeError) as error:
        why = " ".join(str(error).split()[:20]) or type(error).__name__
        yield f"@{URL}=: no judge answers there ({why}): start its server, or give the address at which it has /models."
        return
    if settings.model not in models:
        yield f"@run.reward.judge.model=: the server has {', '.join(models) or 'no model'}: name one of these."
