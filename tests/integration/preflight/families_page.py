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
    """The table and its notes, with their marks: what trains in most layouts first."""
    results = known()
    stopped = {family: [word(result) != "trains" for result in _columns(found)] for family, found in results.items()}
    marks: dict[str, str] = {}
    mends: dict[str, list[str]] = {}
    lines = []
    for family in sorted(results, key=stopped.__getitem__):
        notes: dict[str, str] = {}
        for reason, details, settings in reasons(family, results[family]):
            mark = marks.setdefault(reason, "abcdefghijklmnopqrstuvwxyz"[len(marks)])
            notes[mark] = f"{mark}: {details}" if details else mark
            mends.setdefault(mark, []).extend(settings)
        cells = " | ".join(map(cell, _columns(results[family])))
        lines.append(f"{family} | {FAMILIES[family].example} | {cells} | {'; '.join(notes.values())}".rstrip())
    said = [f"- {mark}: {reason} ({', '.join(dict.fromkeys(mends[mark]))})" for reason, mark in marks.items()]
    head = ["model type | as of | padded | packed | fused | note", "---|---|---|---|---|---"]
    return START + "\n" + "\n".join([*said, "", *head, *lines]) + "\n\n" + END


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
