"""A teacher behind an OpenAI-compatible server: questions in, answers out, with retries and a limit of requests."""

import email.utils
import json
import random
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

from pacs.base.errors import UserError
from pacs.base.redaction import BLANK, redact

#: Answered so, a request is tried again: it took too long, came too often, or the server has a trouble of its own.
AGAIN = (408, 409, 425, 429)
#: Answered so, no other request would do better: the key, the URL or the model is wrong.
IN_VAIN = (401, 403, 404, 405)
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
#: A pause that the server asks for is at most this.
LONGEST_ASKED = 900.0
CONNECT_SECONDS = 30.0
#: Of what a server says, shown to the user.
SHOWN_CHARS = 300


class ServerFailure(OSError):
    """A server cannot be reached, or fails again and again; the message says which and how."""


class Refused(Exception):
    """The server refuses this one question; the message is what it says."""


@dataclass(frozen=True)
class Reply:
    """What the teacher answers.

    Attributes:
        text: of it.
        finish: why it ended, as "stop" or "length".
        tokens: of the answer, as the server counts them; 0 if it does not say.
    """

    text: str
    finish: str
    tokens: int


@dataclass(frozen=True)
class Server:
    """Where the teacher is, and how it is asked.

    Attributes:
        url: up to /v1.
        model: its name there.
        key: sent as a bearer token; empty: none. It is shown nowhere.
        body: further fields of a request, as {"reasoning_effort": "low"}.
        tries: of a request.
        timeout: of a try, in seconds.
        per_minute: tries that begin in a minute; None: as many as there are.

    Raises:
        UserError: the URL is none.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    body: Mapping[str, Any] = field(default_factory=dict)
    tries: int = 6
    timeout: float = 600.0
    per_minute: float | None = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UserError(f"--server {redact(self.url)}: give a URL as http://localhost:8000/v1")


class Teacher:
    """Asks a server; safe to call from several threads.

    Args:
        server: that is asked.
        ended: nothing is tried or waited for once it is set.
    """

    def __init__(self, server: Server, ended: threading.Event) -> None:
        self._server, self._ended = server, ended
        headers = {"Authorization": f"Bearer {server.key}"} if server.key else {}
        self._client = httpx.Client(
            headers=headers,
            timeout=httpx.Timeout(server.timeout, connect=min(server.timeout, CONNECT_SECONDS)),
            limits=httpx.Limits(max_connections=None),
        )
        self._pace, self._next = threading.Lock(), 0.0

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def answer(self, question: str) -> Reply:
        """What the teacher says to a question.

        Raises:
            Refused: the server will not answer this one.
            UserError: it would refuse every one, as for a wrong key.
            ServerFailure: it fails, or cannot be reached, as often as is tried; or `ended` is set meanwhile.
        """
        said = "it was not asked"
        for number in range(self._server.tries):
            self._take_turn()
            if self._ended.is_set():
                break
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**number) * random.uniform(0.5, 1)
            try:
                response = self._client.post(
                    f"{self._server.url.rstrip('/')}/chat/completions", json=self._body(question)
                )
            except httpx.HTTPError as error:
                said = f"{type(error).__name__}: {error}"
            else:
                if response.status_code < 400:
                    return self._reply(response)
                said = f"status {response.status_code}: {response.text}"
                if response.status_code in IN_VAIN:
                    raise UserError(
                        f"{self._named()} answers with {self._shown(said)}: check --server, --teacher and the key"
                    )
                if response.status_code not in AGAIN and response.status_code < 500:
                    raise Refused(self._shown(said))
                pause = max(pause, _asked_pause(response))
            if number + 1 < self._server.tries:
                self._ended.wait(pause)
        raise ServerFailure(f"{self._named()}: {self._shown(said)}")

    def _body(self, question: str) -> dict[str, Any]:
        return {"model": self._server.model, "messages": [{"role": "user", "content": question}], **self._server.body}

    def _reply(self, response: httpx.Response) -> Reply:
        try:
            values = response.json()
            choice = values["choices"][0]
            text = choice["message"]["content"] or ""
            tokens = int((values.get("usage") or {}).get("completion_tokens") or 0)
            return Reply(str(text), str(choice.get("finish_reason") or ""), tokens)
        except (ValueError, LookupError, TypeError, AttributeError):
            raise UserError(
                f"{self._named()} does not answer as a server of chat completions does "
                f"({self._shown(response.text)}): give its URL up to /v1"
            ) from None

    def _take_turn(self) -> None:
        """Wait until another try may begin."""
        if self._server.per_minute is None:
            return
        with self._pace:
            now = time.monotonic()
            begins = max(now, self._next)
            self._next = begins + 60 / self._server.per_minute
        self._ended.wait(begins - now)

    def _named(self) -> str:
        return redact(f"{self._server.url} ({self._server.model})")

    def _shown(self, text: str) -> str:
        """In a line, cut off, without secrets: a server may say the key again."""
        hidden = text.replace(self._server.key, BLANK) if self._server.key else text
        return redact(" ".join(hidden.split()))[:SHOWN_CHARS]


def _asked_pause(response: httpx.Response) -> float:
    """Seconds that the server asks to wait, as a number or as a date; 0 if it does not."""
    said = response.headers.get("retry-after", "")
    seconds = 0.0
    try:
        seconds = float(said)
    except ValueError:
        with suppress(TypeError, ValueError):
            seconds = email.utils.parsedate_to_datetime(said).timestamp() - time.time()
    return min(max(0.0, seconds), LONGEST_ASKED)


def parse_body(text: str) -> dict[str, Any]:
    """Further fields of a request, from JSON.

    Raises:
        UserError: it is no JSON object, or has a field that is ours.
    """
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    if not isinstance(body, dict) or body.keys() & {"model", "messages", "stream", "n"}:
        raise UserError(
            f'--request {redact(text)}: give a JSON object as {{"reasoning_effort": "low", "max_completion_tokens": '
            "4096}, without model, messages, stream and n"
        )
    return body
