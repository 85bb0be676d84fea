"""What of NuminaMath, and of what was made of it, can be trained on: its own marks, choices and pictures."""

import re
from typing import Final

from pacs.data.problem import Row

#: A letter for an answer, and the choices in the problem.
_LETTER: Final = re.compile(r"(?:\\(?:text\w*|mathrm|mathbf)\s*\{)?\(?([A-H])\)?\}?\.?")
_CHOICES: Final = re.compile(r"(?<![A-Za-z])\(?A\s*[).:}].*?(?<![A-Za-z])\(?B\s*[).:}]", re.S)
_PICTURE: Final = re.compile(r"!\[[^\]]*\]\(|<img\b|\\includegraphics")


def unfit(row: Row, question: str, gold: str) -> str | None:
    """Why a row is no problem to train on; None if it is one."""
    for column in ("problem_is_valid", "solution_is_valid"):
        if row.get(column, "Yes") != "Yes":
            return f"{column} is not Yes"
    if row.get("question_type") == "proof":
        return "proof"
    if row.get("question_type") == "MCQ" or (_LETTER.fullmatch(gold) and _CHOICES.search(question)):
        return "multiple choice"
    if _PICTURE.search(question):
        return "a picture is missing"
    return None
