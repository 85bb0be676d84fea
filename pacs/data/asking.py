r"""Sentences in a problem that ask for the form of its answer: "Put your final answer within \boxed{}".

Published rows have them, each set its own, and a run asks in its own way (`--instruction`). What says more than the
form, as "rounded to two decimal places, within \boxed{}", is part of the problem: without it another answer is right.
"""

import re
from itertools import pairwise
from typing import Final

#: What a sentence ends at: a stop before white space, a line's end, and words with which such a request begins.
_END: Final = re.compile(
    r"(?<=[.!?])['\"”]?\s+|\s*\n\s*|(?<=[。！？])"
    r"|\s+(?=[(*]{0,3}(?:Please|Let's|Put|Output|Present|Remember|Return|Make sure|You must|Your (?:final )?answer)\b)"
)
_ANSWER: Final = r"(?:answer|response|result|solution)s?\b"
#: What no problem of mathematics asks for, and a form does.
_MARK: Final = r".*(?:\\f?boxed|\bboxed\b|####|</?answer>|\bAnswer:|own line|LaTeX format).*"
_ASKING: Final = re.compile(
    r"(?:(?:please|then|and|finally|also|you (?:must|should|need to)|remember to|make sure to|let'?s|let us),? )*(?:"
    r"(?:put|output|give|write|present|provide|return|place|enclose|express|report|state|wrap|include|submit|box|format)"
    rf" (?:down )?(?:only )?(?:your |the )?(?:final )?{_ANSWER}{_MARK}"
    rf"|(?:your|the) (?:final )?{_ANSWER}(?= (?:must|should|will|has to|needs to|is to)\b){_MARK}"
    rf"|(?:the )?last (?:line|part)\b{_MARK}"
    r"|(?:think|reason|work|solve (?:it|(?:the|this) (?:problem|question)))\b[^.?]*\bstep[ -]by[ -]step\b"
    rf"(?:[^.?]*|{_MARK})"
    r"|(?:solve|answer) (?:the following|this) (?:\w+ )?(?:problem|question)"
    r"(?: step[ -]by[ -]step| efficiently and clearly| carefully)?)"
    r"|.*\(without quotes\).*|请[^。？]*\\boxed[^。？]*。?",
    re.I | re.S,
)
#: A longer sentence is part of the problem.
_CHARS: Final = 400
#: All that such a request is made of, beside boxes, tags and marks.
_WORDS_LIST: Final = """
    a about after also an and answer answering answers any as at automatically be been before box boxed by can
    carefully clear clearly complete completely correct detail detailed details down e efficient efficiently else
    enclose enclosed end ending example explain explanation express expressed expression extra extracted final finally
    follow following for form format formatted from g give given giving has have here hope i in include included
    inside into is it its itself just last latex let lets like line logically make making math mathematical must
    need needs notation note nothing number of on once only or out output own part place placed please present
    presented problem problems process properly provide provided providing put question questions quotes reason
    reasoning remember report response responses result results return s should show showing single so solution
    solutions solve solved solves solving state stated step steps submit such sure surrounded tag tags text that
    the then therefore these think thinking this thoroughly through to us use using where will with within without
    work wrap wrapped write written you your
"""
_WORDS: Final = frozenset(_WORDS_LIST.split())
_CHINESE_LIST: Final = """
    请 逐步 一步一步 分步 思考 推理 推导 解答 解决 求解 回答 问题 题目 这个 该 通过 来 并且 并
    然后 最后 最终 后 将 把 你的 您的 你 您 的 答案 结果 放在 放入 放到 放置 放 写在 写入 写
    填入 填在 置于 于 给出 输出 使用 用 以 在 到 中 内 里 步骤
"""
_CHINESE: Final = re.compile("|".join(sorted(_CHINESE_LIST.split(), key=len, reverse=True)))
_TAGS: Final = re.compile(r"</?(?:answer|think|thinking)>|\\+f?boxed|\\+text", re.I)
#: What such words ask for beside a form: a count, a part, the last of several.
_OTHER_ANSWER: Final = re.compile(
    r"\bnumber of\b|\bparts?\s+\(?[a-h]\)?(?![a-z])|\b(?:answer|solution|result)s? (?:to|of|for) (?:only )?the last\b",
    re.I,
)
_MATH: Final = re.compile(r"\$(?!Answer\b)[^$]*\$")
_SIGNS: Final = re.compile(r"[+=<>^/\\\d]")
_WORD: Final = re.compile(r"[^\W\d_]+")


def without_asking(text: str) -> str:
    """The text without the sentences at its beginning and its end that ask for the form of the answer."""
    start, end = 0, len(text)
    bounds = [0, *(found.end() for found in _END.finditer(text)), len(text)]
    spans = [span for span in pairwise(bounds) if text[slice(*span)].strip()]
    while spans and _asks(text[slice(*spans[0])]):
        start = spans.pop(0)[1]
    while spans and _asks(text[slice(*spans[-1])]):
        end = spans.pop()[0]
    return text[start:end].strip() if (start, end) != (0, len(text)) else text


def _asks(sentence: str) -> bool:
    sentence = sentence.strip(" \t\n.:!*\"'”()")
    return 0 < len(sentence) <= _CHARS and _ASKING.fullmatch(sentence) is not None and not _says_more(sentence)


def _says_more(sentence: str) -> bool:
    """Whether a request has a word, a number or a formula that is not of its form: what it asks for, or how exactly."""
    if any("boxed" not in formula for formula in _MATH.findall(sentence)) or _OTHER_ANSWER.search(sentence):
        return True
    plain = _CHINESE.sub(" ", _TAGS.sub(" ", sentence))
    return _SIGNS.search(plain) is not None or not _WORDS.issuperset(_WORD.findall(plain.casefold()))
