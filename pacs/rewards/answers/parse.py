r"""Reads the tokens of an expression such as `\frac{3\sqrt{2}}{4}+x^2`. What it does not know it refuses.

sum     = ["+" | "-"] product {("+" | "-") product}
product = power {["\cdot" | "/"] power}           a missing sign multiplies, but never before a numeral
power   = atom {"!"} ["^" exponent] {"!"}
atom    = numeral | letter | constant | group | \frac | \sqrt | \binom | function | "|" sum "|"
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from pacs.rewards.answers.bounds import check_digits
from pacs.rewards.answers.expression import (
    Call,
    Constant,
    Degrees,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Root,
    Sum,
    Variable,
    negative,
)
from pacs.rewards.answers.tokens import FUNCTIONS, OPERATIONS, TRIGONOMETRIC, Token

_GREEK_LIST: Final = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma tau upsilon phi
    chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega hbar ell Re Im aleph vartheta
"""
_GREEK: Final = frozenset(_GREEK_LIST.split())
#: Marks over or around a name that make another one of it.
_ACCENTS_LIST: Final = """
    vec hat bar tilde dot ddot overline overrightarrow widehat mathbb mathcal mathfrak bm
"""
_ACCENTS: Final = frozenset(_ACCENTS_LIST.split())
_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
_NAMES: Final = {"\\lfloor": "floor", "\\lceil": "ceiling"}
_TWO: Final = Number(Fraction(2))


class Unreadable(ValueError):
    """The text is not an expression that is known here."""


class Operation(ValueError):
    """The text holds an operation that is not calculated here; the message is its name."""


def parse_expression(tokens: Sequence[Token]) -> Node:
    """The expression that all the tokens are.

    Raises:
        Unreadable: If they are none.
        Operation: If a sum, an integral, a limit or the like is among them.
        TooMuch: If a number in it has too many digits.
    """
    node, end = parse_start(tokens)
    if end < len(tokens):
        raise Unreadable(f"{tokens[end].text!r} is not expected")
    return node


def parse_start(tokens: Sequence[Token]) -> tuple[Node, int]:
    """The expression that the first tokens are, and how many they are. Raises as `parse_expression`."""
    for token in tokens:
        if token.kind == "command" and token.text[1:] in OPERATIONS:
            raise Operation(token.text[1:])
    parser = _Parser(tokens)
    return parser.sum(), parser.place


class _Parser:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens, self.place = tokens, 0
        self.inside_bars = False

    def peek(self, ahead: int = 0) -> str | None:
        place = self.place + ahead
        return self.tokens[place].text if place < len(self.tokens) else None

    def take(self) -> Token:
        if self.place == len(self.tokens):
            raise Unreadable("it ends too early")
        self.place += 1
        return self.tokens[self.place - 1]

    def expect(self, text: str) -> None:
        if self.take().text != text:
            raise Unreadable(f"{text!r} is missing")

    def sum(self) -> Node:
        terms = []
        sign = self.take().text if self.peek() in ("+", "-") else "+"
        while True:
            term = self.product()
            terms.append(negative(term) if sign == "-" else term)
            if self.peek() not in ("+", "-"):
                return terms[0] if len(terms) == 1 else Sum(tuple(terms))
            sign = self.take().text

    def product(self) -> Node:
        factors = [self.power()]
        while True:
            if self.peek() == "\\cdot":
                self.take()
                factors.append(self.signed_power())
            elif self.peek() == "/":
                self.take()
                factors = [Quotient(_product(factors), self.signed_power())]
            elif self.starts_factor():
                factors.append(self.power())
            else:
                return _product(factors)

    def signed_power(self) -> Node:
        if self.peek() == "-":
            self.take()
            return negative(self.power())
        return self.power()

    def starts_factor(self) -> bool:
        """Whether what comes next is multiplied without a sign. Not a numeral: 72 73 are two."""
        if self.place == len(self.tokens):
            return False
        kind, text, _ = self.tokens[self.place]
        if kind == "letter" or text in ("(", "[", "{"):
            return True
        if kind == "command":
            name = text[1:]
            return (
                text in _CLOSING
                or name in FUNCTIONS
                or name in _GREEK
                or name in _ACCENTS
                or name in ("frac", "sqrt", "pi", "binom", "infty")
            )
        return text == "|" and not self.inside_bars

    def power(self) -> Node:
        base = self.factorials(self.atom())
        if self.peek() != "^":
            return base
        self.take()
        if self.peek() == "\\circ" or [self.peek(n) for n in range(3)] == ["{", "\\circ", "}"]:
            self.place += 1 if self.peek() == "\\circ" else 3
            return Degrees(base)
        power = self.factorials(Power(base, self.exponent()))
        if self.peek() == "^":
            raise Unreadable("an exponent of an exponent without braces")
        return power

    def factorials(self, node: Node) -> Node:
        while self.peek() == "!":
            self.take()
            node = Call("factorial", (node,))
        return node

    def exponent(self) -> Node:
        if self.peek() == "-":
            self.take()
            return negative(self.exponent())
        return self.argument()

    def argument(self) -> Node:
        """What a command or a sign takes without brackets: a group, or one token."""
        token = self.tokens[self.place] if self.place < len(self.tokens) else None
        if token is not None and (
            token.kind in ("number", "letter") or token.text in ("{", "(", "\\frac", "\\pi", "\\sqrt")
        ):
            return self.atom()
        if token is not None and token.kind == "command" and token.text[1:] in _GREEK | {"infty"}:
            return self.atom()
        raise Unreadable("an argument is missing")

    def atom(self) -> Node:
        token = self.take()
        kind, text, _ = token
        if kind == "number":
            return self.number(text)
        if kind == "letter":
            return Constant(text) if text in ("e", "i") and not self.marked() else self.variable(text)
        if text in _CLOSING:
            inner = self.sum()
            self.expect(_CLOSING[text])
            return Call(_NAMES[text], (inner,)) if text in _NAMES else inner
        if text == "|":
            return self.bars()
        if kind == "command":
            return self.command(text[1:])
        raise Unreadable(f"{text!r} is not expected")

    def command(self, name: str) -> Node:
        if name == "pi":
            return Constant("pi")
        if name == "infty":
            return Constant("infinity")
        if name == "frac":
            return self.fraction()
        if name == "sqrt":
            return self.root()
        if name == "binom":
            return Call("binomial", (self.argument(), self.argument()))
        if name in FUNCTIONS:
            return self.function(name)
        if name in _GREEK:
            return self.variable(name)
        if name in _ACCENTS:
            return self.variable(f"{name} {self.name_in_braces()}")
        raise Unreadable(f"\\{name} is not known here")

    def number(self, digits: str) -> Node:
        check_digits(len(digits))
        if self.peek() == "\\overline" and "." in digits:
            self.take()
            return _repeating(digits, self.name_in_braces())
        value = Number(Fraction(digits if digits[-1] != "." else digits[:-1]), "." in digits)
        if self.peek() == "\\frac" or self.spaced_fraction():
            return self.mixed(value) or value
        return value

    def spaced_fraction(self) -> bool:
        """Whether a fraction of two numerals comes after a space, as in 1 1/2."""
        ahead = self.tokens[self.place : self.place + 3]
        return (
            len(ahead) == 3
            and ahead[0].space
            and [t.kind for t in ahead] == ["number", "other", "number"]
            and ahead[1].text == "/"
        )

    def mixed(self, whole: Number) -> Node | None:
        r"""A mixed number such as 1\frac{1}{2}; None if the fraction is not one of two numerals."""
        start = self.place
        if self.peek() == "\\frac":
            self.take()
            fraction = self.fraction()
        else:
            fraction = Quotient(*(Number(Fraction(self.tokens[self.place + k].text)) for k in (0, 2)))
            self.place += 3
        match fraction:
            case Quotient(Number(above, False), Number(below, False)) if not whole.decimal:
                if not 0 < above < below or whole.value.denominator != 1:
                    raise Unreadable("a numeral before a fraction that is no part of a mixed number")
                return Number(whole.value + above / below)
        self.place = start
        return None

    def fraction(self) -> Node:
        start = self.place
        digits = self.peek()
        if digits is not None and digits.isdigit() and len(digits) == 2:  # \frac12
            self.take()
            return Quotient(Number(Fraction(digits[0])), Number(Fraction(digits[1])))
        if digits is not None and digits.isdigit() and len(digits) > 2:
            raise Unreadable("a fraction of one numeral")
        above = self.argument()
        middle = self.place
        below = self.argument()
        if _differential(self.tokens[start:middle]) and _differential(self.tokens[middle : self.place], below=True):
            raise Operation("derivative")
        return Quotient(above, below)

    def root(self) -> Node:
        degree: Node = _TWO
        if self.peek() == "[":
            self.take()
            degree = self.sum()
            self.expect("]")
        return Root(degree, self.argument())

    def bars(self) -> Node:
        if self.inside_bars:
            raise Unreadable("bars within bars")
        self.inside_bars = True
        inner = self.sum()
        self.inside_bars = False
        self.expect("|")
        return Call("abs", (inner,))

    def function(self, name: str) -> Node:
        base: list[Node] = []
        exponent: Node | None = None
        while self.peek() in ("_", "^") and (len(base) < 1 or exponent is None):
            if self.take().text == "_":
                base.append(self.argument())
            else:
                exponent = self.exponent()
        if base and name != "log":
            raise Unreadable(f"an index of {name}")
        if exponent == Number(Fraction(-1)) and name in TRIGONOMETRIC:
            name, exponent = f"arc{name}", None
        call = Call(name, (self.operand(), *base))
        return call if exponent is None else Power(call, exponent)

    def operand(self) -> Node:
        r"""What a function is taken of: a group, or factors up to the next sign or function, as in \sin 2x."""
        if self.peek() in ("(", "[", "{"):
            return self.atom()
        factors = [self.power()]
        while self.starts_factor() and self.peek() not in ("(", "[", "{") and (self.peek() or "")[1:] not in FUNCTIONS:
            factors.append(self.power())
        return _product(factors)

    def marked(self) -> bool:
        return self.peek() in ("_", "'")

    def variable(self, name: str) -> Node:
        """With its index and its primes."""
        while True:
            if self.peek() == "_":
                self.take()
                name += "_" + (self.name_in_braces() if self.peek() == "{" else self.take().text)
            elif self.peek() == "'":
                self.take()
                name += "'"
            elif self.peek() == "^" and self.peek(1) == "'":
                self.place += 2
                name += "'"
            elif self.peek() == "(" and name.rstrip("'") in ("f", "g", "h") and self.is_argument(name):
                return Call(f"function {name}", (self.atom(),))
            else:
                return Variable(name)

    def is_argument(self, name: str) -> bool:
        """Whether what is in the brackets behind f, g or h is its argument; g and h may be factors of a sum as well."""
        depth = 0
        for token in self.tokens[self.place :]:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0:
                return True
            if depth == 1 and token.text in ("+", "-") and name[0] != "f":
                return False
        return False

    def name_in_braces(self) -> str:
        if self.peek() != "{":
            return self.take().text
        depth, name = 0, ""
        while True:
            text = self.take().text
            depth += {"{": 1, "}": -1}.get(text, 0)
            if depth == 0:
                return name[1:]
            name += text


def _differential(tokens: Sequence[Token], *, below: bool = False) -> bool:
    r"""Whether these are the d or dy, or the dx, of \frac{dy}{dx}."""
    texts = [token.text for token in tokens if token.text not in ("{", "}")]
    if not texts or texts[0] != "d":
        return False
    after = texts[3:] if texts[1:2] == ["^"] else texts[1:]
    return (len(after) >= 1 and after[0].isalpha() and len(after[0]) == 1) if below else not after or after[0].isalpha()


def _product(factors: Sequence[Node]) -> Node:
    return factors[0] if len(factors) == 1 else Product(tuple(factors))


def _repeating(digits: str, again: str) -> Number:
    r"""0.\overline{36} as a fraction."""
    if not (again.isascii() and again.isdigit()):
        raise Unreadable("a bar over what are no digits")
    places = len(digits.partition(".")[2])
    tail = Fraction(int(again), 10**places * (10 ** len(again) - 1))
    return Number(Fraction(digits if digits[-1] != "." else digits[:-1]) + tail, repeating=True)
