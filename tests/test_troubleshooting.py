"""Every message that docs/troubleshooting.md explains is one that the code gives."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()


def messages(source: str) -> list[str]:
    """The strings of a file but its docstrings; what is filled in is an ellipsis."""
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
            found.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            found.append(node.value)
    return found


def test_the_messages_are_the_codes() -> None:
    known = [message for file in sorted((ROOT / "pacs").rglob("*.py")) for message in messages(file.read_text())]
    explained = re.findall(r"^\| `([^`]*(?: |…)[^`]*)` \|", PAGE, flags=re.MULTILINE)
    assert len(explained) > 20
    assert [message for message in explained if not any(message in text for text in known)] == []


def test_only_what_is_said_counts() -> None:
    assert messages('def f():\n    "a docstring"\n    raise E(f"a {b} c " "d")')[0] == "a … c d"
    assert messages('"""A docstring."""') == []
