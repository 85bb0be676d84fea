"""The program's traces against the arithmetic itself, and the mistakes of the careless teacher."""

import random
import re

import pytest

from pacs.algorithm.genac import read_score
from recipes.chain_sums.teachers import careless_solution, right_solution
from recipes.genac_arithmetic.problems import TASK, critic_problems, split_problems
from recipes.genac_arithmetic.traces import MISTAKE, MOST_TOKENS, follows, redone, trace

PROBLEM = "47 a+5 b-3 c+8 d-9 e+1"
LINE = re.compile(r"(\d\d)([a-z])([+-]\d)=(\d\d):(\d\d)([yn])")


def test_a_trace_as_it_is_documented() -> None:
    assert trace("47 a+5 b-3 c+8", "47a+5=52 52b-3=59 ", 0.4) == r"47a+5=52:52y 52b-3=49:59n\boxed{1}"


def test_every_step_of_careless_solutions_is_judged_as_arithmetic_judges_it() -> None:
    rng = random.Random(0)
    mistakes = 0
    for problem in critic_problems(0)[:200]:
        right = right_solution(problem, rng).split()
        written = careless_solution(problem, rng).split()[:-1]
        for length in range(len(written) + 1):
            partial = "".join(step + " " for step in written[:length])
            lines, sound = redone(problem.text, partial)
            # The first step that is not the right solution's, by comparison with it as a whole.
            wrong = next((i for i, step in enumerate(written[:length]) if step != right[i]), None)
            assert sound == (wrong is None)
            assert len(lines) == (length if wrong is None else wrong + 1)
            total = int(problem.text.split()[0])
            for line, term, step in zip(lines, problem.text.split()[1:], written, strict=False):
                found = LINE.fullmatch(line)
                assert found is not None
                before, letter, change, after, says, verdict = found.groups()
                assert (letter, int(change), int(before)) == (term[0], int(term[1:]), total)
                total += int(change)
                assert int(after) == total
                assert step.endswith(f"={says}")
                assert verdict == ("n" if not sound and line is lines[-1] else "y")
            mistakes += not sound
            assert len(trace(problem.text, partial, 0.4)) < MOST_TOKENS
    assert mistakes > 200


@pytest.mark.parametrize(("steps", "score"), [(0, 4), (2, 4), (3, 7), (5, 7)])
def test_a_sound_beginning_is_scored_by_the_rate_and_by_its_half(steps: int, score: int) -> None:
    right = ["47a+5=52 ", "52b-3=49 ", "49c+8=57 ", "57d-9=48 ", "48e+1=49 "]
    assert read_score(trace(PROBLEM, "".join(right[:steps]), 0.4)) == score


def test_a_mistake_and_a_step_too_many_are_scored_alike() -> None:
    right = "47a+5=52 52b-3=49 49c+8=57 57d-9=48 48e+1=49 "
    assert read_score(trace(PROBLEM, "47a+5=42 ", 0.9)) == MISTAKE
    assert read_score(trace(PROBLEM, "47b-3=44 ", 0.9)) == MISTAKE
    assert read_score(trace(PROBLEM, right + "49f+1=50 ", 0.9)) == MISTAKE


def test_an_untold_rate_is_not_used() -> None:
    assert trace(PROBLEM, "", None) == r"\boxed{5}"


def test_a_trace_follows_the_program_whatever_it_scores() -> None:
    assert follows(r"47a+5=52:52y\boxed{0}", PROBLEM, "47a+5=52 ")
    assert not follows(r"47a+5=52:52n\boxed{0}", PROBLEM, "47a+5=52 ")
    assert not follows("47a+5=52:52y", PROBLEM, "47a+5=52 ")


def test_no_problem_is_in_two_sets() -> None:
    split = split_problems(0)
    sets = [[p.text for p in each] for each in (split.train, split.probe, split.test, critic_problems(0))]
    every = [text for each in sets for text in each]
    assert len(every) == len(set(every)) == sum(map(len, sets))
    assert max(map(len, every)) + 3 <= TASK.max_prompt_tokens
