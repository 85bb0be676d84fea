r"""The text of an answer as tokens: LaTeX, or what is commonly written in its place."""

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

from pacs.rewards.answers.refusals import check_size

#: A pair of dollars and the like around an answer.
_AROUND: Final = (("$$", "$$"), ("$", "$"), (r"\(", r"\)"), (r"\[", r"\]"))
_STOP = re.compile(r"(?<=[\w)}\]%$!|])\s*[.,;\\]$", re.ASCII)
#: A separator of thousands that cannot be anything else: 10{,}000, 10,\!000, 10\,000, or a space that is thin or joins.
_THOUSANDS = re.compile(r"(?<=\d)(?:\{,\}|,\\!\s*|\\,|[\u00a0\u2009\u202f])(?=\d{3}(?!\d))")
_WITHOUT_MEANING = re.compile(
    r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|textstyle|limits|nolimits|rm|bf)(?![a-zA-Z])\.?"
    r"|\\(?:mathbf|boldsymbol|bm)\s*(?=\{\s*[-+(\d\\])|\\!|\\[vh]?phantom\s*(?:\{[^{}]*\}|\S)|\\label\s*\{[^{}]*\}"
)
_SPACE = re.compile(
    r"(?:(?<!\\)\\[,;:> \n]|\\(?:quad|qquad|enspace|thinspace)(?![a-zA-Z])|\\(?:text|mbox) ?\{\s*\}|~|\s)+"
)
#: A sign -> its command, behind it.
_SIGNS: Final = r"""
    ×\times ·\cdot ÷\div π\pi ∞\infty ≤\le ≥\ge ≠\ne ±\pm ∪\cup ∈\in √\sqrt ⋅\cdot ∉\notin ∖\setminus ∨\lor ∧\land
    ⟨\langle ⟩\rangle α\alpha β\beta λ\lambda φ\phi ω\omega ∅\emptyset ≡\equiv θ\theta
    ½\frac12 ⅓\frac13 ⅔\frac23 ¼\frac14 ¾\frac34
"""
#: Raised signs and lowered ones, and what they are.
_RAISED, _RAISED_ARE, _LOWERED, _LOWERED_ARE = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", "₀₁₂₃₄₅₆₇₈₉ₙ", "0123456789n"
_PLAIN = str.maketrans(_RAISED + _LOWERED, _RAISED_ARE + _LOWERED_ARE)
#: Several of them in a row, which are one exponent or one index.
_RUN = re.compile(f"([{_RAISED}]{{2,}})|[{_LOWERED}]{{2,}}")
_UNICODE: Final = {
    **{word[0]: f"{word[1:]} " for word in _SIGNS.split()},
    **{sign: f"^{sign.translate(_PLAIN)}" for sign in _RAISED},
    **{sign: f"_{sign.translate(_PLAIN)}" for sign in _LOWERED},
    "−": "-", "–": "-", "‐": "-", "‑": "-", "ℤ": r"\mathbb{Z}", "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}",
    "ℂ": r"\mathbb{C}", "ℝ": r"\mathbb{R}", "\u2061": "", "Å": "angstrom", "⁄": "/", "∕": "/", "′": "'", "″": "''",
    **dict.fromkeys("°º˚", r"\degree "),
}  # fmt: skip
_TRANSLATION = str.maketrans(_UNICODE)
#: One name for commands that mean the same: the first of each group.
_GROUPS: Final = r"""
    \frac \dfrac \tfrac \cfrac , \binom \dbinom \tbinom , \le \leq \leqslant ≤ , \ge \geq \geqslant ≥ , \ne \neq ,
    \{ \lbrace , \} \rbrace , < \lt , > \gt , | \mid \vert \lvert \rvert , \cdot \cdotp \ast \times * , / \div ,
    \emptyset \varnothing , : \colon , \cup \bigcup , \lor \vee , \land \wedge , ' \prime , \circ \degree ,
    \setminus \backslash , \mathbb \Bbb , \operatorname \operatorname* , \log \lg , \tan \tg , \cot \ctg ,
    \arctan \arctg , \arccot \arcctg , \csc \cosec , \phi \varphi , \epsilon \varepsilon , ( \langle , ) \rangle
"""
_SAME: Final = {other: first for first, *others in map(str.split, _GROUPS.split(" ,")) for other in others}
#: Commands around words, or around a name.
_WORDS: Final = "text|textbf|textit|textrm|textnormal|textsf|texttt|mbox|hbox|emph|underline"
_ALPHABETS: Final = "mathrm|mathbf|mathit|mathsf|mathtt|mathcal|boldsymbol|operatorname"
_TOKEN = re.compile(
    rf"(?P<words>\\(?:{_WORDS}|(?P<alphabet>{_ALPHABETS}))\*?\s*\{{(?P<inner>[^{{}}\\$]*)\}})"
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+))"
    r"|(?P<command>\\[a-zA-Z]+|\\[{}%$\\_&#|])"
    r"|(?P<letter>[a-zA-Z])"
    r"|(?P<other>[^\s])",
    re.ASCII,
)
_ROW_SPACE = re.compile(r"\\\\\s*\[\d+(?:\.\d+)?(?:pt|ex|em|mm|cm)\]")
#: Without the backslash, as in sqrt(2).
_BARE_FUNCTION = re.compile(
    r"(?<![\\a-zA-Z{])(?:np\.)?(sqrt|pi|ln|log|exp|(?:arc)?(?:sin|cos|tan))(?=[\s(^_\d]|$|[-+*/)])"
)
#: Dollars around a part of an answer ($2$ or $3$), or between two parts; not those of money ($5, $6).
_DOLLARS = re.compile(r"(?<![\w\\}])\$([^$]*)(?<!\\)\$(?!\w)|\$ *\$")
#: m_{\\max}, n^{\\prime}, {n \\choose k}.
_INDEX_WORD = re.compile(r"_(?:\{ ?\\(max|min) ?\}|\\(max|min)(?![a-zA-Z]))")
_PRIMES = re.compile(r"\^ ?(?:\{ ?(?:\\prime ?)+\}|\\prime(?![a-zA-Z]))")
#: Units with powers and dots, as in \\mathrm{m \\cdot s^{-1}}.
_UNITS = re.compile(r"\\(?:text|mathrm) ?\{(?:[^{}]|\^ ?\{-?\d\})*\}")
_DOT = re.compile(r"\\cdot(?![a-zA-Z])")
_CHOOSE = re.compile(r"\{([^{}]+)\\choose(?![a-zA-Z])([^{}]+)\}")
#: It is raised by itself: 90\\degree. The letter, raised behind a number, is the sign: 90^{o}.
_DEGREE = re.compile(r"(\^\s*\{?\s*\\degree)(?![a-zA-Z])|\\degree(?![a-zA-Z])")
_RAISED_O = re.compile(
    r"(?<=[\d)}])\s*\^\s*(?:o(?![a-zA-Z])|\{\s*o\s*\}|\{\s*\\(?:text|mathrm|rm)\s*(?:\{\s*o\s*\}|\s+o)\s*\})"
)
_NOT_EQUAL = re.compile(r"\\not\s*=|(?<=\s)!=")  # 5!=120 is a factorial
#: Relations as they are typed.
_TYPED: Final = {">=": r"\ge ", "<=": r"\le ", "==": "="}
_TYPED_RELATION = re.compile(r"[<>=]=(?!=)")
#: Nothing behind it that it is the logarithm of: TeX sets \\log_25 as log 5 to the base 2.
_LOG = re.compile(
    r"\\log_(\d)(\d+)(?=\s*(?:$|[-+*/=<>,;.)\]}|&]|\\(?:cdot|times|right|le|ge|text)(?![a-z])))", re.ASCII
)
#: The minus between the name of a set and a set: \\mathbb{R}-\\{3, 5\\}.
_DIFFERENCE = re.compile(r"(\\mathbb[^-,]*)- ?(?=\\\{)")
#: The letter x for the sign between a number and a power of ten: 1.6 x 10^{-19}.
_TIMES_TEN = re.compile(r"(?<=\d) ?x ?(?=10 ?\^)")
#: What is a function's name or an operation's as well, and what may stand behind the unit.
_NAMES_OF_UNITS: Final = ("deg", "min", "sec")
_END_OF_UNIT = re.compile(r"\s*(?:\^ ?\{?-?\d\}?\s*)?(?:$|[,;)\]}/]|\\(?:text|right|cdot)(?![a-z]))")
#: An amount with its sign: \\text{\\$50}, \\text{\\$}50, 50\\text{\\%}.
_TYPESET_AMOUNT = re.compile(r"\\(?:text|textbf|mathrm|mbox) ?\{ ?(\\\$ ?[\d.,]*|[\d.,]* ?\\%) ?\}")
_POWER_OF_TEN = re.compile(r"(?<![a-zA-Z\\])(\d+(?:\.\d+)?)[eE]([+-]?\d+)(?![\w.])", re.ASCII)


Kind = Literal["words", "number", "command", "letter", "other"]


class Token(NamedTuple):
    """A piece of an answer.

    Attributes:
        kind: what it is; `words` are the content of a command such as `\\text{...}`, but for the name of a function and
            for a letter in another alphabet, which are a command and a letter.
        text: as it is written, for a command by its one name.
        space: whether white space stands before it.
    """

    kind: Kind
    text: str
    space: bool = False


def joined(tokens: Iterable[Token]) -> str:
    """The texts of tokens, without spaces."""
    return "".join(token.text for token in tokens)


def bare(answer: str) -> str:
    r"""The answer alone: without white space, a stop behind it, and one pair of dollars or `\(...\)` around it."""
    answer = _STOP.sub("", answer.strip())
    for opening, closing in _AROUND:
        inner = answer[len(opening) : -len(closing)]
        within = inner.replace("\\$", "")  # of dollars that are meant
        if answer == opening + inner + closing and opening not in within and closing not in within:
            return _STOP.sub("", inner.strip())
    return answer


def plain(answer: str) -> str:
    r"""A `bare` answer without what does not change its meaning: `\left`, `\displaystyle`, LaTeX's spaces, ..."""
    check_size(answer)
    answer = _RUN.sub(lambda found: f"{'^' if found[1] else '_'}{{{found[0].translate(_PLAIN)}}}", answer)
    text = _DEGREE.sub(lambda found: found[1] or r"^\circ ", answer.replace("\\AA", "Å").translate(_TRANSLATION))
    text = _THOUSANDS.sub("", _RAISED_O.sub(r"^\\circ ", text))
    text = _ROW_SPACE.sub(r"\\\\", text)
    text = _BARE_FUNCTION.sub(r"\\\1", text)
    text = _TYPED_RELATION.sub(lambda found: _TYPED[found[0]], text)
    text = _NOT_EQUAL.sub(r"\\ne ", _SPACE.sub(" ", _WITHOUT_MEANING.sub("", text)).strip())
    text = _TYPESET_AMOUNT.sub(r"\1", text)
    if "$" in text:
        text = _DOLLARS.sub(lambda found: f" {found[1] or ''} ", text).strip()
    text = _TIMES_TEN.sub(r"\\times ", text)
    text = _PRIMES.sub(lambda found: "'" * found[0].count("\\"), text)
    text = _INDEX_WORD.sub(lambda found: f"_{{\\text{{{found[1] or found[2]}}}}}", text)
    text = _UNITS.sub(lambda found: _DOT.sub("·", re.sub(r"\^ ?\{(-?\d)\}", r"^\1", found[0])), text)
    text = _CHOOSE.sub(r"\\binom{\1}{\2}", text)
    if "\\log_" in text:
        text = _LOG.sub(r"\\log_{\1}\2", text)
    if "\\mathbb" in text:
        text = _DIFFERENCE.sub(r"\1\\setminus", text)
    return _POWER_OF_TEN.sub(r"{\1\\cdot 10^{\2}}", text)


def tokenize(text: str) -> list[Token]:
    r"""The tokens of a text as `plain` leaves it."""
    tokens: list[Token] = []
    end = 0
    for match in _TOKEN.finditer(text):
        space = match.start() > end
        end = match.end()
        kind = match.lastgroup
        if match["words"] is not None:
            inner, alphabet = match["inner"], match["alphabet"]
            name = _SAME.get(f"\\{inner}", f"\\{inner}")[1:]
            if alphabet and name in FUNCTIONS | OPERATIONS and not _is_unit(tokens, inner, text[end:]):
                tokens.append(Token("command", f"\\{name}", space))
            else:
                is_letter = alphabet and len(inner) == 1 and inner.isalpha() and not _measured(tokens, alphabet, inner)
                tokens.append(Token("letter" if is_letter else "words", inner, space))
        elif kind == "number":
            tokens.append(Token("number", match["number"], space))
        else:
            same = _SAME.get(match[0], match[0])
            tokens.append(Token("command" if same[0] == "\\" else "letter" if same.isalpha() else "other", same, space))
    return tokens


def _is_unit(before: list[Token], name: str, behind: str) -> bool:
    r"""Whether a function's name is a unit: behind a number, and applied to nothing, as in 9\\,\\mathrm{min}."""
    of_number = bool(before) and (before[-1].kind == "number" or before[-1].text == "}")
    return of_number and name in _NAMES_OF_UNITS and _END_OF_UNIT.match(behind) is not None


def _measured(before: list[Token], alphabet: str, letter: str) -> bool:
    r"""Whether a letter in \\mathrm is a unit: behind a number or degrees, as in 10\\,\\mathrm{m}."""
    if alphabet != "mathrm" or not before or letter in ("e", "i"):
        return False
    last = [token.text for token in before[-4:]]
    return before[-1].kind == "number" or last[-2:] == ["^", "\\circ"] or last == ["^", "{", "\\circ", "}"]


TRIGONOMETRIC: Final = ("sin", "cos", "tan", "cot", "sec", "csc")
FUNCTIONS: Final = frozenset(
    [*TRIGONOMETRIC, *(f"arc{name}" for name in TRIGONOMETRIC), "sinh", "cosh", "tanh", "coth", "ln", "log", "exp"]
)
#: What stands for something that has to be calculated, and is not calculated here.
_OPERATIONS_LIST: Final = """
    sum prod int iint iiint oint lim limsup liminf gcd lcm det max min sup inf partial nabla bmod mod pmod dim
    ker deg Pr arg
"""
OPERATIONS: Final = frozenset(_OPERATIONS_LIST.split())
_GREEK_LIST: Final = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma tau upsilon phi
    chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega hbar ell Re Im aleph vartheta
"""
GREEK: Final = frozenset(_GREEK_LIST.split())
#: Marks over or around a name that make another one of it.
_ACCENTS_LIST: Final = """
    vec hat bar tilde dot ddot overline overrightarrow widehat mathbb mathcal mathfrak bm
"""
ACCENTS: Final = frozenset(_ACCENTS_LIST.split())
