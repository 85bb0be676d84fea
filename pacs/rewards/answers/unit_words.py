r"""Units and other words behind a number: `\text{ cm}^2`, `miles per hour`, `\%`, `p.m.`."""

import re
from collections.abc import Sequence
from typing import Final

from pacs.rewards.answers.tokens import Token

#: The commonest units, one name first and the other words for it; any other word is its own name, in the singular.
_UNITS: Final = """
    % percent percents pct percentage ; deg degree degrees ; rad radian radians ; $ dollar dollars usd USD ;
    cent cents ¢ ; s sec secs second seconds ; min mins minute minutes ; h hr hrs hour hours ; day d days ;
    week wk weeks ; year yr yrs years ; mm millimeter millimeters millimetre millimetres ;
    cm centimeter centimeters centimetre centimetres ; m meter meters metre metres ;
    km kilometer kilometers kilometre kilometres ; in inch inches ; ft foot feet ; yd yard yards ; mile mi miles ;
    g gram grams ; kg kilogram kilograms ; lb lbs pound pounds ; oz ounce ounces ; L l liter liters litre litres ;
    mL ml milliliter milliliters millilitre millilitres ; gallon gal gallons ; unit units u
"""
_SYMBOLS: Final = "€ £ ¥ ₹ A C F H J K N T V W Ω ° kJ kW Hz Pa eV mol"
_NAME: Final = {
    **{"°C": "deg C", "°F": "deg F", "mph": "mile·/h", "kph": "km·/h", "kmh": "km·/h"},
    **{word: words[0] for words in map(str.split, _UNITS.split(" ;")) for word in words},
    **{symbol: symbol for symbol in _SYMBOLS.split()},
}
#: What may stand before a number, and how it is named behind one.
CURRENCIES: Final = {"\\$": "$", "$": "$", "€": "€", "£": "£", "\\pounds": "£", "¥": "¥", "₹": "₹"}
#: With another case they are others: 5 Mm are 5,000 km.
_OF_ONE_CASE: Final = ("mm", "ml")
#: What may stand between a number and the right answer in place of a unit: it changes the value, or takes it back.
_NO_UNITS_LIST: Final = """
    hundred hundreds thousand thousands million millions billion billions trillion trillions quadrillion lakh lakhs
    crore crores dozen dozens score scores gross pair pairs couple half halves third thirds quarter quarters fourth
    fourths fifth fifths tenth tenths hundredth hundredths thousandth thousandths squared cubed factorial percentile
    times plus minus over divided multiplied and or not no nor but except if unless than less more least most below
    above about approximately approx around roughly almost nearly between to up mod modulo base is are was be equals
    equal from of with without wrong incorrect false true maybe perhaps either both one two three four five six
    seven eight nine ten eleven twelve thirteen twenty thirty forty fifty sixty seventy eighty ninety zero pi sqrt
    exp log ln negative remainder vs versus kilo mega giga milli micro nano tens fold tenfold squares roots root
    power powers e i infinity inf infinite a an the answer where when for k bn mn
"""
_NO_UNITS: Final = frozenset(_NO_UNITS_LIST.split())
#: Their ends: sixths, thousandths, but not months and lengths.
_NO_UNIT: Final = re.compile(
    r"(?:(?:four|fif|six|ven|eigh|nin|ten|twelf|teen|tie|hundred|thousand|illion)th|illion)s?$|fold$"
)
_POWERS: Final = {"squared": "^2", "cubed": "^3"}
_WORD = re.compile(r"[A-Za-z°%$€£¥₹¢µμΩ]+")
_PIECE = re.compile(r"\s*([A-Za-z°%$€£¥₹¢µμΩ]+\.?|\^|-?\d+|[/·*().,-])")
_MERIDIEM: Final = {"am": "am", "a.m.": "am", "a.m": "am", "pm": "pm", "p.m.": "pm", "p.m": "pm"}


def unit_of(tokens: Sequence[Token]) -> str | None:
    r"""One name for the unit that all tokens behind a number are; None if they are none.

    A power, a quotient and a product of units are units. Words that are not known are a unit of that name, but for
    those that change a value ("million", "or", "not").
    """
    text = ""
    for token in tokens:
        if token.text in ("{", "}", "\\circ") or (token.text == "^" and not text):
            text += "°" if token.text == "\\circ" else ""
        elif token.kind == "command":
            text += {"\\%": "%", "\\$": "$", "\\cdot": "·", "\\mu": "µ", "\\Omega": "Ω"}.get(token.text, "?")
        elif token.kind == "words":
            text += f" {token.text} "
        else:
            text += (" " if token.space else "") + token.text
    return _normal(text)


def is_common_unit(name: str | None) -> bool:
    """Whether a unit, as `unit_of` names it, is one of those that are listed here."""
    return name in _NAME.values()


def is_word_unit(words: str) -> bool:
    """Whether words without a command around them, as in "5 cm", are a unit and not a product of variables."""
    pieces = [piece for piece in re.split(r"[\s/^*·\d-]+", words) if piece]
    if "/" not in words and all(len(piece) == 1 for piece in pieces):
        return pieces == ["%"]  # 3 m g is a product
    return (
        bool(pieces)
        and not set("\\({}") & set(words)
        and all(piece.rstrip(".") in _NAME or len(piece) > 3 for piece in pieces)
    )


def meridiem_of(text: str) -> str | None:
    """`am`, `pm`, or None."""
    return _MERIDIEM.get(text.strip().lower())


def _normal(text: str) -> str | None:
    names: list[str] = []
    power_of_next, below, raised, end = 1, False, False, 0
    text = re.sub(r"per cent(?![a-z])", "percent", text.strip())
    text = re.sub(r"\b(squared|cubed)\b", lambda found: _POWERS[found[1].lower()], text, flags=re.I)
    while end < len(text):
        match = _PIECE.match(text, end)
        if match is None:
            return None
        piece, end = match[1], match.end()
        word = piece.rstrip(".")
        if piece == "^":
            raised = True
            continue
        if _WORD.fullmatch(word):
            lower = word.lower()
            if "%" in word[1:]:
                return None
            if (lower in _NO_UNITS and word not in ("A", "K")) or _NO_UNIT.search(lower):
                return None
            if lower in ("square", "sq", "cubic", "cu"):
                power_of_next = 2 if lower in ("square", "sq") else 3
            elif lower == "per":
                below = True
            else:
                name = _NAME.get(word) or (_NAME.get(lower) if len(word) > 1 and lower not in _OF_ONE_CASE else None)
                if name is None and len(word) == 1:
                    return None
                name = name or (lower.removesuffix("s") if len(lower) > 3 else word)
                names.append(("/" if below else "") + name + (f"^{power_of_next}" if power_of_next > 1 else ""))
                power_of_next = 1
        elif raised and piece in ("2", "3", "-1", "-2", "-3") and names:
            names[-1] += f"^{piece}"
            raised = False
        elif piece == "/":
            below = True
        elif piece not in "·*().,-":
            return None
    if "%" in names and names != ["%"]:
        return None
    return "·".join(_merged(names)) or None


def _merged(names: list[str]) -> list[str]:
    """m/s^-1 and the like: a negative power is one below."""
    return [
        f"/{name[:-3]}{'' if name[-1] == '1' else '^' + name[-1]}" if name[-3:-1] == "^-" else name for name in names
    ]
