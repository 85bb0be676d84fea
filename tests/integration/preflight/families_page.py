"""The table in docs/models.md: run every family, keep what was seen, write the table.

python -m tests.integration.preflight.families_page ...

              run all (an hour or two), write families.json and the table
llama phi     those alone, and keep what is known of the others
--missing     those that families.json has not from the worker: go on
--library     with any of these: without the worker, in seconds a family
--render      write the page's table from families.json
"""

import json
import re
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from tests.integration.preflight.families_list import FAMILIES

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "models.md"
FILE = Path(__file__).with_name("families.json")
LAYOUTS = ("padded", "packed", "padded, fused", "packed, fused")
#: What of a refusal is not said in the table: its numbers, its grounds, and its mend, which has a column.
TAIL = (
    r"[.:] [Ss]et \+?actor|: choose|, and so from|, which the|, which verl|, by which|, so that an|: verl gives"
    r"| tokens \(attention"
)
MODEL = "actor_rollout_ref.model."
#: Families that are run before what was seen of them is written.
BATCH = 6
#: What becomes of a family padded, packed, and with the fused head -> how the page says it.
GROUPS = {
    ("trains", "trains", "trains"): "Exact in every layout",
    ("trains", "trains", "refused"): "Exact padded and packed; the fused head is refused",
    ("trains", "refused", "trains"): "Exact padded, with the fused head or without; packing is refused",
    ("trains", "refused", "refused"): "Exact padded without the fused head; packing and the fused head are refused",
    ("refused", "refused", "refused"): "Refused in every layout; the note says what to change",
}
#: How the page says what a refusal says.
SAID = {
    "is wrong with sdpa, so that eager attention was run": "sdpa is wrong; run with eager attention",
    "does something to its hidden states or logits between decoder and loss": (
        "hidden states or logits are changed between decoder and loss"
    ),
    "has its decoder or its head elsewhere than in `model` and `lm_head`, where alone verl's fused head looks for "
    "them": "decoder and head are not called `model` and `lm_head`, as verl's fused head expects",
    "its layers carry numbers from one token to the next": "layers carry a state from token to token",
    "attends in chunks of 8": "chunked attention",
    "its attention gets a mask that is made without position_ids": "the attention mask ignores `position_ids`",
    "has dropout": "dropout or jitter",
    "its config has no num_key_value_heads": "the config has no `num_key_value_heads`",
    "its config has no num_attention_heads": "the config has no `num_attention_heads`",
    "has parameters that several layers to be sharded hold, and FSDP2 gives each parameter to one of them": (
        "layers that FSDP2 shards share parameters"
    ),
    "is of the architecture GPT2LMHeadModel": "the architecture is named GPT2LMHeadModel",
}
#: A relative error above it is shown where a layout trains, too.
SMALL = 1e-5
START, END = (
    "<!-- The table is written by `python -m tests.integration.preflight.families_page`. -->\n",
    "<!-- End of the table. -->\n",
)


def known() -> dict[str, Any]:
    """What the last wide run saw."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    return found


def write(results: dict[str, Any]) -> None:
    """In the list's order, a line each."""
    lines = [f" {json.dumps(family)}: {json.dumps(results[family])}" for family in FAMILIES if family in results]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def word(result: dict[str, Any]) -> str:
    """What becomes of a family in a layout."""
    if result["refused"]:
        return "refused"
    if result["probe"]:
        return "probe"
    return "fails" if result["fails"] else "trains"


def verdict(layouts: dict[str, Any]) -> dict[str, str]:
    return {layout: word(layouts[layout]) for layout in LAYOUTS}


def through_worker(layouts: dict[str, Any]) -> bool:
    """All of its layouts that are not refused."""
    return all(word(result) in ("refused", "fails") or "1" in result["errors"] for result in _results(layouts))


def _results(layouts: dict[str, Any]) -> list[dict[str, Any]]:
    return [layouts[layout] for layout in LAYOUTS]


def _columns(layouts: dict[str, Any]) -> list[dict[str, Any]]:
    """Padded, packed, and with the fused head: packed, or padded where packing is refused."""
    packed = "packed" if word(layouts["packed"]) == "trains" else "padded"
    return [layouts["padded"], layouts["packed"], layouts[f"{packed}, fused"]]


def cell(result: dict[str, Any]) -> str:
    """The worst of the gradient's errors, with a mark where the worker took one; in brackets where it is refused."""
    worst = max(result["errors"].values(), default=None)
    error = "-" if worst is None else f"{worst:.0e}" if worst < 1e-5 else f"{worst:.2g}"
    error += "†" if "1" in result["errors"] else ""
    return {"trains": error, "refused": f"({error})", "probe": f"probe ({error})", "fails": "fails"}[word(result)]


def reasons(family: str, layouts: dict[str, Any]) -> list[tuple[str, str, list[str]]]:
    """What is wrong with layouts in words that fit other families too, the family's details, and the mends."""
    found: list[tuple[str, str, list[str]]] = []
    for result in _results(layouts):
        found += [_reason(family, problem) for problem in result["refused"]]
        if not result["refused"]:
            found += [(result["fails"], "", [])] if result["fails"] else []
            found += [("seen by the probe alone", "", [])] if result["probe"] else []
    found += [
        ("is wrong with sdpa, so that eager attention was run", "", _mends(each)) for each in layouts.get("sdpa", ())
    ]
    return [reason for i, reason in enumerate(found) if reason not in found[:i]]


def _reason(family: str, problem: str) -> tuple[str, str, list[str]]:
    named = rf"^{MODEL}path={family}:? (\(\w+\) )?(cannot be trained on packed sequences: )?"
    text = re.split(TAIL, re.sub(named, "", problem))[0]
    text = re.sub(r"is of the architecture (\w+), whose config", r"(\1) its config", text)
    text = re.sub(r"with (attn_implementation=\w+) (.*)", r"\2 (\1)", text)
    details = re.findall(r" ?\(([^)]*)\) ?", text)
    return re.sub(r" ?\([^)]*\) ?", "", text), ", ".join(details), _mends(problem)


def _mends(problem: str) -> list[str]:
    """What a refusal says is to be set."""
    settings = re.findall(rf"{MODEL}((?!path=)[\w.]+=\w+)(?=[\s,.]|$)", problem)
    settings += re.findall(r"(wrap_policy[\w.]+=\[\w+\])", problem)
    return [f"`{setting}`" for setting in settings] or ["another model"]


def render() -> str:
    """The families by what becomes of them, and the notes with their marks."""
    results = known()
    marks: dict[str, str] = {}
    mends: dict[str, list[str]] = {}
    groups: dict[tuple[str, ...], list[str]] = {verdicts: [] for verdicts in GROUPS}
    for family, found in results.items():
        groups.setdefault(tuple(map(word, _columns(found))), []).append(family)
    for verdicts, families in groups.items():
        for i, family in enumerate(families):
            noted: dict[str, None] = {}
            for reason, _, settings in reasons(family, results[family]):
                mark = marks.setdefault(reason, "abcdefghijklmnopqrstuvwxyz"[len(marks)])
                noted[mark] = None
                mends.setdefault(mark, []).extend(settings)
            groups[verdicts][i] = _entry(family, results[family], "".join(noted))
    paragraphs = [
        textwrap.fill(
            f"**{GROUPS.get(verdicts, ', '.join(verdicts))}** ({len(entries)}): {', '.join(entries)}.",
            width=100,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for verdicts, entries in groups.items()
        if entries
    ]
    said = [
        f"- {mark}: {SAID.get(reason, reason)} ({', '.join(dict.fromkeys(mends[mark]))})"
        for reason, mark in marks.items()
    ]
    return START + "\n" + "\n\n".join([*paragraphs, "\n".join(said), END])


def _entry(family: str, found: dict[str, Any], noted: str) -> str:
    """A family with its example, the errors of layouts that do not train, and the marks of its notes."""
    columns = _columns(found)
    large = any(error > SMALL for each in columns if word(each) == "trains" for error in each["errors"].values())
    errors = [cell(each) for each in columns if large or word(each) != "trains"]
    if not large:
        errors = [error.strip("()") for error in errors]
    inside = [FAMILIES[family].example, *(["/".join(errors)] if errors else []), *([noted] if noted else [])]
    return f"{family}{'†' if not errors and through_worker(found) else ''} ({'; '.join(inside)})"


def main(arguments: list[str]) -> None:
    if "--render" not in arguments:
        from tests.integration.preflight.families_run import run_families

        results = known()
        names = [argument for argument in arguments if not argument.startswith("--")] or list(FAMILIES)
        if "--missing" in arguments:
            names = [family for family in names if family not in results or not through_worker(results[family])]
        ranks = () if "--library" in arguments else (1, 2)
        for i in range(0, len(names), BATCH):
            with tempfile.TemporaryDirectory() as folder:
                results |= run_families(Path(folder), names[i : i + BATCH], ranks)
            write(results)
            print(f"{min(i + BATCH, len(names))} of {len(names)} families", flush=True)
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    PAGE.write_text(before + render() + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
