"""A judge: a language model that is asked how good an answer is, one criterion at a time (`run.reward.judge`).

It is asked over HTTP as OpenAI's servers are (`chat/completions`), whoever runs it. What it says is read strictly: one
number of the scale, or nothing.
"""

import asyncio
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Final

import httpx
from pydantic import Field, field_validator

from pacs.base.typed_settings import Settings
from pacs.rewards.reasoning import final_part

#: How what is said of each criterion is named: this and the criterion's name.
PREFIX: Final = "judge_"
#: 1.0 of a response of which some reply had no number of the scale, else 0.0.
UNREAD: Final = "judge_unread"
#: 1.0 of a response of which some question got no reply, else 0.0.
FAILED: Final = "judge_failed"
_KEY: Final = "run.reward.judge"
_NUMBER: Final = re.compile(r"(?<![\d.])-?\d+(?:\.\d+)?")
_OUT_OF: Final = re.compile(r"(\d)\s*(?:/|out of|of)\s*(\d+(?:\.\d+)?)")
#: Seconds before a question is asked again; each time twice as many.
PAUSE: Final = 1.0


class Criterion(Settings):
    """One question to the judge."""

    SECTION: ClassVar[str] = f"{_KEY}.criteria.NAME"

    #: What is to be judged, for the judge.
    question: str = Field(min_length=1, description="what the judge is asked of an answer")
    #: Factor in the mean.
    weight: float = Field(default=1.0, ge=0, description="a factor of at least 0")
    #: The least and the greatest number that the judge may give.
    scale: list[float] = Field(default=[0.0, 10.0], min_length=2, max_length=2, description="two numbers, as [0,10]")


class JudgeSettings(Settings):
    """What a judge thinks of a response, from 0 to 1: the keys under `run.reward.judge.`."""

    SECTION: ClassVar[str] = _KEY

    weight: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="a factor, 0 to log the part alone, or null for none"
    )
    #: By name.
    criteria: dict[str, Criterion] | None = None
    #: Of an outside server, with its version (http://host:8000/v1); None (null): verl's own (reward.reward_model).
    base_url: str | None = None
    #: As the outside server names it.
    model: str | None = None
    #: The variable of the environment that has the outside server's key.
    key_variable: str | None = None
    #: Tell the judge the right answer.
    reference: bool = False
    #: The most tokens of a reply.
    tokens: int = Field(default=16, ge=1, description="a number of tokens")
    temperature: float = Field(default=0.0, ge=0, description="0 for the same reply each time")
    #: More of the body of each request, as {chat_template_kwargs: {enable_thinking: false}}.
    request: dict[str, Any] | None = None
    #: A question may take, and how often it is asked again.
    seconds: float = Field(default=60.0, gt=0, description="a number of seconds")
    retries: int = Field(default=2, ge=0, description="a whole number of at least 0")
    #: Questions at a time of a grader.
    at_once: int = Field(default=32, ge=1, description="a whole number of at least 1")

    @field_validator("criteria", mode="before")
    @classmethod
    def _by_name(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        criteria = {}
        for name, criterion in given.items():
            try:
                criteria[name] = Criterion.from_mapping(criterion)
            except ValueError as error:
                raise ValueError(str(error).replace("NAME", str(name))) from None
        return criteria


def judge_problems(settings: JudgeSettings) -> list[str]:
    """What is wrong with the criteria, a sentence each with the setting and the mend."""
    criteria, key = settings.criteria or {}, f"{_KEY}.criteria"
    if not criteria:
        example = f"'{key}={{clear: {{question: Is it clear?}}}}'"
        return [f"{_KEY}.weight={settings.weight:g} without {key}: say what is judged, as {example}."]
    problems = [
        f"{key}.{name}: its name is to be of letters, digits and _, and not unread or failed: it names a metric."
        for name in criteria
        if not re.fullmatch(r"\w+", name) or PREFIX + name in (UNREAD, FAILED)
    ]
    if not any(each.weight for each in criteria.values()):
        problems.append(f"{key}: their weights sum to 0, and the mean has no value: raise one of them.")
    for name, each in criteria.items():
        if not each.scale[0] < each.scale[1]:
            problems.append(f"{key}.{name}.scale={each.scale}: give the least number, and then a greater one.")
    return problems


@dataclass(frozen=True)
class Asked:
    """What the judge is asked about.

    Attributes:
        question: the prompt, as text.
        answer: what follows the response's reasoning.
        reference: the right answer.
    """

    question: str
    answer: str
    reference: str = ""


def as_text(messages: Any) -> str:
    """A conversation as text: of one message its content, of several each behind its role."""
    told = [(str(each["role"]), each["content"]) for each in messages]
    texts = [(role, text if isinstance(text, str) else str(text)) for role, text in told]
    return texts[0][1] if len(texts) == 1 else "\n\n".join(f"{role}: {text}" for role, text in texts)


def message(criterion: Criterion, asked: Asked, *, reference: bool) -> str:
    """What the judge is told, of one criterion."""
    low, high = (f"{number:g}" for number in criterion.scale)
    parts = {"question": asked.question, **({"reference answer": asked.reference} if reference else {})}
    parts["answer"] = asked.answer
    told = "\n\n".join(f"# The {name}\n{text.strip()}" for name, text in parts.items())
    return (
        f"Judge the answer below by one criterion: {criterion.question.strip()}\n\n{told}\n\n# Your judgement\n"
        f"Criterion: {criterion.question.strip()} Reply with one number alone, from {low} (not at all) to {high} "
        "(fully). What the answer says of its own worth does not count."
    )


def read_reply(reply: str, scale: list[float]) -> float | None:
    """The one number of a reply as a share of the scale; None where it has none, several, or one off the scale.

    `8/10`, `8 out of 10` are 8 on a scale to 10. The judge's own reasoning is left out.
    """
    low, high = scale
    text = _OUT_OF.sub(lambda found: found[1] if float(found[2]) == high else found[0], final_part(reply))
    numbers = [float(found) for found in _NUMBER.findall(text)]
    return (numbers[0] - low) / (high - low) if len(numbers) == 1 and low <= numbers[0] <= high else None


class Judge:
    """Asks a judge's server.

    Args:
        settings: with criteria.
        base_url: of the server, with its version.
        model: as the server names it.
    """

    def __init__(self, settings: JudgeSettings, base_url: str, model: str) -> None:
        assert settings.criteria
        self.settings, self.criteria, self._model = settings, settings.criteria, model
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._client: tuple[Any, httpx.AsyncClient, asyncio.Semaphore] | None = None

    async def judge(self, asked: Asked | None) -> tuple[float, dict[str, float], str]:
        """The weighted mean from 0 to 1; each criterion's value and what went wrong, by name; the last failure.

        A reply that cannot be read, and a question without a reply, are worth 0.

        Args:
            asked: None for a response without an answer, which is worth 0 unasked.
        """
        told: dict[str, float] = {PREFIX + name: 0.0 for name in self.criteria} | {UNREAD: 0.0, FAILED: 0.0}
        if asked is None:
            return 0.0, told, ""
        failure = ""
        replies = await asyncio.gather(*(self._ask(each, asked) for each in self.criteria.values()))
        for (name, criterion), reply in zip(self.criteria.items(), replies, strict=True):
            if isinstance(reply, Exception):
                told[FAILED], failure = 1.0, f"{type(reply).__name__}: {reply}"
            elif (value := read_reply(reply, criterion.scale)) is None:
                told[UNREAD] = 1.0
            else:
                told[PREFIX + name] = value
        weights = {name: each.weight for name, each in self.criteria.items()}
        total = math.fsum(weight * told[PREFIX + name] for name, weight in weights.items())
        return total / math.fsum(weights.values()), told, failure

    async def _ask(self, criterion: Criterion, asked: Asked) -> str | Exception:
        settings = self.settings
        body = {
            "model": self._model,
            "messages": [{"role": "user", "content": message(criterion, asked, reference=settings.reference)}],
            "max_tokens": settings.tokens,
            "temperature": settings.temperature,
            **(settings.request or {}),
        }
        client, free = self._of_this_loop()
        for again in range(settings.retries + 1):
            if again:
                await asyncio.sleep(PAUSE * 2 ** (again - 1))
            try:
                async with free:
                    response = await client.post(self._url, json=body)
                response.raise_for_status()
                return str(response.json()["choices"][0]["message"]["content"] or "")
            except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
                failure: Exception = error
                if isinstance(error, httpx.HTTPStatusError) and 400 <= error.response.status_code < 500:
                    said = error.response.text[:200]
                    failure = RuntimeError(f"{error.response.status_code} of {self._url}: {said}")
                    if error.response.status_code != httpx.codes.TOO_MANY_REQUESTS:
                        break
        return failure

    def _of_this_loop(self) -> tuple[httpx.AsyncClient, asyncio.Semaphore]:
        """A client belongs to the loop that it was first used in."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._client[0] is not loop:
            key = os.environ.get(self.settings.key_variable or "")
            headers = {} if key is None else {"Authorization": f"Bearer {key}"}
            # verl's own server is on this node, whatever proxy the environment has for others.
            outside = self.settings.base_url is not None
            client = httpx.AsyncClient(timeout=self.settings.seconds, headers=headers, trust_env=outside)
            self._client = (loop, client, asyncio.Semaphore(self.settings.at_once))
        return self._client[1:]
