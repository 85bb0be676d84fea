"""Where the answer of a response begins: behind the reasoning, by the delimiters that its model marks it with."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final


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


#: The setting that names a run's delimiters.
SETTING: Final = "run.reasoning.delimiters"
#: Such names, for the user.
EXAMPLE: Final = '[["<think>","</think>"]]'
#: With which the delimiters `ALWAYS` begin: most texts have none of them, which is seen at once.
_FIRST: Final = frozenset(text[0] for each in ALWAYS for text in (*each.opens, *each.closes))
#: In the `extra_info` of a row that is graded: the character of the response at which its answer begins; `UNENDED`
#: where it ended within its reasoning.
ANSWER_BEGINS: Final = "answer_begins_char"
UNENDED: Final = -1
#: In what is said of a response beside its score: 1.0 where it ended within its reasoning, else 0.0.
UNFINISHED: Final = "unfinished_reasoning"


@dataclass(frozen=True)
class Reasoning:
    """How a run's model marks its reasoning.

    Attributes:
        delimiters: that are looked for in every response.
        prompt_end: what the chat template puts behind the last message, for the model to go on from.
        lost: a delimiter holds a special token of the tokenizer, which `skip_special_tokens=True` leaves out.
        named: they are the user's, and no others are looked for.
    """

    delimiters: tuple[Delimiters, ...]
    prompt_end: str = ""
    lost: bool = False
    named: bool = False
    of_tokenizer: tuple[Delimiters, ...] = field(default=())

    def opened_by(self, prompt: str) -> Delimiters | None:
        """The delimiters whose reasoning the prompt has opened, and not ended: the response begins within it."""
        end, tail = prompt.rstrip(), self.prompt_end if prompt.endswith(self.prompt_end) else ""
        for each in self.of(prompt):
            if end.endswith(each.opens) or answer_begins(tail, [each]) is None:
                return each
        return None

    def of(self, prompt: str) -> tuple[Delimiters, ...]:
        """All that are looked for in a response: those of the prompt's own text, too (`in <plan> and </plan> tags`)."""
        if self.named:
            return self.delimiters
        known = {text for each in self.delimiters for text in (*each.opens, *each.closes)}
        asked = [pair for pair in _asked_for(prompt) if known.isdisjoint(pair)]
        return (*self.delimiters, *(pair_of(*pair) for pair in asked)) if asked else self.delimiters

    def answer_begins(self, prompt: str, response: str) -> int | None:
        """The character of the response at which its answer begins; None where it ends within its reasoning.

        Args:
            prompt: as the model had it, special tokens included.
            response: as text, with special tokens where a delimiter has some.
        """
        return answer_begins(response, self.of(prompt), self.opened_by(prompt))

    def of_tokens(self, tokenizer: Any, prompt: Sequence[int], response: Sequence[int], text: str) -> int | None:
        """As `answer_begins`, of a response's tokens, and in its text without special tokens.

        Args:
            tokenizer: the run's, of transformers.
            prompt, response: their tokens.
            text: the response as the verifier gets it.
        """
        asked = tokenizer.decode(prompt, skip_special_tokens=False)
        if not self.lost:
            return self.answer_begins(asked, text)
        place = self.answer_begins(asked, tokenizer.decode(response, skip_special_tokens=False))
        if not place:
            return place

        def reached(count: int) -> int:
            return len(tokenizer.decode(response[:count], skip_special_tokens=False))

        low = bisect_left(range(len(response)), place, key=reached)  # the fewest tokens whose text reaches the place
        return min(len(tokenizer.decode(response[:low], skip_special_tokens=True)), len(text))

    def sentence(self, setting: str = SETTING) -> str:
        """What was found, for the user, who may have named the delimiters by a setting."""
        if self.named:
            listed = ", ".join(map(str, self.delimiters)) or "nothing"
            found = f"marked by {listed}, as {setting} says"
        elif self.of_tokenizer:
            found = f"marked by {', '.join(map(str, self.of_tokenizer))}"
        else:
            found = "not marked by tokenizer or chat template; <think> and its like count where a response has them"
        opened = self.opened_by(self.prompt_end)
        where = f"; the prompt opens it ({opened.opens[0]})" if opened else ""
        lost = "; read from tokens, since the text leaves special tokens out" if self.lost else ""
        return f"reasoning: {found}{where}{lost}"


def check_named(named: Any, setting: str = SETTING) -> None:
    """Raise ValueError, naming the setting, unless it is None or a list of pairs of texts that differ."""
    if named is not None and not (isinstance(named, list) and all(map(_is_pair, named))):
        raise ValueError(
            f"{setting}={named!r} must be null or a list of pairs, each of the text that opens the reasoning and of "
            f"another that ends it: {setting}='{EXAMPLE}', or [] for a model that marks none"
        )


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, list) or len(pair) != 2 or pair[0] == pair[1]:
        return False
    return all(isinstance(text, str) and text.strip() for text in pair)


def final_part(response: str, extra_info: Mapping[str, Any] | None = None) -> str:
    """The part of a response that may hold its answer: what follows the reasoning; empty if that has not ended.

    Args:
        response: as text.
        extra_info: of its row. `ANSWER_BEGINS` says where the answer begins, where a run or an evaluation has found
            it; without it the delimiters `ALWAYS` are looked for in the text.
    """
    begins = (extra_info or {}).get(ANSWER_BEGINS)
    if begins is None:
        begins = answer_begins(response, ALWAYS) if any(first in response for first in _FIRST) else 0
    return "" if begins in (None, UNENDED) else response[begins:]


@lru_cache(maxsize=2**10)
def _asked_for(prompt: str) -> tuple[tuple[str, str], ...]:
    """The pairs of tags that a prompt itself asks for: both must stand in it."""
    return tuple(pair for pair in tag_pairs(prompt, prompt) if pair[1] in prompt)
