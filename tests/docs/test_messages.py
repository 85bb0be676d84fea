"""Every message that docs/reliability.md explains is one that the code gives."""

import re
from importlib.util import find_spec
from pathlib import Path

from tests.docs.pages import ROOT, strings, strings_of

PAGE = (ROOT / "docs" / "reliability.md").read_text()


#: Of others.
FOREIGN = re.compile(r"^\| `([^`]*)` \((\w+)", flags=re.MULTILINE)


def test_vllms_messages_are_the_installed_ones() -> None:
    (package,) = (Path(place) for place in find_spec("vllm").submodule_search_locations)
    sources = "".join((package / "v1" / name).read_text() for name in ("core/kv_cache_utils.py", "worker/utils.py"))
    of_vllm = [message.split("…")[0].strip() for message, whose in FOREIGN.findall(PAGE) if whose == "vLLM"]
    assert len(of_vllm) == 3
    assert [message for message in of_vllm if message not in sources] == []


def test_the_messages_are_the_codes() -> None:
    explained = re.findall(r"^\| `([^`]*(?: |…)[^`]*)` \|", PAGE, flags=re.MULTILINE)
    assert len(explained) > 15
    assert [message for message in explained if not any(message in text for text in strings())] == []


def test_only_what_is_said_counts() -> None:
    assert strings_of('def f():\n    "a docstring"\n    raise E(f"a {b} c " "d")')[0] == "a … c d"
    assert strings_of('"""A docstring."""') == []
