"""The page of a question and a task: results/QUESTION-TASK.md and its figure, from the records alone."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pacs.base.files import write_atomically
from recipes.laboratory import critic, described, differences, frontiers, questions, tables
from recipes.laboratory import records as files
from recipes.laboratory.compared import Comparison, compare
from recipes.laboratory.questions import Question
from recipes.laboratory.records import Records
from recipes.laboratory.statistics import LEAST_FOR_BOOTSTRAP, LEAST_FOR_P

EXPLAINED = critic.SIGNALS["explained_variance"]
HOW_TO_READ = {
    "arms": """\
The options are those that the question sets, a method's others are at its defaults. lr: given, not chosen; lr_from: the
learning rate is the one that was chosen for that question's arm.""",
    "bar": "How many seeds reach it, of those that ended. A run that failed has not reached it.",
    "lr": """\
The {criterion} at the end on problems that tune, its mean and (each seed's). The highest mean is taken. A rate beyond
those of all arms was tried where the highest so far was the best, and the two best of an arm with further seeds. Where
the chosen one is still at an end of its grid, a better one may lie beyond. Two methods whose chosen rates differ are
compared at these: what a rate does to pass@k is then part of the difference.""",
    "finals": """\
Means over seeds on the test problems, ± half of the 95% interval over seeds (Student's t). pass@k is the unbiased
estimate from all samples of a problem. entropy: the policy's, in nats a token; distinct: distinct right answers to a
problem among its samples; right entropy: that of the distribution over them, in nats; thousand tokens: generated to
train; minutes: processor time of training, without that of evaluations, on the processors that there were.
A run that failed is in no mean, here and below: where `seeds` counts any, the arm looks better than it is.""",
    "problems": """\
The same with the 95% interval for the choice of the seeds and of the problems (bootstrap of both, independently): how
far another set of such problems, as many of each band, might move the numbers. From {least} seeds on: the bootstrap
of fewer is too narrow.""",
    "differences": """\
Each arm minus {base}, with the 95% interval over seeds by {test}. p is corrected for all {count} comparisons of this
page (Holm), and needs {p} seeds of both arms. From {bootstrap} seeds on there is also the interval for the choice of
seeds and problems, with the same problems drawn for both arms. {pairing}""",
    "bands": "By the band of difficulty that a problem was made in (and how many problems it has), means over seeds.",
    "band_differences": """\
Each arm minus {base}, with 95% intervals over seeds, which are not corrected for their number.""",
    "by_step": """\
{shown} on test problems after so many steps, means over seeds. Where arms differ in how many rollouts a step
has, steps are not equal rollouts.""",
    "frontier_by_rate": """\
{shown} at the end of the runs that tuned, on the problems that tune, means over seeds.""",
    "never_solved": """\
Of the {number} problems that no run had right once in its evaluation before training ({samples} samples of each): the
share that was right at least once in the last evaluation, and pass@1. Means over seeds.""",
    "level": """\
Measures and cost of an arm's runs where they first reach a pass@1 of {level:g}, interpolated linearly between two
evaluations. Means over the seeds that reach it; a failed run does not. "By the first": how many of them reach it by the
first evaluation of the training, and are interpolated from the start. pass@64 mostly curves there, so that it reads too
low: compare it between arms with few such runs. "≤": a run was there before training.""",
    "rollouts": """\
The comparison at equal rollouts: arms with more rollouts than others, at {least:,.0f} of them, interpolated linearly
between two evaluations.""",
    "thousand tokens": """\
The comparison at equal tokens: arms that generated over {more:.0%} more than the fewest, at {least:,.0f} thousand,
interpolated linearly between two evaluations. Between the start and the first evaluation pass@1 rises faster at first,
so that it reads too low there.""",
    "signals": """\
Over the steps' own samples, from the first quarter of the run to the last. resets: how often the reference became the
policy. Of PACS: the residual is the mean of
|sigma(psi) - R| in mixed groups, the critic's ranking is the share of pairs of a right and a wrong response of a group
that psi ranks rightly: that of the group's mean, which is the same for both, is 1/2, and an oracle's is 1. Brier: the
mean of (sigma(psi) - R)^2, and of (mean of the rest of the group - R)^2; an oracle's is 0, that of 1/2 is 1/4. Groups
whose scores are all 0, as in the first mini-batch after a reset, are left out.""",
    EXPLAINED: """\
explained variance: of the returns that a critic learns, by its values before it learns them.""",
    "by_rate": """\
The critic's ranking and its Brier score, as above, over the last quarter of the runs that tuned: what of the arms'
differences is the learning rate's. Without ±: of one seed.""",
    "calibration": """\
Responses of mixed groups by sigma(psi): the share that was right (and how many of the responses these are), over all
steps and seeds, ± half of the 95% interval by leaving out one seed at a time. error: the mean distance of sigma(psi)
from that share, 0 of a critic that knows it. Balanced weights train sigma(psi) to the share of right ones where both
classes of a group are as many: "error, balanced" is from it. Where a range has a handful of responses its interval says
nothing.""",
}
#: Arms are compared at equal tokens where one generated over so many times those of another: responses differ a little
#: in length.
MORE_TOKENS = 1.05
UNPAIRED = """\
Runs of one seed share the order of their prompts and little else (two arms that differ in later resets alone, all
before these), so they are not taken as pairs."""
PAIRED = "Runs of one seed begin at the same start of their own."
PAIRED_AT_ONE_START = "All runs begin at one start; those of one seed share the order of their prompts."
TUNED_ON_TEST = "**The rate of {arms} was chosen on the test problems**, which favours it where it is compared."


def write(name: str = "", folder: Path = files.FOLDER) -> list[Path]:
    """Write the pages of a question, or of all, whose runs have begun; returns the files.

    Args:
        name: of the question; empty: all.
        folder: of the records, and of the pages.

    Raises:
        UserError: there is no such question, or a file of records is damaged.
    """
    records, written = Records(folder), []
    for question in map(questions.read, [name] if name else questions.names()):
        for task in question.tasks:
            comparison, stem = compare(question, task, records), f"{question.name}-{task}"
            if not comparison.records and not comparison.failures:
                continue
            if comparison.missing and not (folder / f"{stem}.jsonl").exists():
                continue  # Not begun: what is there was another question's to run.
            write_atomically(folder / f"{stem}.md", page(comparison))
            written.append(folder / f"{stem}.md")
            if has_frontier(comparison):
                from recipes.laboratory.figures import frontier  # matplotlib is slow to import

                write_atomically(folder / f"{stem}.png", frontier(comparison))
                written.append(folder / f"{stem}.png")
            else:
                (folder / f"{stem}.png").unlink(missing_ok=True)  # of an earlier page
    return written


def has_frontier(comparison: Comparison) -> bool:
    """Whether there is pass@k to be drawn against pass@1."""
    return bool(comparison.with_runs) and len(comparison.ks) > 1


def page(comparison: Comparison) -> str:
    """The page as Markdown."""
    question, task = comparison.question, comparison.task
    parts = [f"# {question.title}: {task}"]
    parts += [f"<!-- Generated by `python -m recipes.laboratory report {question.name}`. Do not edit. -->"]
    parts += [question.about, described.common(question, task)]
    if comparison.missing:
        parts += [f"**Not complete: {_runs(comparison.missing)} missing; nothing is concluded yet.**"]
    parts += _section("What each arm is", HOW_TO_READ["arms"], described.arms(question))
    if comparison.with_ended:
        parts += _section("Asked of each seed", HOW_TO_READ["bar"], tables.bar(comparison))
        parts += _section("Where the runs ended", HOW_TO_READ["finals"], tables.finals(comparison))
    if comparison.with_runs:
        parts += _results(comparison)
    criterion = next(iter(question.arms.values())).tuning.criterion
    how = "\n".join([HOW_TO_READ["lr"].format(criterion=criterion), *_tuned_on_test(question)])
    parts += _section("Learning rates", how, tables.learning_rates(comparison))
    parts += ["## Runs that failed", _failures(comparison), "## What this rests on", _provenance(comparison)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _results(comparison: Comparison) -> list[str]:
    stem, shown = f"{comparison.question.name}-{comparison.task}", "; ".join(comparison.shown)
    parts = [f"![pass@{comparison.large_k} against pass@1]({stem}.png)"] if has_frontier(comparison) else []
    count = sum(one.p is not None for one in differences.compares(comparison))
    for base, table in differences.tables(comparison).items():
        parts += _section(f"Against {base}", _of_differences(comparison.question, base, count), table)
    how = HOW_TO_READ["problems"].format(least=LEAST_FOR_BOOTSTRAP)
    parts += _section("Seeds and problems", how, differences.choice_of_problems(comparison))
    parts += _section(
        "The frontier by steps", HOW_TO_READ["by_step"].format(shown=shown), frontiers.by_step(comparison)
    )
    how = HOW_TO_READ["frontier_by_rate"].format(shown=shown)
    parts += _section("The frontier by learning rate", how, frontiers.by_rate(comparison))
    for level in tables.levels(comparison):
        how = HOW_TO_READ["level"].format(level=level)
        parts += _section(f"At a pass@1 of {level:g}", how, tables.at_level(comparison, level))
    for cost, more_than in (("rollouts", 1.0), ("thousand tokens", MORE_TOKENS)):
        least, at_cost = tables.at_cost(comparison, cost, more_than)
        how = HOW_TO_READ[cost].format(least=least, more=more_than - 1)
        parts += _section(f"At {least:,.0f} {cost}", how, at_cost)
    for each in comparison.ks:
        parts += _section(f"pass@{each} by difficulty", HOW_TO_READ["bands"], tables.by_band(comparison, each))
    base = comparison.question.baselines[0]
    how = HOW_TO_READ["band_differences"].format(base=base)
    parts += _section(f"pass@1 by difficulty, less {base}'s", how, differences.by_band(comparison))
    number, solved = tables.never_solved(comparison)
    samples = next(iter(comparison.with_runs[0].runs.values()))["evaluations"][0]["samples"]
    how = HOW_TO_READ["never_solved"].format(number=number, samples=samples)
    parts += _section("Problems not solved at the start", how, solved)
    signals = critic.signals(comparison)
    told = ["signals", *([EXPLAINED] if EXPLAINED in signals else [])]
    parts += _section("Signals", "\n".join(HOW_TO_READ[name] for name in told), signals)
    parts += _section("The critic by learning rate", HOW_TO_READ["by_rate"], critic.by_rate(comparison))
    return parts + _section("Calibration of the critic", HOW_TO_READ["calibration"], critic.calibration(comparison))


def _section(title: str, how: str, table: str) -> list[str]:
    """A section, or nothing where its table is empty."""
    return [f"## {title}", how, table] if table else []


def _runs(number: int) -> str:
    return "1 run is" if number == 1 else f"{number} runs are"


def _of_differences(question: Question, base: str, count: int) -> str:
    return HOW_TO_READ["differences"].format(
        base=base,
        test="the t-test of pairs" if question.pairs else "Welch's t-test",
        count=count,
        p=LEAST_FOR_P,
        bootstrap=LEAST_FOR_BOOTSTRAP,
        pairing=(PAIRED if question.own_starts else PAIRED_AT_ONE_START) if question.pairs else UNPAIRED,
    )


def _tuned_on_test(question: Question) -> list[str]:
    """A sentence where learning rates were chosen by the problems that the arms are compared on."""
    if question.own_starts:  # of a seed that tunes these are others
        return []
    split = question.evaluation.split
    arms = [arm for arm in question.arms.values() if len(arm.tuning.lr) > 1 and arm.tuning.evaluation.split == split]
    return [TUNED_ON_TEST.format(arms=" and ".join(arm.name for arm in arms))] if arms else []


def _failures(comparison: Comparison) -> str:
    if not comparison.failures:
        return "None."
    lines = []
    for who, record, finished_later in comparison.failures:
        settings = record["run"]["settings"]
        later = " (finished when it was tried again)" if finished_later else ""
        lines.append(f"- {who}, lr {settings['lr']:g}, seed {settings['seed']}: `{record['cause']}`{later}")
    return "\n".join(lines)


def _provenance(comparison: Comparison) -> str:
    records = comparison.records
    if not records:
        return "No finished run."
    dates = sorted(str(record["date"])[:10] for record in records)
    hours = sum(record["wall_seconds"] for record in records) / 3600
    count: Callable[[str], Counter[str]] = lambda key: Counter(str(record[key]) for record in records)  # noqa: E731
    machines = Counter("{cpu}, {cores} cores, torch {torch}".format(**record["machine"]) for record in records)
    lines = [f"- {len(records)} finished runs, {dates[0]} to {dates[-1]}, {hours:.1f} hours of runs by the clock"]
    lines += [f"- {number} on {machine}" for machine, number in machines.most_common()]
    codes, commits = count("code"), count("commit")
    versions = ", ".join(f"{code} ({number})" for code, number in codes.most_common())
    several = " **of several versions**" if len(codes) > 1 else ""
    lines += [f"- code of the loop and the methods: {versions}{several}"]
    return "\n".join([*lines, f"- commits: {', '.join(_short(commit) for commit in commits)}"])


def _short(commit: str) -> str:
    """A commit's first digits, with "+" if there were changes to it."""
    return commit[:12] + "+" * commit.endswith("+")
