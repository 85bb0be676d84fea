"""What is kept out of a training set, against the same by brute force."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pacs.data.filters import NGRAM_WORDS, Duplicates, Overlap, normalised, words
from pacs.data.problem import Dropped, Problem


def reason(check: Duplicates | Overlap, question: str) -> str | None:
    try:
        check.check(Problem(question, "1", "0"))
    except Dropped as dropped:
        return str(dropped)
    return None


def naive_words(text: str) -> list[str]:
    """Character by character."""
    found, word = [], ""
    for character in text.lower() + " ":
        if character.isalnum():
            word += character
        elif character.isspace():
            found += [word] if word else []
            word = ""
    return found


def naive_overlap(one: str, other: str) -> bool:
    """Every window of one against every window of the other."""
    a, b = naive_words(one), naive_words(other)
    return any(
        a[i : i + NGRAM_WORDS] == b[j : j + NGRAM_WORDS]
        for i in range(len(a) - NGRAM_WORDS + 1)
        for j in range(len(b) - NGRAM_WORDS + 1)
    )


# Few words, so that texts share many; and pieces that are no words.
TEXTS = st.lists(st.sampled_from(["a", "B", "c!", "$x+y$", "\\frac{1}{2}", "--", "D,"]), max_size=40).map(" ".join)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.data())
def test_overlap_is_what_brute_force_finds(data: st.DataObject) -> None:
    evaluation = data.draw(st.lists(TEXTS, min_size=1, max_size=4))
    # Some questions have a piece of an evaluation question in them.
    start = data.draw(st.integers(0, 40))
    piece = " ".join(evaluation[0].split()[start : start + data.draw(st.integers(10, 20))])
    question = data.draw(st.one_of(TEXTS, st.tuples(TEXTS, st.just(piece), TEXTS).map(" ".join)))
    overlap = Overlap()
    for text in evaluation:
        overlap.add(text, "test")
    expected = any(
        naive_overlap(question, text) or re.sub(r"[\s$]", "", question.lower()) == re.sub(r"[\s$]", "", text.lower())
        for text in evaluation
    )
    assert (reason(overlap, question) is not None) == expected


def test_the_reason_names_the_set_and_the_rule() -> None:
    overlap = Overlap()
    long = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen"
    overlap.add(long, "aime24")
    overlap.add("What is $1+1$?", "math500")
    assert reason(overlap, "what is 1 + 1?") == "overlap with math500: the same text"
    assert reason(overlap, f"Now {long.title()}!") == "overlap with aime24: 13 words"
    assert reason(overlap, long.replace("seven", "7")) is None
    assert reason(overlap, "What is $1-1$?") is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("What is $1 + 1$?", "what is\n1+1?"),
        ("$\\left( \\dfrac{1}{2} \\right)$.", "(\\frac{1}{2})"),
        ("a\\,b\\!c\\;d\\ e~f", "abcdef"),
        ("\\quad x\\displaystyle y", "xy"),
        ("ﬁve", "five"),
        ("What is \\(1 + 1\\)?", "What is $1+1$?"),
        ("What is\n\\[ 1+1 \\]", "What is $$1+1$$"),
        ("Problem 7. What is $1+1$?", "What is $1+1$?"),
        ("Question 7\nWhat is $1+1$?", "What is $1+1$?"),
        ("problem 12: $1+1$?", "$1+1$?"),
        ("7. What is $1+1$?", "What is $1+1$?"),
        (" 1) \\(x\\)", "$x$"),
    ],
)
def test_the_same_problem_set_otherwise(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1+1", "1-1"),
        ("x^2", "x_2"),
        ("1.5", "15"),
        ("\\leftarrow", "arrow"),
        ("a<b", "a>b"),
        ("1!", "1"),
        ("7.5 of it", "of it"),
        ("1. + 3", "2. + 3"),
        ("(2) + 3", "(5) + 3"),
        ("Problem 7 of it?", "Problem 8 of it?"),
        ("In 7. What?", "What?"),
    ],
)
def test_other_problems_stay_other(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


@settings(deadline=None, derandomize=True)
@given(st.text())
def test_words_have_only_letters_and_digits(text: str) -> None:
    assert all(word.isalnum() or re.fullmatch(r"\w+", word) for word in words(text))


@settings(deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(["a", "A ", "$a$", "b", "c", "-b"]), max_size=30))
def test_duplicates_are_what_a_list_of_the_seen_finds(questions: list[str]) -> None:
    duplicates, seen = Duplicates(), []
    for question in questions:
        plain = question.replace("$", "").strip().lower()
        assert (reason(duplicates, question) == "duplicate") == (plain in seen)
        seen.append(plain)
