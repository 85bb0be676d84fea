"""The table in docs/models.md: run every family, keep what was seen, write the table.

python -m tests.integration.probe.families_page             run all (minutes), write families.json and the page's table
python -m tests.integration.probe.families_page llama phi   those alone, and keep what is known of the others
python -m tests.integration.probe.families_page --render    write the page's table from families.json
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "models.md"
FILE = Path(__file__).with_name("families.json")
#: Model types, in the table's order.
MEASURED = (
    *("qwen2", "qwen3", "qwen3_moe", "llama", "mistral", "mixtral", "gemma3_text", "phi3", "olmo2", "glm4", "smollm3"),
    *("starcoder2", "gemma2", "granite", "cohere", "phi", "qwen3_next", "lfm2", "mamba2", "falcon_h1"),
    *("granitemoehybrid", "jamba", "minimax", "gpt2", "gpt_neox", "bloom", "opt", "afmoe"),
)
START, END = (
    "<!-- The table is written by `python -m tests.integration.probe.families_page`. -->\n",
    "<!-- End of the table. -->\n",
)


def known() -> dict[str, Any]:
    """What the last wide run saw."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def word(result: dict[str, Any]) -> str:
    """What becomes of a family in a layout."""
    if result["refused"]:
        return "refused"
    if result["probe"]:
        return "probe"
    return "fails" if result["fails"] else "trains"


def verdict(layouts: dict[str, Any]) -> dict[str, str]:
    return {layout: word(result) for layout, result in layouts.items()}


def cell(result: dict[str, Any]) -> str:
    """The worst of the gradient's errors, and what stops the layout."""
    worst = max(result["errors"].values(), default=None)
    error = "-" if worst is None else f"{worst:.0e}" if worst < 1e-5 else f"{worst:.2g}"
    return {"trains": error, "refused": f"refused ({error})", "probe": f"probe ({error})", "fails": "fails"}[
        word(result)
    ]


def why(family: str, layouts: dict[str, Any]) -> str:
    """Each reason once, without the model's name and the mend."""
    reasons: dict[str, None] = {}
    for result in layouts.values():
        for problem in result["refused"]:
            reason = re.sub(rf"^actor_rollout_ref\.model\.path={family}:? (\(\w+\) )?", "", problem)
            reasons[re.split(r"[.:] [Ss]et \+?actor|: choose another model", reason)[0]] = None
        if not result["refused"]:
            reasons |= dict.fromkeys([result["fails"]] if result["fails"] else [])
            reasons |= {"seen by the probe alone": None} if result["probe"] else {}
    return "; ".join(reasons).replace("|", "\\|")


def render() -> str:
    """The table, with its marks."""
    results = {family: layouts for family, layouts in known().items() if family in MEASURED}
    layouts = list(next(iter(results.values())))
    lines = [f"| model type | {' | '.join(layouts)} | why |", f"|---|{'---|' * len(layouts)}---|"]
    for family, found in results.items():
        lines.append(f"| {family} | {' | '.join(cell(found[layout]) for layout in layouts)} | {why(family, found)} |")
    return START + "\n" + "\n".join(lines) + "\n\n" + END


def main(arguments: list[str]) -> None:
    if "--render" not in arguments:
        from tests.integration.probe.families_run import run_families

        with tempfile.TemporaryDirectory() as folder:
            results = (known() if FILE.exists() else {}) | run_families(Path(folder), arguments or MEASURED)
        ordered = {family: results[family] for family in MEASURED if family in results}
        FILE.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    PAGE.write_text(before + render() + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
