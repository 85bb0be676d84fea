"""The texts by which models mark their reasoning, and the spellings of tags that do."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Delimiters:
    """Texts of which any opens a model's reasoning, and of which any ends it."""

    opens: tuple[str, ...]
    closes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{' or '.join(self.opens)} ... {' or '.join(self.closes)}"


def pair_of(opens: str, closes: str) -> Delimiters:
    """One text that opens, and one that ends."""
    return Delimiters((opens,), (closes,))


#: Of most models; of Magistral, Kimi-VL, Seed-OSS, MiniMax-M3, Command A, OpenThinker, Apertus, Kimi-K3 and Gemma 4.
_PAIRS: Final = """
    <think> </think> , <thinking> </thinking> , <thought> </thought> , <reasoning> </reasoning> , [THINK] [/THINK] ,
    ◁think▷ ◁/think▷ , <seed:think> </seed:think> , <mm:think> </mm:think> , <|START_THINKING|> <|END_THINKING|> ,
    <|begin_of_thought|> <|end_of_thought|> , <|inner_prefix|> <|inner_suffix|> ,
    <|open|>think<|sep|> <|close|>think<|sep|> , <|channel>thought <channel|>
"""
#: Looked for in every response: as text they mean nothing else.
ALWAYS: Final = (
    *(pair_of(*pair.split()) for pair in _PAIRS.split(" ,")),
    Delimiters(  # gpt-oss: what is neither analysis nor a call of a tool
        ("<|channel|>analysis<|message|>", "<|channel|>commentary<|message|>"), ("<|channel|>final<|message|>",)
    ),
)
#: Looked for where the chat template has the opening text, which elsewhere may mean something else.
OF_A_TEMPLATE: Final = (
    Delimiters(  # Granite 3.2
        ("Here is my thought process:", "Here's my thought process:"), ("Here is my response:", "Here's my response:")
    ),
    pair_of("Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"),  # Apriel
    Delimiters(("assistant/think", "/think\n"), ("<|im_start|>assistant\n",)),  # HyperCLOVA X: a turn of its own
    pair_of("to=self<|message|>", "to=user<|message|>"),  # Muse
    pair_of("<|content_thinking|>", "<|content_text|>"),  # Inkling
)

# `<NAME>`, `[NAME]`, `◁NAME▷`, `<|NAME|>`, `<｜NAME｜>`, also as the end of what they open.
TAG: Final = re.compile(
    r"<\|(?P<bars>[^<>|\s]{1,40})\|>|<｜(?P<wide>[^<>｜\s]{1,40})｜>|</?(?P<angles>[A-Za-z][\w:.-]{0,40})>"
    r"|\[/?(?P<square>[A-Za-z]\w{0,40})\]|◁/?(?P<triangles>[^◁▷\s]{1,40})▷"
)
_OF_REASONING: Final = re.compile(r"think|thought|reason|cot(?![a-z])|scratchpad|reflect|rationale|ponder", re.I)
_ENDS: Final = re.compile(r"(?<![a-z])(?:end|stop|close|suffix)(?![a-z])|/", re.I)
#: How the name of an opening tag becomes that of the closing one.
_TURNS: Final = (
    ("begin", "end"), ("Begin", "End"), ("BEGIN", "END"), ("start", "end"), ("Start", "End"), ("START", "END"),
    ("open", "close"), ("OPEN", "CLOSE"), ("prefix", "suffix"),
)  # fmt: skip


def answer_begins(text: str, delimiters: Iterable[Delimiters], opened: Delimiters | None = None) -> int | None:
    """Where what follows the last end of the reasoning begins, 0 where there was none; None within the reasoning.

    Args:
        text: a response's, or a prompt's.
        delimiters: that are looked for.
        opened: those of the reasoning that was opened before the text.
    """
    begins = 0
    for each in delimiters:
        last, end = -1, -1
        for opens in each.opens:
            last = max(last, text.rfind(opens))
        for closes in each.closes:
            if (place := text.rfind(closes)) >= 0:
                end = max(end, place + len(closes))
        if last >= max(end, 0) or (end < 0 and each == opened):
            return None
        begins = max(begins, end)
    return begins


def tag_pairs(text: str, vocabulary: str) -> Iterator[tuple[str, str]]:
    """The tags of a text whose names are of reasoning, each with the tag that ends it."""
    for tag in dict.fromkeys(found[0] for found in TAG.finditer(text) if _OF_REASONING.search(found[0])):
        if not _ENDS.search(tag.replace("_", " ")) and (close := _end_of(tag, vocabulary)) is not None:
            yield tag, close


def _end_of(tag: str, vocabulary: str) -> str | None:
    """The tag that ends what a tag opens: by its spelling, or of several spellings the one that is there."""
    found = TAG.fullmatch(tag)
    assert found is not None
    name, kind = found[found.lastgroup or 0], found.lastgroup
    turned = [tag.replace(begin, end) for begin, end in _TURNS if begin in name]
    if kind in ("angles", "square", "triangles"):
        return next((each for each in turned if each in vocabulary), f"{tag[0]}/{name}{tag[-1]}")
    names = (f"/{name}", f"end_{name}", f"{name}_end", f"end_of_{name}", f"end▁of▁{name}", f"close_{name}")
    return next(
        (each for each in (*turned, *(tag.replace(name, other) for other in names)) if each in vocabulary), None
    )
