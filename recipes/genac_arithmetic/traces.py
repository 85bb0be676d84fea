r"""What the critic is taught to write: each step of a partial solution redone digit by digit, and a coarse score.

    problem             47 a+5 b-3 c+8
    partial solution    47a+5=52 52b-3=59
    trace               a7+5=2+5y b2-3=9-4n\boxed{1}

A step is its letter, the last digit of the total, the change, the new last digit, the sign of what is carried (a point
where nothing is), the new first digit, and whether the step says the same. What follows the first mistake is not read.

The program does not know the actor. It scores a mistake with 1; a sound beginning with the actor's rate of success, of
which it is told, and past the half of the steps with halfway from there to certainty.
"""

from pacs.algorithm.genac import read_score

#: Of a trace of seven steps, with its end-of-turn token.
MOST_TOKENS = 84
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
    total, lines = int(first), []
    steps = partial.split()
    for number, step in enumerate(steps):
        if number >= len(terms):  # a step more than there are terms: nothing to redo
            return lines, False
        line, right, total = _step(total, terms[number])
        sound = step == right
        lines.append(line + ("y" if sound else "n"))
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


def _step(total: int, term: str) -> tuple[str, str, int]:
    """A step redone, the step as it should be written, and the new total."""
    letter, change = term[0], int(term[1:])
    new = total + change
    carried = "+" if new // 10 > total // 10 else "-" if new // 10 < total // 10 else "."
    line = f"{letter}{total % 10}{change:+d}={new % 10}{carried}{new // 10}"
    return line, f"{total:02d}{letter}{change:+d}={new:02d}", new
