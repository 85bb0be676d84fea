"""Secrets are left out of what is shown, logged or sent: one rule for keys, one for texts.

A key is a secret's by its words: `password` and its like anywhere; `api_key` and its like; `token` or `key` at its end,
unless the word before says that it is an ordinary one (`pad_token`, `prompt_key`). Of a text the passwords in URLs go,
the values of secret keys (`HF_TOKEN=...`), and what has the form of a well-known token. config.yaml of a run is not
redacted: the run is started from it; it is its owner's alone.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

BLANK = "(not shown)"

#: Anywhere in a key.
SECRET = re.compile(
    r"passw(or)?d|passphrase|secret|credential|webhook|api_?key|(access|private|signing|encryption|ssh)_?keys?(_|$)"
)
#: At the end of a key, whatever comes before.
LAST = {"pwd", "auth", "authorization", "bearer", "jwt", "cookie", "cookies", "dsn", "sas"}
#: At the end of a key, with the words before them that make them ordinary; alone a `key` is ordinary, a `token` is not.
TOKEN_OF = {
    "pad", "padding", "eos", "bos", "unk", "unknown", "mask", "sep", "cls", "stop", "start", "end", "begin",
    "first", "last", "next", "prev", "previous", "prompt", "response", "answer", "think", "thinking", "special",
    "image", "video", "audio", "vision", "per", "max", "min", "num", "mean", "total", "sum", "loss", "valid", "seq",
    "tool", "draft", "new", "extra", "input", "output", "boi", "eoi", "newline",
}  # fmt: skip
KEY_OF = {
    "prompt", "image", "images", "video", "videos", "audio", "audios", "fn", "question", "answer", "teacher",
    "reward", "sort", "group", "cache", "index", "dict", "primary", "public", "foreign", "hot", "label", "input",
    "output", "message", "messages", "response", "tool", "tools", "source", "data", "column", "metric", "lookup",
    "routing", "partition", "shard", "row", "field", "config", "state", "query", "value", "text", "content",
    "context", "difficulty", "id", "name", "hash", "map", "mapping", "model", "env", "lora", "batch", "meta",
    "extra",
}  # fmt: skip
#: Sections whose `key` is a secret.
KEEPERS = {
    "api", "auth", "openai", "anthropic", "azure", "aws", "google", "gemini", "deepseek", "mistral", "cohere", "hf",
    "huggingface", "hub", "github", "gitlab", "wandb", "swanlab", "clearml", "comet", "kaggle", "ssl", "tls", "ssh",
    "account", "client", "judge",
}  # fmt: skip
#: Keys that say where a secret lies, how long it is, and the like.
ABOUT = {"path", "file", "dir", "folder", "name", "type", "ttl", "length", "size", "count", "limit"}

#: What has the form of a secret, whatever its key.
KNOWN = re.compile(
    r"\b(hf_[A-Za-z0-9]{16,}|sk-[\w-]{16,}|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|A(KIA|SIA)[A-Z0-9]{16}|AIza[\w-]{30,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*)"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(-----END [A-Z ]*PRIVATE KEY-----|$)"
)
BEARER = re.compile(
    r"(?i)(\bauthorization[\"']?\s{0,3}[=:]\s{0,3}[\"']?)(?:\w+ +)?[\w.~+/=-]+|(\bbearer +)[\w.~+/=-]{16,}"
)
#: `scheme://user:password@`, whatever the password has (but what follows a port is a path), and of http `https://token@`.
URL_PASSWORD = re.compile(
    r"(?i)\b([a-z][a-z0-9+.-]{0,20}://)[^\s/?#'\":@]*:(?!\d+[/?#])[^\s'\"]*@|\b(https?://)[^\s/?#'\"]+@"
)
URL_QUERY = re.compile(r"([?&;#])([\w.-]+)=([^\s&;#'\"]+)")
#: `user:password@host:port`, as some proxies are given.
BARE_PASSWORD = re.compile(r"[^\s:/@]+:[^\s/@]+@[\w.-]+(:\d+)?/?")
NOTHING = {"", "null", "None", "true", "false", "True", "False"}
IN_QUERIES = {"key", "sig", "signature"}
#: `key=value`, `key: value` and `"key": "value"`.
ASSIGNMENT = re.compile(
    r"""(?<![\w.-])(?P<key>[A-Za-z_][\w.-]*)(?P<between>\\?["']?\s{0,3}[=:]\s{0,3})(?P<value>"[^"]*"|'[^']*'|[^\s,;&{}\[\]()"']+)"""
)


def is_secret(key: str) -> bool:
    """Whether a key, of a config's place, of the environment or of a query, is that of a secret.

    >>> [key for key in ("hf.token", "OPENAI_KEY", "max_tokens", "pad_token", "prompt_key") if is_secret(key)]
    ['hf.token', 'OPENAI_KEY']
    """
    words = _words(key)
    if not words or words[-1] in ABOUT:
        return False
    if SECRET.search("_".join(words)) or (words[-1] in LAST and words != ["pwd"] and words[-2:] != ["old", "pwd"]):
        return True
    before, last = words[-2] if len(words) > 1 else "", words[-1]
    if last == "key" and re.split(r"[./]", key)[-1].lower() == "key":  # of a section: `openai.key`, but `tool.key`
        return before in KEEPERS
    if last == "pass":
        return key.isupper()
    return (last == "token" and before not in TOKEN_OF) or (last == "key" and before not in {"", *KEY_OF})


def redacted(value: Any, key: str = "") -> Any:
    """A copy of nested mappings and lists without what is secret: under a secret's key all texts, else as `redact`.

    Numbers, switches, null and empty texts stay, but a number under a password's key does not.
    """
    if isinstance(value, Mapping):
        return {name: redacted(below, key if is_secret(key) else str(name)) for name, below in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(below, key) for below in value]
    if isinstance(value, str):
        return BLANK if value and is_secret(key) else redact(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return BLANK if is_number and is_secret(key) and _holds_numbers(key) else value


def redact(text: str) -> str:
    """A text without passwords in URLs, values of secret keys, and well-known forms of tokens.

    >>> redact("https://me:pw@host/path?token=abc&page=2 and HF_TOKEN=xyz")
    'https://(not shown)@host/path?token=(not shown)&page=2 and HF_TOKEN=(not shown)'
    """
    if BARE_PASSWORD.fullmatch(text):
        return f"{BLANK}@{text.rpartition('@')[2]}"
    text = URL_PASSWORD.sub(lambda found: f"{found[1] or found[2]}{BLANK}@", text)
    text = URL_QUERY.sub(_query, text)
    text = KNOWN.sub(BLANK, text)
    text = BEARER.sub(lambda found: f"{found[1] or found[2]}{BLANK}", text)
    return ASSIGNMENT.sub(_assignment, text)


def redacted_command(words: Sequence[str]) -> list[str]:
    """A command line, word by word, without what is secret; also where the value is the next word."""
    shown: list[str] = []
    for i, word in enumerate(words):
        before = words[i - 1] if i else ""
        key, equals, value = word.partition("=")
        if before.startswith("--") and "=" not in before and is_secret(before) and not word.startswith("-"):
            shown.append(BLANK)
        elif equals and value and is_secret(key):
            shown.append(f"{key}={BLANK}")
        else:
            shown.append(redact(word))
    return shown


def _holds_numbers(key: str) -> bool:
    """Whether a number under a secret's key may be the secret, as under a password's, and not a count of tokens."""
    return SECRET.search("_".join(_words(key))) is not None


def _words(key: str) -> list[str]:
    """The words of a key's last part, and of the part before where that is but one: `openai.key`."""
    parts = [part for part in re.split(r"[./]", key) if part]
    split = [re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+|[0-9]+", part.lstrip("+~-")) for part in parts]
    words = split[-1] if split else []
    if len(words) == 1 and len(split) > 1:
        words = [*split[-2][-1:], *words]
    return [word.lower() for word in words]


def _query(found: re.Match[str]) -> str:
    before, key, value = found.groups()
    hidden = (is_secret(key) or IN_QUERIES & {*_words(key)[-1:]}) and value != BLANK.split()[0]
    return f"{before}{key}={BLANK}" if hidden else found[0]


def _assignment(found: re.Match[str]) -> str:
    value = found["value"]
    bare = value.strip("\"'")
    if not is_secret(found["key"]) or bare in NOTHING or BLANK[:4] in bare:
        return found[0]
    if bare.isdigit() and not _holds_numbers(found["key"]):
        return found[0]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['key']}{found['between']}{quote}{BLANK}{quote}"
