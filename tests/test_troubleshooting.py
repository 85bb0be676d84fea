"""Every message that docs/troubleshooting.md explains is one that the code gives."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()


def messages(source: str) -> list[str]:
    """The strings of a file; what is filled in is an ellipsis."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            parts = (str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
            found.append("".join(parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
    return found


def test_the_messages_are_the_codes() -> None:
    known = [message for file in sorted((ROOT / "pacs").rglob("*.py")) for message in messages(file.read_text())]
    explained = re.findall(r"^\| `([^`]+)` \|", PAGE, flags=re.MULTILINE)
    assert len(explained) > 15
    assert [message for message in explained if not any(message in text for text in known)] == []


def test_filled_in_parts_are_ellipses() -> None:
    assert messages('f"a {b} c " "d"') == ["a … c d", *messages('"a "')[:0], *messages('f"a {b} c d"')[1:]]
