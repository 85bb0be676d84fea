"""An OpenAI-compatible server on this machine, which answers by a script and remembers what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: From the body of a request and how often its question was asked before, to a status, a body and further headers; None
#: breaks the connection off.
Script = Callable[[dict[str, Any], int], tuple[int, Any, dict[str, str]] | None]


@dataclass
class Asked:
    """What a server was asked."""

    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)
    most_at_a_time: int = 0
    at_a_time: int = 0

    @property
    def questions(self) -> list[str]:
        return [body["messages"][0]["content"] for body in self.bodies]


def says(text: str, finish: str = "stop") -> tuple[int, Any, dict[str, str]]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return 200, {"object": "chat.completion", "choices": [choice], "usage": {"completion_tokens": 5}}, {}


@contextmanager
def serving(script: Script) -> Iterator[Asked]:
    asked, lock = Asked(), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                before = asked.questions.count(body["messages"][0]["content"])
                asked.bodies.append(body)
                asked.keys.add(self.headers.get("Authorization"))
                asked.paths.add(self.path)
                asked.at_a_time += 1
                asked.most_at_a_time = max(asked.most_at_a_time, asked.at_a_time)
            said = script(body, before)
            with lock:
                asked.at_a_time -= 1
            if said is None:
                self.close_connection = True
                self.connection.close()
                return
            status, values, headers = said
            content = (values if isinstance(values, str) else json.dumps(values)).encode()
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    asked.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
