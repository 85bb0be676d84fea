r"""What the critic is taught to write: each step of a partial solution redone, a digit a token, and a coarse score.

    problem             47 a+5 b-3 c+8
    partial solution    47a+5=52 52b-3=59
    trace               47a+5=52:52y 52b-3=49:59n\boxed{1}

A step is redone as it should be, from the total that is right before it; then comes the total that the partial solution
has there, and y or n says whether it has the same step. What follows the first mistake is not read. To write steps is
what the actor can do, and the critic begins as the actor: traces of other forms took a model of this size far longer to
learn.

The program does not know the actor. It scores a mistake with 1; a sound beginning with the actor's rate of success, of
which it is told, and past the half of the steps with halfway from there to certainty.
"""

from pacs.algorithm.genac import read_score

#: Of a trace of seven steps, with its end-of-turn token.
MOST_TOKENS = 104
MISTAKE = 1
#: What is taken for the rate where none is told.
UNTOLD = 0.5


def redone(problem: str, partial: str) -> tuple[list[str], bool]:
    """The steps of a partial solution as a trace has them, and whether they are sound.

    Args:
        problem: as "47 a+5 b-3 c+8".
        partial: whole steps, as "47a+5=52 52b-3=49 ".
    """
    first, *terms = problem.split()
    total = int(first)
    lines: list[str] = []
    steps = partial.split()
    for number, step in enumerate(steps):
        if number >= len(terms):  # a step more than there are terms: nothing to redo
            return lines, False
        change = int(terms[number][1:])
        right = f"{total:02d}{terms[number][0]}{change:+d}={total + change:02d}"
        total += change
        sound = step == right
        lines.append(f"{right}:{step.partition('=')[2]}{'y' if sound else 'n'}")
        if not sound:
            return lines, False
    return lines, True


def trace(problem: str, partial: str, rate: float | None) -> str:
    """The program's trace; `rate` is the actor's rate of success, None where it is not told."""
    lines, sound = redone(problem, partial)
    return " ".join(lines) + f"\\boxed{{{score(problem, partial, sound, rate)}}}"


def score(problem: str, partial: str, sound: bool, rate: float | None) -> int:
    """The program's score, from 0 to 10."""
    if not sound:
        return MISTAKE
    rate = UNTOLD if rate is None else rate
    late = 2 * len(partial.split()) > len(problem.split()) - 1
    return round(10 * ((1 + rate) / 2 if late else rate))


def follows(text: str, problem: str, partial: str) -> bool:
    """Whether a trace redoes the steps as the program does, whatever it scores."""
    lines, _ = redone(problem, partial)
    return read_score(text) is not None and text.partition("\\boxed")[0] == " ".join(lines)
