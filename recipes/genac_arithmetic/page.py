"""The results in README.md, between two marks, and their picture: from the records alone."""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from pacs.base.files import write_atomically
from pacs.base.markdown import ABSENT, table
from recipes.genac_arithmetic.diagnosis import diagnosis
from recipes.genac_arithmetic.kept import key_of, read
from recipes.genac_arithmetic.sizes import COMPARED, CRITICS, JOINT, LONG, UNTOLD, Sizes
from recipes.laboratory.statistics import difference
from recipes.laboratory.tables import plus_minus

README, PICTURE = "README.md", "results.png"
MARKED = re.compile(r"(<!-- results: written by this recipe's command -->\n).*?(\n<!-- end of results -->)", re.DOTALL)
NAMES = {
    "grpo": "GRPO",
    "rloo": "RLOO",
    "vcppo": "VC-PPO",
    "genac": "GenAC, lambda 1",
    "genac_95": "GenAC, lambda .95",
    "genac_0": "GenAC, lambda 0",
    "counted": "true values, lambda 1",
    "counted_0": "true values, lambda 0",
}
#: Of the errors of others that the critic's may be, and the most of its traces that may be unreadable.
SHARE, UNPARSABLE = 0.75, 0.01
#: Stage -> seed -> result.
Results = Mapping[str, Mapping[int, Mapping[str, Any]]]


def rewrite(file: Path, folder: Path = Path(__file__).parent) -> list[Path]:
    """Write the results into a folder's README.md, and their picture beside it; nothing where there are none."""
    found, long = results(file), results(file, LONG)
    if not found:
        return []
    readme = folder / README
    text = readme.read_text(encoding="utf-8")
    write_atomically(readme, MARKED.sub(lambda marks: f"{marks[1]}\n{page(found, long)}\n{marks[2]}", text))
    from recipes.genac_arithmetic.picture import picture  # matplotlib is slow to import

    write_atomically(folder / PICTURE, picture(found))
    return [readme, folder / PICTURE]


def results(file: Path, sizes: Sizes | None = None) -> Results:
    """Of the sizes as they are now: records of others are left alone, and say nothing."""
    found: dict[str, dict[int, Any]] = {}
    for key, record in read(file).items():
        if key == key_of(record["stage"], record["seed"], sizes or Sizes()):
            found.setdefault(record["stage"], {})[record["seed"]] = record["result"]
    return found


def page(found: Results, long: Results) -> str:
    """The results as Markdown; `long` are those with longer joint training."""
    joint = {stage: runs for stage, runs in long.items() if stage in JOINT}
    every = [result for stages in (found, joint) for runs in stages.values() for result in runs.values()]
    seconds = sum(result["seconds"] for result in every)
    seeds = len(found.get(CRITICS, {}))
    head = (
        f"{seeds} seeds; mean ± half of the 95% interval over them (Student's t); {seconds / 60:.0f} minutes of "
        "CPU time in all."
    )
    parts = [head, values(found), bars(found, joint), diagnosis(found), trained(found, joint), after(found)]
    parts.append(f"![values and pass@1]({PICTURE})")
    return "\n\n".join(part for part in parts if part)


def values(found: Results) -> str:
    """What the critics say of the start's states."""
    of = [*found.get(CRITICS, {}).values()]
    untold, compared = ([*found.get(stage, {}).values()] for stage in (UNTOLD, COMPARED))
    if not of:
        return ""
    lines = {
        "V(x), the problem's own pass rate": [each["oracle"] for each in of],
        "the program (SFT's teacher)": [each["program"] for each in of],
        "value head": [each["head"] for each in of],
        "generative, SFT": [each["sft"] for each in of],
        "generative, SFT and RL": [each["rl"] for each in of],
        "generative, SFT and RL by state": [each["rl"] for each in compared],
        "SFT, rate not told": [each["sft"] for each in untold],
        "SFT and RL, rate not told": [each["rl"] for each in untold],
    }
    columns = {
        "MSE": "mse",
        "explained variance": "explained",
        "top-1 of 8": "top",
        "a tie drawn": "top_drawn",
        "unparsable": "unparsable",
    }
    rows = [[name, *(_of(results, key) for key in columns.values())] for name, results in lines.items() if results]
    chance = fmean(each["rl"]["top_chance"] for each in of)
    right = fmean(each["sft"]["traces_right"] for each in of)
    rate, states = fmean(each["rate"] for each in of), fmean(each["states"] for each in of)
    sets, candidates = fmean(each["sets"] for each in of), fmean(each["candidates"] for each in of)
    told = (
        f"The states are those of the untrained actor ({states:.0f} a seed; pass rate {rate:.3f}). The true value of a "
        "state is the share of right ones among 64 continuations; its noise is subtracted from the MSE. Top-1 is the "
        "share of sets of candidates for the next step in which the critic's favourite has the highest true value. "
        f"There are {sets:.0f} sets a seed, of {candidates:.1f} different steps among 8 sampled ones. Ties count as "
        f"right; in the next column one of the tied candidates is drawn. A random choice is right {chance:.0%} of the "
        f"time. After SFT {right:.1%} of the traces redo the steps as the program does."
    )
    if compared:
        told += (
            f' "By state" is REINFORCE that compares several traces of one state; seeds '
            f"{', '.join(map(str, sorted(found[COMPARED])))}."
        )
    return f"### Values\n\n{told}\n\n{table(['critic', *columns], rows)}"


def _of(results: Sequence[Mapping[str, Any]], key: str) -> str:
    return plus_minus([each[key] for each in results if each.get(key) is not None])


def bars(found: Results, long: Results) -> str:
    """What was to be reached, and in how many seeds it was."""
    of = found.get(CRITICS, {})
    if not of:
        return ""

    compared = {seed: {**of[seed], **each} for seed, each in found.get(COMPARED, {}).items() if seed in of}
    rows = [*_met("RL", of.values()), *(_met("RL by state", compared.values()) if compared else [])]
    for runs in (found, long):
        base = runs.get("grpo", {})
        for arm in ("genac", "genac_95", "genac_0"):
            common = [seed for seed in runs.get(arm, {}) if seed in base]
            if common:
                gains = [_end(runs[arm][seed]) - _end(base[seed]) for seed in common]
                steps = base[common[0]]["evaluations"][-1]["step"]
                says = f"pass@1 of {NAMES[arm]} above GRPO's after {steps} steps"
                rows.append([says, f"{sum(gain > 0 for gain in gains)} of {len(common)}", plus_minus(gains)])
    return f"### Bars\n\n{table(['bar', 'seeds that meet it', 'ratio, or difference'], rows)}"


def _met(after: str, of: Collection[Mapping[str, Any]]) -> list[list[str]]:
    """Rows of the bars that critics are held to."""

    def row(says: str, key: str, share: float) -> list[str]:
        ratios = [each["rl"]["mse"] / each[key]["mse"] for each in of]
        met = sum(ratio <= share for ratio in ratios)
        return [f"MSE after {after} {says}", f"{met} of {len(of)}", plus_minus(ratios)]

    unread = [each["rl"]["unparsable"] for each in of]
    return [
        row(f"at most {SHARE} times SFT's", "sft", SHARE),
        row(f"at most {SHARE} times the value head's", "head", SHARE),
        row("below V(x)'s", "oracle", 1),
        [
            f"unparsable after {after} below {UNPARSABLE:.0%}",
            f"{sum(share < UNPARSABLE for share in unread)} of {len(of)}",
            plus_minus(unread),
        ],
    ]


def trained(found: Results, long: Results) -> str:
    """Where joint training ended: the usual one's, and behind it the longer one's."""
    base = found.get("grpo", {})
    arms = [arm for arm in JOINT if found.get(arm)]
    if not base:
        return ""
    start = plus_minus([run["evaluations"][0]["pass@1"] for run in base.values()])
    told = (
        f'The steps have pass@1 on the test problems; it was {start} before training. "less GRPO\'s" is the '
        'difference at the end, paired by seed, with its 95% interval. "thousand tokens" are all that actor and critic '
        'generated, "if each is judged" the same if equal states did not share a trace. "at GRPO\'s tokens" is '
        'pass@1 when a run had generated as many tokens as GRPO at its end. "seconds" is the CPU time of a run, '
        "evaluations included."
    )
    if any(arm.startswith("counted") for arm in arms):
        told += " True values are shares of right ones among 16 continuations, whose tokens are not counted."
    parts = [f"### Joint training\n\n{told}", _arms(found)]
    if {"grpo", "genac"} <= long.keys() and set(long["grpo"]) & set(long["genac"]):
        seeds = sorted(set(long["grpo"]) & set(long["genac"]))
        parts += [f"Longer runs, of the seeds {', '.join(map(str, seeds))}:", _arms(long)]
    return "\n\n".join(parts)


def _arms(found: Results) -> str:
    """A table of them, with the seeds that all have."""
    arms = [arm for arm in JOINT if found.get(arm)]
    common = set.intersection(*(set(found[arm]) for arm in arms))
    base = {seed: found["grpo"][seed] for seed in common}
    steps = [point["step"] for point in next(iter(base.values()))["evaluations"]]
    rows = []
    for arm in arms:
        runs = {seed: found[arm][seed] for seed in common}
        ends = [[run["evaluations"][place]["pass@1"] for run in runs.values()] for place in range(1, len(steps))]
        tokens = [run["evaluations"][-1]["tokens"] / 1000 for run in runs.values()]
        each = [run["evaluations"][-1]["tokens_each"] / 1000 for run in runs.values()]
        equal = [at_tokens(run, base[seed]["evaluations"][-1]["tokens"]) for seed, run in runs.items()]
        is_free = arm.startswith("counted")
        spent = [ABSENT] * 3 if is_free else [f"{fmean(tokens):.0f}", f"{fmean(each):.0f}", plus_minus(equal)]
        seconds = f"{fmean(run['seconds'] for run in runs.values()):.0f}"
        less = ABSENT if arm == "grpo" else _less(runs, base)
        rows.append([NAMES[arm], *map(plus_minus, ends), less, *spent, seconds])
    through = [f"step {step}" for step in steps[1:]]
    costs = ["thousand tokens", "if each is judged", "at GRPO's tokens", "seconds"]
    return table(["method", *through, "less GRPO's", *costs], rows)


def after(found: Results) -> str:
    """What critics know of the actor at the end of joint training."""
    rows = []
    for arm in ("vcppo", "genac", "genac_95", "genac_0"):
        known = [run["critic"] for run in found.get(arm, {}).values() if "critic" in run]
        if known:
            keys = ("mse", "oracle", "explained", "top", "unparsable")
            rows.append([NAMES[arm], *(_of(known, key) for key in keys)])
    if not rows:
        return ""
    told = "These are the critics after joint training, on the states of the actor that they were trained with."
    heads = ["method", "MSE", "MSE of V(x)", "explained variance", "top-1 of 8", "unparsable"]
    return f"### Critics at the end\n\n{told}\n\n{table(heads, rows)}"


def at_tokens(run: Mapping[str, Any], tokens: float) -> float:
    """pass@1 of a run when it had generated so many tokens, on a straight line between its evaluations."""
    points = [(float(point["tokens"]), float(point["pass@1"])) for point in run["evaluations"]]
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        if tokens <= x1:
            return y0 + (y1 - y0) * (tokens - x0) / (x1 - x0)
    return points[-1][1]


def _less(runs: Mapping[int, Any], base: Mapping[int, Any]) -> str:
    ours, theirs = ({seed: _end(run) for seed, run in each.items()} for each in (runs, base))
    found = difference(ours, theirs, pairs=True)
    return ABSENT if found is None else f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"


def _end(run: Mapping[str, Any]) -> float:
    return float(run["evaluations"][-1]["pass@1"])
