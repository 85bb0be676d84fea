"""A stand-in for the Hugging Face Hub on this machine: the few requests that `datasets` makes, from a folder.

    python -m tests.data.hub FOLDER

serves FOLDER/<owner>/<name>/ as dataset repositories at one commit, prints its address, and ends with its standard
input. A repository with a file `.gated` is refused to those who come without a token; those of one with
`.slow` come after a minute.
"""

import hashlib
import json
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = hashlib.sha1(b"the only commit").hexdigest()


class Hub(BaseHTTPRequestHandler):
    folder: Path

    def do_GET(self):
        self.answer()

    def do_HEAD(self):
        self.answer()

    def do_POST(self):
        self.answer()

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        address = urlsplit(self.path)
        path = unquote(address.path)
        found = re.fullmatch(r"/(api/)?datasets/([\w.-]+/[\w.-]+)(?:/(.*))?", path)
        if not found or not (self.folder / found[2]).is_dir():
            self.fail(404, "RepoNotFound")
            return
        root, (what, _, rest) = self.folder / found[2], (found[3] or "revision/main").partition("/")
        revision, _, name = rest.partition("/")
        names = [file.relative_to(root).as_posix() for file in sorted(root.rglob("*")) if file.is_file()]
        gated = (root / ".gated").exists()
        public = found[1] and what == "revision"
        if gated and not public and "Authorization" not in self.headers:
            self.fail(401, "GatedRepo")
        elif revision and not re.fullmatch(r"main|[0-9a-f]{40}", revision):
            self.fail(404, "RevisionNotFound")
        elif what == "resolve":
            self.send_file(root / name, self.commit(revision))
        elif what == "auth-check":
            self.send_json({})
        elif what == "revision":
            siblings = [{"rfilename": each} for each in names]
            self.send_json(
                {"id": found[2], "sha": self.commit(revision), "siblings": siblings, "gated": gated and "manual"}
            )
        else:
            recursive = parse_qs(address.query).get("recursive") == ["true"]
            below = [each for each in names if not name or each.startswith(f"{name}/")]
            folders = {each[: each.index("/", len(name) + 1)] for each in below if "/" in each[len(name) + 1 :]}
            listed = below if recursive else [each for each in below if "/" not in each[len(name) + 1 :]]
            listed += [] if recursive else sorted(folders)
            self.send_json([self.entry(root, each) for each in (listed if what == "tree" else parse_qs(body)["paths"])])

    def commit(self, revision):
        return COMMIT if revision == "main" else revision

    def entry(self, root, name):
        if (root / name).is_dir():
            return {"type": "directory", "path": name, "oid": COMMIT}
        data = (root / name).read_bytes()
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

    def send_file(self, file, commit):
        if not file.is_file():
            self.fail(404, "EntryNotFound")
            return
        if (self.folder / "/".join(file.relative_to(self.folder).parts[:2]) / ".slow").exists():
            time.sleep(60)
        data = file.read_bytes()
        found = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        self.send_response(206 if found else 200)
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", commit)
        self.send_header("Accept-Ranges", "bytes")
        if found:
            start, end = int(found[1]), min(int(found[2] or len(data)), len(data) - 1)
            self.send_header("Content-Range", f"bytes {start}-{end}/{len(data)}")
            data = data[start : end + 1]
        self.send_body(data)

    def send_json(self, value):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_body(json.dumps(value).encode())

    def fail(self, status, code):
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", code)
        self.send_body(b"")

    def send_body(self, data):
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *args):
        pass


def main():
    Hub.folder = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
