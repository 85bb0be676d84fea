"""The tables of docs/configuration.md: each key of `method`, `run` and `genac`, its default, what configs say of it.

python -m tests.docs.configuration     (prints the tables)
"""

import re
from collections.abc import Iterator
from pathlib import Path

from pacs.base.paths import config_dir
from pacs.base.terminal import print

#: The files that have keys of ours, their section, and the runs that have these.
FILES = {
    "shared/base.yaml": ("run", "of every run"), "shared/method.yaml": ("method", "of PACS and its neighbours"),
    "pacs.yaml": ("method", "of PACS"), "genac.yaml": ("genac", "of GenAC"),
}  # fmt: skip
#: Methods that have settings of their own besides.
METHODS_WITH_SETTINGS = (
    "gvpo", "real", "disco", "nft", "maxrl", "raft", "reinforce_rej", "pass_at_k", "vineppo", "distillation",
    "genac",
)  # fmt: skip


def key_table() -> str:
    """The tables in Markdown, a heading above each, with a newline at the end."""
    lines: list[str] = []
    for name, (section, having) in FILES.items():
        lines += [f"### `{section}.*` {having}", "", "key | default | what it is", "---|---|---"]
        lines += [f"`{key}` | {default} | {about}"
                  for key, default, about in documented_keys(config_dir() / name, section)]  # fmt: skip
        lines.append("")
    methods: dict[tuple[str, str, str], list[str]] = {}
    for name in METHODS_WITH_SETTINGS:
        for setting in documented_keys(config_dir() / f"{name}.yaml", "method", only_new=True):
            methods.setdefault(setting, []).append(name)
    lines += ["### `method.*` of other methods", "", "key | default | of | what it is", "---|---|---|---"]
    lines += [f"`{key}` | {default} | {', '.join(names)} | {about}"
              for (key, default, about), names in methods.items()]  # fmt: skip
    return re.sub(r"docs/(\w+\.md)", r"[\1](\1)", "\n".join(lines) + "\n")


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
