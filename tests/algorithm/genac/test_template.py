"""The critic's template: what stands around a partial solution, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pacs.algorithm.genac import AS_PRINTED, INSTRUCTIONS_FIRST, SHIPPED, CriticTemplate
from pacs.base.errors import UserError

#: As issue and paper print it; but for the format, which they do not.
PRINTED = """A 8B language model is solving a math problem. Your job is to evaluate its probability of success, \
given the partial solution it has already generated. For your reference, the average success rate of the model on the \
dataset is 0.29.

<problem>In the center of a square...</problem>

<partial_solution>The problem describes...</partial_solution>

Instructions:
1. Evaluate the difficulty of the problem.
2. Recover the capabilities of the model based on the partial solution.
3. Skim through the partial solution and detect any progress, error, or confusion.
4. Analyze the probability of success if the model finish the solution.
5. Output the final answer as an integer between 0 and 10 inclusive (10 most likely)."""


def test_as_printed_it_has_the_paper_s_words() -> None:
    template = CriticTemplate(AS_PRINTED)
    said = template.head("In the center of a square...", 0.29, "8B") + "The problem describes..." + template.tail
    assert said == PRINTED + r" Write it as \boxed{n}."


TEXTS = st.text(st.sampled_from("ab {}\\<>/0\n"), max_size=30) | st.sampled_from(
    ["{problem}", "{partial_solution}", "{success_rate}", r"\1 \g<0>", r"\boxed{n}", "</partial_solution>"]
)


@pytest.mark.parametrize("name", SHIPPED)
@given(problem=TEXTS, partial=TEXTS, rate=st.floats(0, 1))
def test_head_partial_solution_and_tail_are_the_template(name: str, problem: str, partial: str, rate: float) -> None:
    """Whatever a problem says, also where it looks like a placeholder."""
    template = CriticTemplate(SHIPPED[name])
    said = template.head(problem, rate, "4B") + partial + template.tail
    expected = SHIPPED[name].replace("{success_rate}", f"{rate:.2f}").replace("{model_size}", "4B")
    before, between, after = [part for each in expected.split("{problem}") for part in each.split("{partial_solution}")]
    assert said == before + problem + between + partial + after


def test_with_the_instructions_first_hardly_anything_comes_behind_a_partial_solution() -> None:
    assert CriticTemplate().text == INSTRUCTIONS_FIRST
    assert CriticTemplate().tail == "</partial_solution>"
    assert r"\boxed{n}" in CriticTemplate().head("1+1", 0.5, "8B")
    assert sorted(INSTRUCTIONS_FIRST.split()) == sorted(AS_PRINTED.split())


@pytest.mark.parametrize("name", ["instructions_first", "as_printed"])
def test_without_conditioning_nothing_is_said_of_the_actor(name: str) -> None:
    template = CriticTemplate(SHIPPED[f"{name}_unconditioned"])
    said = {template.head("1+1", rate, size) + template.tail for rate, size in ((0.1, "8B"), (0.9, "4B"))}
    assert len(said) == 1
    text = said.pop()
    assert "success rate" not in text
    assert "capabilities" not in text
    assert text.startswith("A language model is solving")
    assert "1. Evaluate" in text
    assert "2. Skim" in text
    assert "4. Output" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{problem}", "has no {partial_solution}: write it where"),
        ("{partial_solution}", "has no {problem}: write it where"),
        ("{problem} {problem} {partial_solution}", "has {problem} 2 times: leave one"),
        ("{problem} {partial_solution} {partial_solution}", "has {partial_solution} 2 times: leave one"),
        ("{success_rate} {success_rate} {problem} {partial_solution}", "has {success_rate} 2 times"),
        ("{model_size} {model_size} {problem} {partial_solution}", "has {model_size} 2 times"),
        ("{partial_solution} {problem}", "has {problem} behind {partial_solution}: put it before"),
        ("{problem} {partial_solution} {success_rate}", "has {success_rate} behind {partial_solution}"),
    ],
)
def test_what_is_wrong_is_said_with_the_mend(text: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        CriticTemplate(text)
    assert said in str(caught.value)


def test_one_of_ones_own() -> None:
    template = CriticTemplate(r"Of {problem} with \boxed{n}: {partial_solution} | {x}")
    assert template.head("p", 0.5, "8B") == r"Of p with \boxed{n}: "
    assert template.tail == " | {x}"
