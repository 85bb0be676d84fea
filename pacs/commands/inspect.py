"""Show what a run saved when it stopped because the gradients of too many updates in a row were not finite: the step,
its gradient norms, how many rows were not finite and why, and the worst rows. Rows that are not finite come first, then
those with the largest log-ratios.

examples:
  pacs inspect outputs/pacs/qwen3_8b-pacs/poison/step_120.pt
  pacs inspect outputs/pacs/qwen3_8b-pacs/poison/step_120.pt --rows 40
  pacs inspect outputs/pacs/qwen3_8b-pacs/poison/step_120.pt --row 17
"""

import argparse
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from pacs.base.arguments import add_count, number
from pacs.base.errors import UserError
from pacs.base.tables import Cell, format_cell, format_table
from pacs.base.terminal import columns, print

if TYPE_CHECKING:
    from pacs.integration.worker.not_finite import Evidence


#: Characters of a response in the table.
BEGINNING = 40

# What of a row is not finite, by what made it so.
POLICY = "policy"
REFERENCE = "reference"
EITHER = "policy or reference"
ROLLOUT = "vLLM"
GROUP = "its group"
CAUSES = {
    POLICY: "the policy's log-probabilities (or its entropy)",
    REFERENCE: "the reference's log-probabilities (or with `cached` those of the scoring pass)",
    EITHER: "the log-probabilities of the policy or of the reference",
    ROLLOUT: "vLLM's log-probabilities, which the update does not read",
    GROUP: "compared with a row of its group that is not finite",
}

#: A row's values in one pass: column -> value.
Pass = dict[str, float]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="poison/step_N.pt in the run's folder")
    add = parser.add_mutually_exclusive_group().add_argument
    add_count(add, "--rows", 10, "most rows in the table")
    row = number("a row's number, from 0 on", float.is_integer)
    add("--row", type=row, metavar="I", help="print row I in full, from 0 on, and no table")


def main(args: argparse.Namespace) -> int:
    """Print the summary and the table, or the row."""
    from pacs.integration.worker.not_finite import read_evidence  # torch takes seconds to import

    evidence = read_evidence(args.file)
    count = len(evidence.prompts)
    row = None if args.row is None else int(args.row)
    if row is None:
        print(f"{summary(evidence)}\n\n{worst_rows(evidence, args.rows)}")
    elif 0 <= row < count:
        print(whole_row(evidence, row))
    else:
        raise UserError(f"--row {row}: {args.file} has the rows 0 to {count - 1}")
    return 0


def summary(evidence: "Evidence") -> str:
    """The step, its updates, and how many rows are not finite for which cause."""
    passes = passes_of(evidence)
    skipped = [i for i, norm in enumerate(evidence.gradient_norms) if not math.isfinite(norm)]
    causes = Counter(cause for values in passes if (cause := cause_of(values)))
    norms = ", ".join(f"{norm:.4g}" for norm in evidence.gradient_norms)
    lines = [
        f"step {evidence.step}, by which {evidence.skipped_in_a_row} updates in a row were skipped, for their "
        "gradients were not finite",
        f"gradient norms of its updates: {norms} (skipped: {', '.join(map(str, skipped))})",
        f"learning rate: {evidence.learning_rate:.4g}",
        f"rows: {len(evidence.prompts)}, {int(evidence.padding.sum())} of them padding; "
        f"{int(evidence.active.sum())} count",
        f"rows that are not finite: {causes.total()}",
        *(f"  {causes[name]}: {words}" for name, words in CAUSES.items() if causes[name]),
    ]
    if not any(cause_of(values) for values in passes if values["update"] in skipped):
        lines.append("every value of the skipped updates' rows is finite: what was not arose in the backward pass")
    return "\n".join(lines)


def worst_rows(evidence: "Evidence", count: int) -> str:
    """A table of `count` rows: not finite first, then by the size of the log-ratio; each in its worst pass."""
    worst: dict[int, Pass] = {}
    for values in sorted(passes_of(evidence), key=_badness):
        worst.setdefault(int(values["row"]), values)
    shown = [row for row in worst if not evidence.padding[row] or cause_of(worst[row])][:count]
    table: dict[str, dict[str, Cell]] = {
        str(row): {
            "update": int(worst[row]["update"]),
            "not finite": cause_of(worst[row]),
            "group": int(evidence.group_ids[row]),
            "label": int(evidence.labels[row]),
            "tokens": int(evidence.response_tokens[row]),
            "log-ratio": worst[row]["log_ratio"],
            "score": worst[row]["score"],
            "loss": worst[row]["loss"],
            "response": _beginning(evidence, row),
        }
        for row in shown
    }
    return format_table(table, corner="row", width=columns())


def whole_row(evidence: "Evidence", row: int) -> str:
    """Everything that is known of a row."""
    lines = [
        f"row {row} of step {evidence.step}" + (" (padding)" if evidence.padding[row] else ""),
        f"group {int(evidence.group_ids[row])}, label {int(evidence.labels[row])}, weight "
        f"{format_cell(float(evidence.weights[row]))}, {'counts' if evidence.active[row] else 'does not count'}, "
        f"{int(evidence.response_tokens[row])} tokens under the response mask",
    ]
    for values in passes_of(evidence):
        if values["row"] == row:
            cause = cause_of(values)
            lines += ["", f"update {int(values['update'])}" + (f", not finite: {CAUSES[cause]}" if cause else "")]
            lines += [f"  {name} {value:.6g}" for name, value in values.items() if name not in ("row", "update")]
    for what, texts, tokens in (
        ("prompt", evidence.prompt_texts, evidence.prompts),
        ("response", evidence.response_texts, evidence.responses),
    ):
        if texts:
            lines += ["", f"{what}:", texts[row]]
        lines += ["", f"{what}, token ids:", " ".join(map(str, tokens[row].tolist()))]
    return "\n".join(lines)


def passes_of(evidence: "Evidence") -> list[Pass]:
    """The values of each row in each pass."""
    columns = [column.tolist() for column in evidence.passes.values()]
    return [dict(zip(evidence.passes, values, strict=True)) for values in zip(*columns, strict=True)]


def cause_of(values: Pass) -> str | None:
    """Why a row is not finite, a key of `CAUSES`; None if it is finite."""
    broken = {name for name, value in values.items() if not math.isfinite(value)}
    if not broken:
        return None
    gap_broken = "rollout_gap" in broken
    if "log_ratio" in broken:
        # The gap to vLLM and the entropy are the policy's, without the reference.
        if gap_broken or "entropy" in broken:
            return POLICY
        return REFERENCE if {"rollout_gap", "entropy"} & values.keys() else EITHER
    if gap_broken and math.isfinite(values.get("entropy", math.nan)):
        return ROLLOUT
    return POLICY if gap_broken or "entropy" in broken else GROUP


def _badness(values: Pass) -> tuple[bool, bool, float, float]:
    """The worst first: a row that is not finite itself, one of its group, then the largest log-ratio."""
    cause = cause_of(values)
    size = abs(values["log_ratio"])
    return cause is None, cause in (GROUP, ROLLOUT), -size if math.isfinite(size) else -math.inf, values["row"]


def _beginning(evidence: "Evidence", row: int) -> str:
    text = evidence.response_texts[row] if evidence.response_texts else str(evidence.responses[row].tolist())
    line = " ".join(text.split())
    return line if len(line) <= BEGINNING else line[: BEGINNING - 1] + "…"
