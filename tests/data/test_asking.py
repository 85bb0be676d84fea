"""What asks for a form is taken off a problem, and nothing else."""

import pytest

from pacs.data.asking import without_asking
from pacs.data.filters import normalised

#: As published rows and public templates have them, around the problem.
ASKING = [
    "{}\nPlease put your final answer within \\\\boxed{{}}.",
    "{}\nPut your final answer in \\boxed{{}}, for example \\boxed{{answer}}.",
    "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
    "$Answer (without quotes) where $Answer is the answer to the problem.\n\n{}\n\nRemember to put your answer on its "
    'own line after "Answer:".',
    "Solve the following math problem efficiently and clearly.  The last line of your response should be of the "
    "following format: 'Therefore, the final answer is: $\\boxed{{ANSWER}}$. I hope it is correct' (without quotes) "
    "where ANSWER is just the final number or expression that solves the problem. Think step by step before answering."
    "\n\n{}",
    "{} Please reason step by step, and put your final answer within \\boxed{{}}.",
    "{}\nPlease reason step by step, and put your final answer within \\boxed{{}}.",
    "{}\n\nLet's think step by step and output the final answer within \\boxed{{}}.",
    '{} Let\'s think step by step and output the final answer after "####".',
    "{}\n\nPresent the answer in LaTex format: \\boxed{{Your answer}}",
    "Return your final response within \\boxed{{}}. {}",
    "{} You must put your answer inside <answer> </answer> tags, i.e., <answer> answer here </answer>. And your final "
    "answer will be extracted automatically by the \\boxed{{}} tag.",
    "{} Your final answer should be in \\boxed{{}}.",
    "{}\nMake sure to put your final answer in \\boxed{{}}.",
    "{}\n\nThink step by step and enclose your final answer in \\boxed{{answer}}.",
    "{} (Put your answer in \\boxed{{}}.)",
    "{}\n**Please put the final answer in $\\boxed{{}}$.**",
    "Please solve this problem step by step.\n{}",
    "{} Let's think step by step.",
    "{}\n请逐步推理，并将最终答案放在 \\boxed{{}} 中。",
    "请逐步推理，并将最终答案放在\\boxed{{}}中。{}",
]

PROBLEMS = [
    "What is $1+1$?",
    "Find $x^2$ if $x=3$. Express your answer as a fraction.",
    "A box holds 3 balls; how many (in total)",
    "求 $x$ 的值。",
    "设 $x=1$。求 $x$。",
    "Let $f(x)=1$.\n\nWhat is $f(2)$?\n(a) 1\n(b) 2",
    "Work it out. Give your answer in simplest form.",
    "Put the numbers in the boxes. What is the answer?",
    "Write the answer in the form $a+b\\sqrt{c}$.",
    "Step by step, a frog climbs. How far?",
    "Work through the maze step by step; how many steps?",
    "Solve the following equation: $x=1$",
    "Solve $x^2=4$ and put your answer in \\boxed{}.",
    "Write 0.5 as a fraction, within \\boxed{}.",
    "The result of $\\boxed{3}+4$ is what?",
    "Find the result of $\\boxed{3}+4$",
]


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_problem_is_left(problem: str) -> None:
    assert without_asking(problem) == problem
    for asking in ASKING:
        assert without_asking(asking.format(problem)) == problem, asking
        assert normalised(asking.format(problem)) == normalised(problem)


#: Without these another answer is right, or there is no problem left.
SAYS_MORE = [
    "What is $10/3$? Give your answer rounded to two decimal places within \\boxed{}.",
    "How long is it? Write your final answer in meters, in \\boxed{}.",
    "Find $2^{99}$. Express the answer modulo 1000 and put it in \\boxed{}.",
    "Find $x$. Please output your answer as a fraction in lowest terms inside \\boxed{}.",
    "Find $x$. Your answer should be an integer between 0 and 999, in \\boxed{}.",
    "The area is $m/n$. Present your answer in the form m+n in \\boxed{}.",
    "The area is $a$ and $b$. Report your answer as $a$ in \\boxed{}.",
    "What is $1+1$? Please put your answer in binary within \\boxed{}.",
    "Work out the total cost of 3 apples step by step.",
    "Reason step by step about the maximum of $f$ on $[0,1]$.",
    "Print 'YES' (without quotes) if n is prime.",
    "求 $x$ 的值。\n请将答案保留两位小数，并放在\\boxed{}中。",
    "Solve $x^3=x$. Give your answer as the number of solutions in \\boxed{}.",
    "Find a and b. Put your answer to part (a) in \\boxed{}.",
    "What is $1+1$? And $2+2$? Report the answer to the last question in \\boxed{}.",
]


@pytest.mark.parametrize("problem", SAYS_MORE)
def test_a_request_that_says_more_than_the_form_is_part_of_the_problem(problem: str) -> None:
    assert without_asking(problem) == problem
    for asking in ("{} Please reason step by step.", "{}\nPut your final answer within \\boxed{{}}."):
        assert without_asking(asking.format(problem)) == problem


def test_white_space_behind_it_counts_for_nothing() -> None:
    assert without_asking("What? Put your answer in \\boxed{}.\n\n") == "What?"


def test_of_a_request_alone_nothing_is_left() -> None:
    assert without_asking("Please reason step by step.") == ""


def test_a_long_text_takes_no_longer() -> None:
    assert without_asking("Put your answer " * 50_000).startswith("Put your answer")
    assert without_asking("Please " * 50_000).startswith("Please")
