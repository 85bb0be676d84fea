"""What the graded samples of a task come to: pass@k, and maj@k, how often the answer that most of k give is right."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pacs.base.statistics import Estimate, estimate, pass_at_k
from pacs.evaluation.folder import Timing
from pacs.evaluation.sample import Graded, GradedTask, Problem
from pacs.rewards.answers.exact import exact
from pacs.rewards.answers.read_answer import key_of, read
from pacs.rewards.answers.tokens import bare
from pacs.rewards.answers.types import Expression
from pacs.rewards.reasoning import UNENDED
from pacs.rewards.verdict import CLASSES

#: Of k samples, for a problem's maj@k.
DRAWS = 1000


def votes(samples: Sequence[Graded]) -> tuple[int, list[int]]:
    """How many samples give the right answer, and how many each of the wrong ones.

    Right are those that the verifier takes for right, however they are written: one answer. Wrong answers count as one
    where they are the same rational number, or the same text once spaces and LaTeX's ways of writing are made one
    (`pacs.rewards.answers.read_answer.key_of`). A sample without an answer has no vote.
    """
    right = sum(graded.status == "correct" for graded in samples)
    wrong = Counter(_answer(graded.predicted) for graded in samples if graded.status != "correct" and graded.predicted)
    return right, list(wrong.values())


def _answer(predicted: str) -> object:
    text = bare(predicted)
    try:
        answer = read(text)
        value = exact(answer.node) if isinstance(answer, Expression) else None
        return key_of(text) if value is None else value
    except ValueError:  # it is nothing that can be read, or beyond a bound
        return text


def maj_at_k(right: int, wrong: list[int], n: int, k: int, place: int = 0) -> float:
    """Probability that the majority of k of n samples, drawn without replacement, is the right answer.

    The vote is that of self-consistency (Wang et al. 2022, arXiv 2203.11171): the answer with the most votes wins, and
    of t answers with equally many each wins with probability 1/t; without a vote there is no right answer. It is the
    mean over `DRAWS` draws of k samples, the same ones whenever counts and place are the same; maj@1 (the share of
    right samples) and maj@n (the vote of all) are exact. A problem's value is off by 0.01 or so, the mean over 100
    problems by 0.001, a thirtieth of its standard error over problems.

    Args:
        right: samples with the right answer.
        wrong: samples with each of the wrong answers.
        n: samples of the problem; those that are in neither have no answer.
        k: how many are drawn.
        place: of the problem in its task: problems with the same counts are not off together.

    Raises:
        ValueError: unless 1 <= k <= n, and n has room for the votes.
    """
    if not 1 <= k <= n:
        raise ValueError(f"k={k}: maj@k needs k between 1 and n={n}; take more samples a problem or a smaller k")
    if right + sum(wrong) > n:
        raise ValueError(f"n={n}: fewer samples than votes ({right} right, {sum(wrong)} wrong)")
    if right == 0:
        return 0.0
    if k == 1:
        return right / n
    if k == n:
        return (right >= max(wrong, default=0)) / (1 + wrong.count(right))
    generator = np.random.default_rng([n, k, place, right, *wrong])
    counts = [right, *wrong, n - right - sum(wrong)]
    votes = generator.multivariate_hypergeometric(counts, k, size=DRAWS, method="marginals")[:, :-1]
    winners = votes == votes.max(axis=1, keepdims=True)
    wins = winners[:, 0] & (votes[:, 0] > 0)
    return float((wins / winners.sum(axis=1)).mean())


#: The verifier whose answers are programs: no two are the same, so that there is no majority among them.
NO_MAJORITY = "code"


@dataclass(frozen=True)
class ProblemCount:
    """How often a problem was solved.

    Attributes:
        id: the problem's.
        gold: a hash of what is right, by which two problems of the same id are told apart.
        n: samples.
        right: how many of them are right.
    """

    id: str
    gold: str
    n: int
    right: int


@dataclass(frozen=True)
class TaskResult:
    """One task, of one model. Shares and means of lengths are over all samples, estimates over problems.

    Attributes:
        task: its name.
        samples: a problem.
        problems: in the order of their file.
        accuracy: share of right samples, which is pass@1.
        pass_at: k -> pass@k.
        maj_at: k -> maj@k; empty where answers cannot be compared with each other (programs).
        statuses: the verifier's status -> share.
        truncated: share cut off at the limit of tokens.
        mean_tokens, mean_tokens_right, mean_tokens_wrong: of the responses; None where there is none.
        seconds: that generating took; None where it is not known.
        tokens_per_second: generated.
        unfinished: share that ended within their reasoning; None where that was not written down.
    """

    task: str
    samples: int
    problems: list[ProblemCount]
    accuracy: Estimate
    pass_at: dict[int, Estimate]
    maj_at: dict[int, Estimate]
    statuses: dict[str, float]
    truncated: float
    mean_tokens: float
    mean_tokens_right: float | None
    mean_tokens_wrong: float | None
    seconds: float | None
    tokens_per_second: float | None
    unfinished: float | None = None


def summarize(task: GradedTask, ks: Sequence[int], timing: Timing = Timing()) -> TaskResult:  # noqa: B008 (frozen)
    """The numbers of a task.

    Args:
        task: its samples, graded.
        ks: of pass@k and maj@k.
        timing: of the generation, as far as it is known.

    Raises:
        ValueError: a k that is not between 1 and the samples a problem; no problem, or problems without as many samples
            as the others.
    """
    counts = [_count(problem, task.samples[problem.id]) for problem in task.problems]
    sizes = sorted({count.n for count in counts})
    if len(sizes) != 1:
        raise ValueError(f"{task.name}: problems have {sizes} samples, where all must have equally many")
    samples = [graded for problem in task.problems for graded in task.samples[problem.id]]
    lengths = {right: [g.sample.tokens for g in samples if (g.status == "correct") == right] for right in (True, False)}
    tokens = sum(lengths[True]) + sum(lengths[False])
    statuses = Counter(graded.status for graded in samples)
    begins = [graded.sample.answer_begins for graded in samples]
    return TaskResult(
        task=task.name,
        samples=sizes[0],
        problems=counts,
        accuracy=pass_at_ks(counts, [1])[1],
        pass_at=pass_at_ks(counts, ks),
        maj_at=_maj_at_ks(task, ks),
        statuses={status: statuses[status] / len(samples) for status in CLASSES},
        truncated=sum(graded.sample.truncated for graded in samples) / len(samples),
        mean_tokens=tokens / len(samples),
        mean_tokens_right=_mean(lengths[True]),
        mean_tokens_wrong=_mean(lengths[False]),
        seconds=timing.seconds or None,
        # Not all tokens: a start that was killed has left samples whose seconds are lost.
        tokens_per_second=timing.tokens / timing.seconds if timing.seconds else None,
        unfinished=None if None in begins else begins.count(UNENDED) / len(begins),
    )


def pass_at_ks(counts: Sequence[ProblemCount], ks: Sequence[int]) -> dict[int, Estimate]:
    """Each k -> pass@k, its mean over problems and interval."""
    return {k: estimate(pass_at_values(counts, k)) for k in ks}


def pass_at_values(counts: Sequence[ProblemCount], k: int) -> npt.NDArray[np.float64]:
    """(P,) pass@k of each problem."""
    return np.array([pass_at_k(count.n, count.right, k) for count in counts])


def _maj_at_ks(task: GradedTask, ks: Sequence[int]) -> dict[int, Estimate]:
    if any(problem.extra_info.get("verifier") == NO_MAJORITY for problem in task.problems):
        return {}
    polls = [(*votes(task.samples[problem.id]), len(task.samples[problem.id])) for problem in task.problems]
    return {k: estimate([maj_at_k(*poll, k, place) for place, poll in enumerate(polls)]) for k in ks}


def _count(problem: Problem, samples: Sequence[Graded]) -> ProblemCount:
    gold = hashlib.sha256(problem.ground_truth.encode(errors="surrogatepass")).hexdigest()[:16]
    return ProblemCount(problem.id, gold, len(samples), sum(graded.status == "correct" for graded in samples))


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None
