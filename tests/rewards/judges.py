"""A judge's server as OpenAI's are, in a thread of the test: what it replies is the test's."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

MODEL = "a/judge"


@dataclass
class Server:
    """What was asked of it.

    Attributes:
        address: its host and port.
        bodies: of the requests, in the order in which they came.
        keys: the header with a key of each.
    """

    address: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)


@contextmanager
def serving(reply: Callable[[dict[str, Any]], str | int]) -> Iterator[Server]:
    """Answers each question with a reply of text, or with a status of HTTP."""
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.path == "/v1/models"
            self._answer({"data": [{"id": MODEL}]})

        def do_POST(self) -> None:
            assert self.path == "/v1/chat/completions"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.bodies.append(body)
            server.keys.append(self.headers.get("Authorization"))
            said = reply(body)
            if isinstance(said, int):
                self.send_error(said, "as it was asked to")
                return
            self._answer({"choices": [{"message": {"role": "assistant", "content": said}}]})

        def _answer(self, told: dict[str, Any]) -> None:
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        server.address = f"127.0.0.1:{listening.server_port}"
        thread = Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            listening.shutdown()
            thread.join()
