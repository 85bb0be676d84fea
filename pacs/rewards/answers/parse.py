r"""Reads the tokens of an expression such as `\frac{3\sqrt{2}}{4}+x^2`. What it does not know it refuses.

sum     = ["+" | "-"] product {("+" | "-") product}
product = power {["\cdot" | "/"] power}           a missing sign multiplies; before a numeral, one with ^ or !
power   = atom {"!"} ["^" exponent] {"!"}
atom    = numeral | letter | constant | group | fraction | \sqrt | \binom | function | "|" sum "|"

Numerals and fractions are those of `numerals`.
"""

from collections.abc import Sequence
from typing import Final

from pacs.rewards.answers import expression as tree
from pacs.rewards.answers import numerals
from pacs.rewards.answers.brackets import Cursor
from pacs.rewards.answers.expression import negative
from pacs.rewards.answers.refusals import Operation as Operation
from pacs.rewards.answers.refusals import Unreadable as Unreadable
from pacs.rewards.answers.tokens import ACCENTS, FUNCTIONS, GREEK, OPERATIONS, TRIGONOMETRIC, Token

_CLOSING: Final = {"(": ")", "[": "]", "{": "}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil"}
_NAMES: Final = {"\\lfloor": "floor", "\\lceil": "ceiling"}
_CONSTANTS: Final = {"pi": "pi", "infty": "infinity"}
#: Commands that are a factor without a sign before them, and those that another takes without brackets.
_FACTORS: Final = FUNCTIONS | GREEK | ACCENTS | {*_CONSTANTS, "frac", "sqrt", "binom"}
_ARGUMENTS: Final = GREEK | {*_CONSTANTS, "frac", "sqrt"}


def parse_expression(tokens: Sequence[Token]) -> tree.Node:
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


def parse_start(tokens: Sequence[Token]) -> tuple[tree.Node, int]:
    """The expression that the first tokens are, and how many they are. Raises as `parse_expression`."""
    for token in tokens:
        if token.kind == "command" and token.text[1:] in OPERATIONS:
            raise Operation(token.text[1:])
    parser = _Parser(tokens)
    return parser.sum(), parser.place


class _Parser(Cursor):
    def __init__(self, tokens: Sequence[Token]) -> None:
        super().__init__(tokens)
        self.inside_bars = False

    def sum(self) -> tree.Node:
        terms = []
        sign: str | None = self.accept("+", "-") or "+"
        while sign:
            term = self.product()
            terms.append(negative(term) if sign == "-" else term)
            sign = self.accept("+", "-")
        return terms[0] if len(terms) == 1 else tree.Sum(tuple(terms))

    def product(self) -> tree.Node:
        factors = [self.power()]
        while True:
            if self.accept("\\cdot"):
                factors.append(self.signed_power())
            elif self.accept("/"):
                factors = [tree.Quotient(_product(factors), self.signed_power())]
            elif self.starts_factor() or self.starts_power_of_number():
                factors.append(self.power())
            else:
                return _product(factors)

    def signed_power(self) -> tree.Node:
        return negative(self.power()) if self.accept("-") else self.power()

    def starts_factor(self) -> bool:
        """Whether what comes next is multiplied without a sign. Not a numeral: 72 73 are two."""
        if self.place == len(self.tokens):
            return False
        kind, text, _ = self.tokens[self.place]
        if kind == "letter" or text in ("(", "[", "{"):
            return True
        if kind == "command":
            return text in _CLOSING or text[1:] in _FACTORS
        return text == "|" and not self.inside_bars

    def starts_power_of_number(self) -> bool:
        """Whether a numeral with an exponent or a "!" comes next, and none stands before it, as in n2^{n-1}."""
        kinds = [token.kind for token in self.tokens[self.place - 1 : self.place + 1]]
        marked = self.peek(1) == "!" or (self.peek(1) == "^" and not self.are_degrees(2))
        return kinds[1:] == ["number"] and kinds[0] != "number" and marked

    def are_degrees(self, ahead: int) -> bool:
        """Whether so far ahead is the sign of degrees."""
        return self.peek(ahead) == "\\circ" or [self.peek(ahead + n) for n in range(3)] == ["{", "\\circ", "}"]

    def power(self) -> tree.Node:
        base = self.factorials(self.atom())
        if not self.accept("^"):
            return base
        if self.are_degrees(0):
            self.place += 1 if self.peek() == "\\circ" else 3
            return tree.Degrees(base)
        power = self.factorials(tree.Power(base, self.exponent()))
        if self.peek() == "^":
            raise Unreadable("an exponent of an exponent without braces")
        return power

    def factorials(self, node: tree.Node) -> tree.Node:
        while self.accept("!"):
            node = tree.Call("factorial", (node,))
        return node

    def exponent(self) -> tree.Node:
        return negative(self.exponent()) if self.accept("-") else self.argument()

    def argument(self) -> tree.Node:
        """What a command or a sign takes without brackets: a group, or one token."""
        if self.place < len(self.tokens):
            kind, text, _ = self.tokens[self.place]
            if kind in ("number", "letter") or text in ("{", "("):
                return self.atom()
            if kind == "command" and text[1:] in _ARGUMENTS:
                return self.atom()
        raise Unreadable("an argument is missing")

    def atom(self) -> tree.Node:
        kind, text, _ = self.take()
        if kind == "number":
            return numerals.numeral(self, text, self.argument)
        if kind == "letter":
            return tree.Constant(text) if text in ("e", "i") and self.peek() not in ("_", "'") else self.variable(text)
        if text in _CLOSING:
            inner = self.sum()
            self.expect(_CLOSING[text])
            return tree.Call(_NAMES[text], (inner,)) if text in _NAMES else inner
        if text == "|":
            return self.bars()
        if kind == "command":
            return self.command(text[1:])
        raise Unreadable(f"{text!r} is not expected")

    def command(self, name: str) -> tree.Node:
        if name in _CONSTANTS:
            return tree.Constant(_CONSTANTS[name])
        if name == "frac":
            return numerals.fraction(self, self.argument)
        if name == "sqrt":
            return self.root()
        if name == "binom":
            return tree.Call("binomial", numerals.two_digits(self) or (self.argument(), self.argument()))
        if name in FUNCTIONS:
            return self.function(name)
        if name in GREEK:
            return self.variable(name)
        if name in ACCENTS:
            return self.variable(f"{name} {self.in_braces()}")
        raise Unreadable(f"\\{name} is not known here")

    def root(self) -> tree.Node:
        degree: tree.Node = tree.TWO
        if self.accept("["):
            degree = self.sum()
            self.expect("]")
        return tree.Root(degree, self.argument())

    def bars(self) -> tree.Node:
        if self.inside_bars:
            raise Unreadable("bars within bars")
        self.inside_bars = True
        inner = self.sum()
        self.inside_bars = False
        self.expect("|")
        return tree.Call("abs", (inner,))

    def function(self, name: str) -> tree.Node:
        base: list[tree.Node] = []
        exponent: tree.Node | None = None
        while self.peek() in ("_", "^") and (len(base) < 1 or exponent is None):
            if self.take().text == "_":
                base.append(self.argument())
            else:
                exponent = self.exponent()
        if base and name != "log":
            raise Unreadable(f"an index of {name}")
        if exponent == tree.MINUS_ONE and name in TRIGONOMETRIC:
            name, exponent = f"arc{name}", None
        operand = self.operand()
        call = tree.Power(tree.Constant("e"), operand) if name == "exp" else tree.Call(name, (operand, *base))
        return call if exponent is None else tree.Power(call, exponent)

    def operand(self) -> tree.Node:
        r"""What a function is taken of: a group, or factors up to the next sign or function, as in \sin 2x."""
        if self.peek() in ("(", "[", "{"):
            return self.atom()
        factors = [self.power()]
        while self.starts_factor() and self.peek() not in ("(", "[", "{") and (self.peek() or "")[1:] not in FUNCTIONS:
            factors.append(self.power())
        return _product(factors)

    def variable(self, name: str) -> tree.Node:
        """With its index and its primes, which may stand in either order."""
        primes = ""
        while True:
            if self.accept("_"):
                name += "_" + self.in_braces()
            elif self.accept("'") or self.accept_all("^", "'"):
                primes += "'"
            elif self.peek() == "(" and name in ("f", "g", "h") and self.is_argument(name):
                return tree.Call(f"function {name}{primes}", (self.atom(),))
            elif self.accept_all("(", "0", ")"):  # I(0) is no product: it would be 0
                return tree.Variable(f"{name}{primes}(0)")
            else:
                return tree.Variable(name + primes)

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


def _product(factors: Sequence[tree.Node]) -> tree.Node:
    return factors[0] if len(factors) == 1 else tree.Product(tuple(factors))
