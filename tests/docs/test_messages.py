"""Every message that docs/troubleshooting.md explains is one that the code gives."""

import re

from tests.docs.pages import ROOT, strings, strings_of

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()


def test_the_messages_are_the_codes() -> None:
    explained = re.findall(r"^\| `([^`]*(?: |…)[^`]*)` \|", PAGE, flags=re.MULTILINE)
    assert len(explained) > 20
    assert [message for message in explained if not any(message in text for text in strings())] == []


def test_only_what_is_said_counts() -> None:
    assert strings_of('def f():\n    "a docstring"\n    raise E(f"a {b} c " "d")')[0] == "a … c d"
    assert strings_of('"""A docstring."""') == []
