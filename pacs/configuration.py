"""The table of docs/configuration.md: every key of `method`, `run` and `genac`, its default and what configs say of it.

python -m pacs.configuration     (prints the table)
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pacs.base.paths import config_dir
from pacs.base.terminal import print

#: The files that have keys of ours, their section, and the algorithms that have these.
FILES = {
    "shared/base.yaml": ("run", "all"), "shared/method.yaml": ("method", "methods"), "pacs.yaml": ("method", "pacs"),
    "genac.yaml": ("genac", "genac"),
}  # fmt: skip
#: Methods that have settings of their own besides.
METHODS_WITH_SETTINGS = (
    "gvpo", "real", "disco", "nft", "maxrl", "raft", "reinforce_rej", "pass_at_k", "vineppo", "distillation",
    "genac",
)  # fmt: skip


def key_table() -> str:
    """The table in Markdown, with a newline at its end."""
    rows = ["| key | default | of | what it is |", "|---|---|---|---|"]
    for name, (section, algorithms) in FILES.items():
        for key, default, about in documented_keys(config_dir() / name, section):
            rows.append(f"| `{key}` | {default} | {algorithms} | {about} |")
    having: dict[tuple[str, str, str], list[str]] = {}
    for name in METHODS_WITH_SETTINGS:
        for setting in documented_keys(config_dir() / f"{name}.yaml", "method", only_new=True):
            having.setdefault(setting, []).append(name)
    rows += [f"| `{key}` | {default} | {', '.join(names)} | {about} |"
             for (key, default, about), names in having.items()]  # fmt: skip
    return "\n".join(rows) + "\n"


def documented_keys(file: Path, section: str, *, only_new: bool = False) -> Iterator[tuple[str, str, str]]:
    """Key, default and comment of each setting in a section of a config.

    Args:
        file: the config.
        section: `method`, `run` or `genac`.
        only_new: leave out what is there to give a shared key another value: `name`, and what is below a section.

    Raises:
        ValueError: A setting without a comment above it.
    """
    found = re.search(rf"^{section}:\n((?:  .*\n?)+)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    parents: list[str] = []
    comment = ""
    for line in found.group(1).splitlines() if found else []:
        text = line.strip()
        if text.startswith("#"):
            comment = f"{comment} {text.removeprefix('# ')}".strip()
            continue
        key, _, default = text.partition(": ") if not text.endswith(":") else (text[:-1], "", "")
        depth = (len(line) - len(line.lstrip())) // 2 - 1
        parents[depth:] = [key]
        if not default or (only_new and (depth or key == "name")):
            comment = ""
            continue
        if not comment:
            raise ValueError(f"{file}: {section}.{'.'.join(parents)} has no comment that says what it is")
        yield ".".join([section, *parents]), default, comment
        comment = ""


if __name__ == "__main__":
    print(key_table(), end="")
