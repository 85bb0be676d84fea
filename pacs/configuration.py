"""The table of docs/configuration.md: every key of `pacs` with its default and what it is, as the configs say it.

python -m pacs.configuration     (prints the table)
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pacs.base.paths import config_dir
from pacs.base.terminal import print

#: The files whose `pacs` section has keys, and the algorithms that have these.
FILES = {"shared/base.yaml": "all", "shared/method.yaml": "methods", "pacs.yaml": "pacs"}
#: Methods that have settings of their own besides.
OWN = ("gvpo", "real", "disco", "nft", "maxrl", "raft", "reinforce_rej", "pass_at_k")


def key_table() -> str:
    """The table in Markdown, with a newline at its end."""
    rows = ["| key | default | of | what it is |", "|---|---|---|---|"]
    for name, algorithms in FILES.items():
        for key, default, about in documented_keys(config_dir() / name):
            rows.append(f"| `pacs.{key}` | {default} | {algorithms} | {about} |")
    having: dict[tuple[str, str, str], list[str]] = {}
    for name in OWN:
        for setting in documented_keys(config_dir() / f"{name}.yaml", own=True):
            having.setdefault(setting, []).append(name)
    rows += [f"| `pacs.{key}` | {default} | {', '.join(names)} | {about} |"
             for (key, default, about), names in having.items()]  # fmt: skip
    return "\n".join(rows) + "\n"


def documented_keys(file: Path, *, own: bool = False) -> Iterator[tuple[str, str, str]]:
    """Key below `pacs`, default and comment of each setting in a config's `pacs` section.

    Args:
        file: the config.
        own: leave out what is there to give a shared key another value: `method`, and what is below a section.

    Raises:
        ValueError: A setting without a comment above it.
    """
    section = re.search(r"^pacs:\n((?:  .*\n?)+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    parents: list[str] = []
    comment = ""
    for line in section.group(1).splitlines() if section else []:
        text = line.strip()
        if text.startswith("#"):
            comment = f"{comment} {text.removeprefix('# ')}".strip()
            continue
        key, _, default = text.partition(": ") if not text.endswith(":") else (text[:-1], "", "")
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        parents[depth:] = [key]
        if not default or (own and (depth or key == "method")):
            comment = ""
            continue
        if not comment:
            raise ValueError(f"{file}: pacs.{'.'.join(parents)} has no comment that says what it is")
        yield ".".join(parents), default, comment
        comment = ""


if __name__ == "__main__":
    print(key_table(), end="")
